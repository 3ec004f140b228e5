"""Identifiers: UUID text, version 7, so that they sort by time of creation."""

from __future__ import annotations

from typing import Annotated

import uuid_utils
from msgspec import Meta

UUID_PATTERN = r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\Z"

Uuid = Annotated[str, Meta(pattern=UUID_PATTERN)]
"""The wire type of an identifier: lower case with hyphens."""


ANY_ORGANIZATION = "00000000-0000-0000-0000-000000000000"
"""In place of an organization's id in a login: the organization that has the passkey of the stamp."""


def new_id() -> str:
    """A fresh UUIDv7 as lower-case text with hyphens."""
    return str(uuid_utils.uuid7())
