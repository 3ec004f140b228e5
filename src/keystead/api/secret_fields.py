"""The fields whose values no `repr` shows, so that no log line and no traceback has them.

Here: tokens, codes, bundles and other secrets of requests and answers, by the name of the field. Not here: what is
sealed in the database (`keys`).
"""

from __future__ import annotations

from collections.abc import Set
from typing import Final

import msgspec

SECRET_FIELDS: Final = frozenset(
    {
        "access_token",
        "auth_code",
        "bundle",
        "client_secret",
        "code_verifier",
        "credential_bundle",
        "encrypted_bundle",
        "encrypted_client_secret",
        "encrypted_otp_bundle",
        "export_bundle",
        "mnemonic",
        "oidc_token",
        "otp_code",
        "passphrase",
        "public_key_attestation",
        "secret_payload",
        "secret_payloads",
        "session",
        "token",
        "verification_token",
        "wallet_auth_verification_token",
    }
)


WHOLE_FIELDS: Final = frozenset({"body", "headers", "intent", "parameters", "request", "result"})
"""Fields with a whole request, its headers or a whole answer. A part of it may be secret."""


def repr_without_secrets(value: msgspec.Struct) -> str:
    """The value of `repr` for a struct: its fields without those of SECRET_FIELDS."""
    return _repr_without(SECRET_FIELDS, value)


def repr_without_contents(value: msgspec.Struct) -> str:
    """The same for a request or an answer as a whole: without those of WHOLE_FIELDS, either."""
    return _repr_without(SECRET_FIELDS | WHOLE_FIELDS, value)


def _repr_without(hidden_fields: Set[str], value: msgspec.Struct) -> str:
    fields = [name for name in value.__struct_fields__ if name not in hidden_fields]
    hidden = "" if len(fields) == len(value.__struct_fields__) else ", …" if fields else "…"
    members = ", ".join(f"{name}={getattr(value, name)!r}" for name in fields)
    return f"{type(value).__name__}({members}{hidden})"
