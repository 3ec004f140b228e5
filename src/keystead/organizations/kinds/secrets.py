"""Secrets other than keys: passwords, API keys of other services.

Here: what callers see. Not here: the values, which are sealed rows (`attachments.SealedSecret`).
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from keystead.organizations.limits import Limit
from keystead.organizations.record_map import RecordMap

SECRETS = Limit(name="secrets", default=1_000, description="Most secrets of an organization.", called="secrets")
SECRET_BYTES = Limit(
    name="secret_bytes",
    default=16_384,
    description="Most bytes of one secret; 65,536 at most.",
    called="bytes of a secret",
)


class Secret(msgspec.Struct, frozen=True, kw_only=True):
    """A secret without its value. `name`: "" if it has none. `static_properties`: what policies see; they never
    change."""

    id: Annotated[str, Meta(max_length=128)]
    name: str
    static_properties: dict[str, str]
    created_at_ms: int


class Secrets(RecordMap[Secret], frozen=True):
    stored_name = "secret"
    record = Secret
    id_field = "id"
    limits = (SECRETS, SECRET_BYTES)
    label_field = "name"
    label_called = "secret name"
