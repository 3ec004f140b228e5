"""The names of the public API: every operation by subject, and every activity type.

Data. It distinguishes an operation that this version does not answer (501) from an unknown path (404).
"""

from __future__ import annotations

from importlib.resources import files

import msgspec


class PublicSchema(msgspec.Struct, frozen=True, rename="camel"):
    """`operations` maps a subject to its operations, each as "query/…" or "submit/…".

    `sources`: the published documents and packages, with versions, that the names are taken from.
    """

    sources: tuple[str, ...]
    operations: dict[str, tuple[str, ...]]
    activity_types: tuple[str, ...]


PUBLIC_SCHEMA = msgspec.json.decode((files("keystead.api") / "public_schema.json").read_bytes(), type=PublicSchema)

ACTIVITY_TYPES = frozenset(PUBLIC_SCHEMA.activity_types)

PATHS = frozenset(
    f"/public/v1/{operation}" for operations in PUBLIC_SCHEMA.operations.values() for operation in operations
)
