"""The names of the public API: every operation by subject, and every activity type.

Data. It distinguishes an operation that this version does not answer (501) from an unknown path (404).
"""

from __future__ import annotations

from importlib.resources import files

import msgspec


class Source(msgspec.Struct, frozen=True):
    """A published document or package that has names of the API. `kind`: `document`, or the registry of a
    package."""

    kind: str
    name: str
    version: str

    def __str__(self) -> str:
        kind = "" if self.kind == "document" else f"{self.kind} "
        return f"{kind}{self.name} {self.version}"


class PublicSchema(msgspec.Struct, frozen=True, rename="camel"):
    """`operations` maps a subject to its operations, each as "query/…" or "submit/…".

    `sources`: what the names are taken from.
    """

    sources: tuple[Source, ...]
    operations: dict[str, tuple[str, ...]]
    activity_types: tuple[str, ...]


PUBLIC_SCHEMA = msgspec.json.decode((files("keystead.api") / "public_schema.json").read_bytes(), type=PublicSchema)

ACTIVITY_TYPES = frozenset(PUBLIC_SCHEMA.activity_types)

PATHS = frozenset(
    f"/public/v1/{operation}" for operations in PUBLIC_SCHEMA.operations.values() for operation in operations
)
