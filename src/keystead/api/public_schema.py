"""The names of the public API: every operation by subject, and every activity type.

A fact of the wire, kept as data, so that what this service does not answer can be told from what nobody knows.
"""

from __future__ import annotations

from importlib.resources import files

import msgspec


class PublicSchema(msgspec.Struct, frozen=True, rename="camel"):
    """`operations` maps a subject to its operations, each as "query/…" or "submit/…".

    `sources` are the published documents and packages, with their versions, whose names are in it.
    """

    sources: tuple[str, ...]
    operations: dict[str, tuple[str, ...]]
    activity_types: tuple[str, ...]


PUBLIC_SCHEMA = msgspec.json.decode((files("keystead.api") / "public_schema.json").read_bytes(), type=PublicSchema)

ACTIVITY_TYPES = frozenset(PUBLIC_SCHEMA.activity_types)

PATHS = frozenset(
    f"/public/v1/{operation}" for operations in PUBLIC_SCHEMA.operations.values() for operation in operations
)
