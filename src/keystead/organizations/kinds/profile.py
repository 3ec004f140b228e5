"""The profile of an organization: its name, parent, root quorum and features. An organization has one."""

from __future__ import annotations

import msgspec

from keystead.api.records import Timestamp
from keystead.organizations.lookups import Lookup, name_lookup
from keystead.organizations.record_map import RecordMap


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

    @classmethod
    def lookups(cls, record: Profile) -> frozenset[Lookup]:
        return frozenset([name_lookup(record.name)])
