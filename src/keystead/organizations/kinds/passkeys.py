"""Passkeys: data from an authenticator's registration that the record of the public API does not have."""

from __future__ import annotations

import msgspec

from keystead.organizations.record_map import RecordMap


class Passkey(msgspec.Struct, frozen=True, kw_only=True):
    """`rp_id_hash` is the SHA-256 of the relying party that the authenticator was registered for."""

    authenticator_id: str
    rp_id_hash: bytes


class Passkeys(RecordMap[Passkey], frozen=True):
    stored_name = "passkey"
    record = Passkey
    id_field = "authenticator_id"
