"""Which addresses webhooks may be sent to. Pure.

Here: the rules for a URL, and for an address before a connection to it. Not here: resolving names and connecting
(`delivery.webhooks.connecting`). A URL is checked when it is registered, and again before each attempt, because the
operator may have changed the settings.
"""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit

from keystead.api.errors import InvalidRequest
from keystead.organizations.bounds import URL_CHARACTERS_MAX
from keystead.primitives.ip_addresses import IpAddress, IpNetwork

_GLOBAL_UNICAST = IPv6Network("2000::/3")
_TUNNELS = tuple(IPv6Network(network) for network in ("2001::/32", "2002::/16"))
"""Teredo and 6to4: these addresses contain an IPv4 address, and a relay would forward packets to it."""

_VISIBLE = re.compile(r"[\x21-\x7e]+")
_LOOPBACK_NAME = "localhost"


def read_networks(text: str) -> tuple[IpNetwork, ...]:
    """The networks in a text that separates them with commas. Raises ValueError, which names a malformed one."""
    return tuple(ip_network(part.strip()) for part in text.split(",") if part.strip())


def may_connect_to(address: IpAddress, allowed: tuple[IpNetwork, ...]) -> bool:
    """Whether the address is public, or in one of the networks that the operator allows.

    An IPv4 address in IPv6 (`::ffff:10.0.0.1`) is judged as the IPv4 address.
    """
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    if any(address.version == network.version and address in network for network in allowed):
        return True
    if isinstance(address, IPv4Address):
        return address.is_global and not address.is_multicast
    return (
        address.scope_id is None
        and address.is_global
        and address in _GLOBAL_UNICAST
        and not any(address in network for network in _TUNNELS)
    )


def check_url(url: str, allowed: tuple[IpNetwork, ...], field: str) -> None:
    """Raise InvalidRequest unless webhooks may be sent to this URL.

    It must begin with https://, and have a host and no user. It may begin with http:// if its host is a loopback
    host that `allowed` contains. The addresses of a host that is a name are checked before each connection.
    """
    if len(url) > URL_CHARACTERS_MAX or not _VISIBLE.fullmatch(url):
        raise _refusal(field, f"expected at most {URL_CHARACTERS_MAX} visible ASCII characters")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise _refusal(field, "its host or its port is malformed") from None
    if "@" in parts.netloc or "\\" in url:
        raise _refusal(field, "it must hold no user, no password and no backslash")
    if not host or port == 0:
        raise _refusal(field, "expected https://HOST/PATH")
    literal = _literal(host)
    if literal is not None and not may_connect_to(literal, allowed):
        raise _refusal(field, f"{host} is not a public address, and the settings of this server do not allow it")
    is_loopback = _is_loopback_name(host) or (literal is not None and literal.is_loopback)
    allows_loopback = may_connect_to(literal or ip_address("127.0.0.1"), allowed)
    if is_loopback and not allows_loopback:
        raise _refusal(field, f"{host} is not a public address, and the settings of this server do not allow it")
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback):
        raise _refusal(field, "expected an address that begins with https://")


def _is_loopback_name(host: str) -> bool:
    name = host.rstrip(".")
    return name == _LOOPBACK_NAME or name.endswith(f".{_LOOPBACK_NAME}")


def _literal(host: str) -> IpAddress | None:
    """The address, if the host is an address in its usual form. Other forms (0x7f.1) are checked before a
    connection."""
    try:
        return ip_address(host)
    except ValueError:
        return None


def _refusal(field: str, why: str) -> InvalidRequest:
    return InvalidRequest(f"invalid webhook url: field `{field}`: {why}")
