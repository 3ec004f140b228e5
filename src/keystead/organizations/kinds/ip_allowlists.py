"""IP allow-lists: from which networks requests may come. Not here: when they are enforced (`ip_allowlists`)."""

from __future__ import annotations

import ipaddress
from typing import Annotated

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from keystead.api.enums import OnEvaluationError
from keystead.api.records import IpAllowlistRule
from keystead.organizations.limits import Limit
from keystead.organizations.persistent_map import PersistentMap
from keystead.organizations.record_map import RecordMap
from keystead.primitives.ip_addresses import IpNetwork

IP_ALLOWLISTS = Limit(
    name="ip_allowlists",
    default=1_000,
    description="Most IP allow-lists of an organization: its own, and one for each API key.",
    called="IP allow-lists",
)

_NETWORK_BYTES = 400
"""The bytes that the network of one rule takes in memory."""


class IpAllowlist(msgspec.Struct, frozen=True, kw_only=True):
    """The list of an API key; of the whole organization if `public_key` is "".

    `enabled`: whether the organization's list is enforced. The list of a key is always enabled.
    """

    public_key: Annotated[str, Meta(max_length=200)]
    enabled: bool
    rules: tuple[IpAllowlistRule, ...]
    on_evaluation_error: OnEvaluationError


class IpAllowlists(RecordMap[IpAllowlist], frozen=True):
    """`networks` has the networks of each list, by its public key."""

    stored_name = "ip_allowlist"
    record = IpAllowlist
    id_field = "public_key"
    limits = (IP_ALLOWLISTS,)
    has_index = True

    networks: PersistentMap[str, tuple[IpNetwork, ...]] = PersistentMap()

    @classmethod
    def _bytes(cls, record: IpAllowlist) -> int:
        return super()._bytes(record) + _NETWORK_BYTES * len(record.rules)

    def _index(self, record: IpAllowlist) -> IpAllowlists:
        networks = tuple(ipaddress.ip_network(rule.cidr) for rule in record.rules)
        return replace(self, networks=self.networks.set(record.public_key, networks))

    def _unindex(self, record: IpAllowlist) -> IpAllowlists:
        return replace(self, networks=self.networks.delete(record.public_key))
