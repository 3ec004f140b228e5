"""IP allow-lists: which rules are accepted, and whether a request's address is on the list that applies to it.

Pure. Not here: the records (`kinds.ip_allowlists`), the address of a request (`server.http.caller_address`).
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from typing import Final

import msgspec

from keystead.api.enums import OnEvaluationError
from keystead.api.errors import InvalidRequest, PermissionDenied
from keystead.organizations import bounds
from keystead.organizations.organization import Organization
from keystead.primitives.ip_addresses import IpAddress, IpNetwork

_SHORTEST_PREFIX: Final = {4: bounds.IPV4_PREFIX_BITS_MIN, 6: bounds.IPV6_PREFIX_BITS_MIN}
"""The least length of a rule's prefix in bits, by the version of IP."""

_CIDR = re.compile(r"[0-9A-Fa-f.:]+/[0-9]{1,3}\Z")


class SourceAddress(msgspec.Struct, frozen=True):
    """Where a request came from.

    `address`: None if it cannot be determined. An IPv4 address is never written as IPv6. `is_exempt`: allow-lists
    do not apply, because this server made the request itself, as an authentication proxy does.
    """

    address: IpAddress | None
    is_exempt: bool = False


_WHAT_HELPS: Final = (
    "From an address on the list, a user who may do so replaces or removes it. If there is none, the operator of "
    "this server lifts it: keystead recover ip-allowlist"
)
"""The end of a refusal, for a reader who is locked out."""

EXEMPT: Final = SourceAddress(None, is_exempt=True)


def networks_of_rules(cidrs: Iterable[str], field: str) -> dict[IpNetwork, int]:
    """The networks of these rules, each with the position of its first rule.

    `field` is the path of the rules in the request. Raises InvalidRequest for a text that is not a network, for a
    network that is too wide, and for too many networks.
    """
    networks: dict[IpNetwork, int] = {}
    for at, cidr in enumerate(cidrs):
        networks.setdefault(_network(cidr, f"{field}[{at}].cidr"), at)
    for version in _SHORTEST_PREFIX:
        count = sum(network.version == version for network in networks)
        if count > bounds.IP_RULES_MAX:
            raise InvalidRequest(
                f"invalid request: field `{field}`: {count} networks of IPv{version}; an allow-list has at most "
                f"{bounds.IP_RULES_MAX} of them"
            )
    return networks


def _network(cidr: str, field: str) -> IpNetwork:
    try:
        network = ipaddress.ip_network(cidr if _CIDR.match(cidr) else "", strict=False)
    except ValueError:
        raise InvalidRequest(
            f"invalid request: field `{field}`: {cidr[:100]!r} is not a CIDR block; expected an address and the "
            "length of its prefix, as in 192.0.2.0/24, 192.0.2.7/32 or 2001:db8::/48"
        ) from None
    if network.version == 6 and network.network_address.ipv4_mapped is not None:
        raise InvalidRequest(
            f"invalid request: field `{field}`: {cidr[:100]!r} stands for IPv4 addresses; write the IPv4 network"
        )
    if network.prefixlen < _SHORTEST_PREFIX[network.version]:
        raise InvalidRequest(
            f"invalid request: field `{field}`: {cidr[:100]!r} is too wide; the widest network of "
            f"IPv{network.version} is /{_SHORTEST_PREFIX[network.version]}"
        )
    return network


def check_source(organization: Organization, public_key: str, source: SourceAddress) -> None:
    """Raise PermissionDenied if the allow-list that applies to this request does not have its address.

    `organization`: the organization of the request's user. Sub-organizations have no allow-lists. `public_key`: the
    API key that stamped the request, "" for another credential. The list of a key applies instead of the list of
    the organization, unless it has no rules. Nothing is refused while the organization's list is absent or not
    enabled.
    """
    if not organization.ip_allowlists.by_id.size:
        return
    if (refusal := refusal_of(organization, public_key, source)) is not None:
        raise PermissionDenied(f"request not authorized: {refusal}. {_WHAT_HELPS}")


def refusal_of(organization: Organization, public_key: str, source: SourceAddress) -> str | None:
    """Why `check_source` refuses this request, without what helps; None if it does not."""
    if source.is_exempt or organization.profile.parent_id is not None:
        return None
    lists = organization.ip_allowlists
    of_organization = lists.by_id.get("")
    if of_organization is None or not of_organization.enabled:
        return None
    allowlist, holder = of_organization, "organization"
    of_key = lists.get(public_key)
    if of_key is not None and of_key.rules and public_key:
        allowlist, holder = of_key, "API key"
    if source.address is None:
        if allowlist.on_evaluation_error is OnEvaluationError.ALLOW:
            return None
        return (
            f"this {holder} has an IP allow-list, and the address of this request cannot be determined: a trusted "
            "proxy sent no header, or a malformed one, that names the caller"
        )
    if any(source.address in network for network in lists.networks[allowlist.public_key]):
        return None
    return f"address {source.address} is not on the IP allow-list of this {holder}"
