"""The profile of an organization: its name, parent, root quorum and features. An organization has one."""

from __future__ import annotations

import msgspec

from keystead.api.records import Timestamp
from keystead.organizations.limits import Limit
from keystead.organizations.lookups import Lookup, name_lookup
from keystead.organizations.record_map import RecordMap

ORGANIZATION_BYTES = Limit(
    name="organization_bytes",
    default=100_663_296,
    description="Most bytes of all records of an organization, as measured in memory.",
    called="bytes of records",
)
CHANGED_BYTES = Limit(
    name="changed_bytes",
    default=12_582_912,
    description="Most bytes of the records that one activity changes, as JSON.",
    called="bytes of records that one activity changes",
)


class RootQuorum(msgspec.Struct, frozen=True):
    """The users of the root quorum. As many as `threshold` of them together may do everything."""

    threshold: int
    user_ids: tuple[str, ...]


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """`features` maps feature names to their values.

    The profile of a deleted organization stays on record, and requests to it are answered as not found.
    """

    name: str
    root_quorum: RootQuorum
    created_at: Timestamp
    parent_id: str | None = None
    deleted: bool = False
    features: dict[str, str] = {}


class Profiles(RecordMap[Profile], frozen=True):
    stored_name = "profile"
    record = Profile
    id_field = None
    limits = (ORGANIZATION_BYTES, CHANGED_BYTES)

    @classmethod
    def lookups(cls, record: Profile) -> frozenset[Lookup]:
        return frozenset([name_lookup(record.name)])
