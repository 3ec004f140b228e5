"""Tags: of users, and of private keys."""

from __future__ import annotations

from keystead.api.records import Tag
from keystead.organizations.limits import Limit
from keystead.organizations.record_map import RecordMap

TAGS = Limit(name="tags", default=1_000, description="Most tags of an organization.", called="tags")


class Tags(RecordMap[Tag], frozen=True):
    stored_name = "tag"
    record = Tag
    id_field = "tag_id"
    limits = (TAGS,)
    label_field = "tag_name"
    label_scope = "tag_type"
