"""Import targets: keys that users may seal an import to. Not here: how many and for how long (`import_targets`)."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from keystead.organizations.kinds.data_key import Sealed
from keystead.organizations.record_map import RecordMap


class ImportKind(StrEnum):
    """What is imported. The names are stored, so they do not change."""

    WALLET = "wallet"
    PRIVATE_KEY = "private-key"
    SECRET = "secret"  # noqa: S105 (a name, not a secret)


class ImportTarget(msgspec.Struct, frozen=True, kw_only=True):
    """A key that its user may seal one import to. The first import that it opens deletes it.

    `sealed`: its private half. `public_key`: lower-case hex of 65 bytes; only the import of a secret names its
    target by this key.
    """

    id: Annotated[str, Meta(max_length=128)]
    kind: ImportKind
    user_id: Annotated[str, Meta(max_length=128)]
    sealed: Sealed
    created_at_ms: Annotated[int, Meta(ge=0, le=2**53)]
    public_key: Annotated[str, Meta(max_length=130)] = ""


class ImportTargets(RecordMap[ImportTarget], frozen=True):
    stored_name = "import_target"
    record = ImportTarget
    id_field = "id"
