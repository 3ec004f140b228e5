"""Memos: short texts that users of an organization leave for each other."""

from __future__ import annotations

import msgspec

from keystead.organizations.limits import Limit
from keystead.organizations.record_map import RecordMap

MEMOS = Limit(name="memos", default=3, description="Most memos of an organization.", called="memos")


class Memo(msgspec.Struct, frozen=True):
    memo_id: str
    text: str
    written_by: str


class Memos(RecordMap[Memo], frozen=True):
    stored_name = "memo"
    record = Memo
    id_field = "memo_id"
    limits = (MEMOS,)
