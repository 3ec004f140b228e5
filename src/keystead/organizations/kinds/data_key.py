"""The data key of an organization, and sealed values. An organization has one data key."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from keystead.organizations.record_map import RecordMap


class Sealed(msgspec.Struct, frozen=True):
    """A sealed value in the database. `ciphertext`: the nonce, then AES-256-GCM. `key_id`: the key that seals
    it."""

    key_id: Annotated[str, Meta(max_length=64)]
    ciphertext: Annotated[bytes, Meta(max_length=65_536)]


class SealedDataKey(msgspec.Struct, frozen=True):
    """The key that seals this organization's secrets. It is sealed under the master key."""

    sealed: Sealed


class DataKeys(RecordMap[SealedDataKey], frozen=True):
    stored_name = "data_key"
    record = SealedDataKey
    id_field = None
