"""The schemes of an API-key stamp: their names, the credential types of each, what EIP-191 hashes.

Not here: checking a stamp (`api_key`) or making one (`signing`), and passkeys (`webauthn`), which have no scheme.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from keystead.api.enums import CredentialType
from keystead.primitives.keccak import keccak256

API_KEY_HEADER = "X-Stamp"


class StampScheme(StrEnum):
    """The value of `scheme` in an X-Stamp, and in the vote that the stamp casts."""

    API_P256 = "SIGNATURE_SCHEME_TK_API_P256"
    API_SECP256K1 = "SIGNATURE_SCHEME_TK_API_SECP256K1"
    API_SECP256K1_EIP191 = "SIGNATURE_SCHEME_TK_API_SECP256K1_EIP191"
    API_ED25519 = "SIGNATURE_SCHEME_TK_API_ED25519"


_SECP256K1 = frozenset({CredentialType.API_KEY_SECP256K1})

CREDENTIAL_TYPES: Mapping[StampScheme, frozenset[CredentialType]] = MappingProxyType(
    {
        StampScheme.API_P256: frozenset(
            {
                CredentialType.API_KEY_P256,
                CredentialType.RECOVER_USER_KEY_P256,
                CredentialType.EMAIL_AUTH_KEY_P256,
                CredentialType.OTP_AUTH_KEY_P256,
                CredentialType.READ_WRITE_SESSION_KEY_P256,
                CredentialType.OAUTH_KEY_P256,
                CredentialType.LOGIN,
            }
        ),
        StampScheme.API_SECP256K1: _SECP256K1,
        StampScheme.API_SECP256K1_EIP191: _SECP256K1,
        StampScheme.API_ED25519: frozenset({CredentialType.API_KEY_ED25519}),
    }
)
"""The credential types that a stamp of each scheme matches. The same key under another type does not match."""

PUBLIC_KEY_BYTES: Mapping[StampScheme, int] = MappingProxyType(
    {
        StampScheme.API_P256: 33,
        StampScheme.API_SECP256K1: 33,
        StampScheme.API_SECP256K1_EIP191: 33,
        StampScheme.API_ED25519: 32,
    }
)
"""The length of the public key in a stamp: a compressed SEC 1 point, or an Ed25519 key."""


def eip191_digest(body: bytes) -> bytes:
    """The 32 bytes an Ethereum wallet signs for `body` (EIP-191 version 0x45, "personal message")."""
    return keccak256(b"\x19Ethereum Signed Message:\n%d" % len(body) + body)
