"""The parts of both WebAuthn ceremonies: clientDataJSON and the authenticator data, read within limits.

Not here: what each ceremony requires of them (`webauthn` for assertions, `attestation` for registrations).
"""

from __future__ import annotations

from typing import Any

import msgspec
from webauthn.helpers import parse_authenticator_data, parse_backup_flags
from webauthn.helpers.exceptions import WebAuthnException
from webauthn.helpers.structs import AuthenticatorData

from keystead.stamps.bounds import CLIENT_DATA_BYTES_MAX
from keystead.stamps.cbor import plain_item_end

# Authenticator data (WebAuthn section 6.1): the hash of the relying party's id, flags, a counter; then, as the
# flags say, an AAGUID, the length of a credential id, that id, its key, and extensions.
_FLAGS, _FIXED_BYTES = 32, 37
_ATTESTED, _EXTENDED = 0x40, 0x80
_MISCOUNTED_ED25519_KEY = bytes.fromhex("a301634f4b500327206745643235353139")
"""An Ed25519 key as some authenticators write it: the head of the CBOR map says three members, and it has four."""


class ClientData(msgspec.Struct, frozen=True, rename="camel"):
    """The members of clientDataJSON that a relying party reads; the others are ignored."""

    type: str
    challenge: str
    origin: str
    token_binding: Any = None


_decoder = msgspec.json.Decoder(ClientData)


def read_client_data(client_data_json: bytes) -> ClientData:
    """The members of clientDataJSON. Raises ValueError unless it is a JSON object with type, challenge and origin
    as strings."""
    if len(client_data_json) > CLIENT_DATA_BYTES_MAX:
        raise ValueError(f"clientDataJson is longer than {CLIENT_DATA_BYTES_MAX} bytes")
    try:
        return _decoder.decode(client_data_json)
    except RecursionError as exc:
        raise ValueError("clientDataJson is nested too deeply") from exc


def read_authenticator_data(data: bytes) -> AuthenticatorData:
    """The authenticator data, parsed to its last byte (WebAuthn section 6.1), with the user present.

    Raises ValueError if it is malformed, if the UP flag is clear, or if the backup flags contradict each
    other. The UV flag may be clear: clients ask for user verification as preferred, not required.
    """
    try:
        _check_cbor(data)
        parsed = parse_authenticator_data(data)
        parse_backup_flags(parsed.flags)
    except (WebAuthnException, ValueError) as exc:
        raise ValueError(f"authenticator data: {reason(exc)}") from exc
    if not parsed.flags.up:
        raise ValueError("the user was not present: the UP flag of the authenticator data is clear")
    return parsed


def _check_cbor(data: bytes) -> None:
    """Raise ValueError unless the key and the extensions in authenticator data are plain CBOR."""
    if len(data) <= _FLAGS:
        return  # too short for either
    position = _FIXED_BYTES
    if data[_FLAGS] & _ATTESTED:
        id_length = int.from_bytes(data[position + 16 : position + 18], "big")
        position += 18 + id_length
        # The parser reads such a key as a map of four members, so it would read bytes that are not checked here.
        if data[position:].startswith(_MISCOUNTED_ED25519_KEY):
            raise ValueError("its key is an Ed25519 key; only ES256 and RS256 are supported")
        position = plain_item_end(data, position)
    if data[_FLAGS] & _EXTENDED:
        plain_item_end(data, position)


def reason(exc: WebAuthnException | ValueError) -> str:
    """The text of `exc` for a caller, who does not see its __cause__."""
    return str(exc).replace(" See __cause__ for more info", "")
