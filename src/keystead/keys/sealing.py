"""Sealing at rest: AES-256-GCM under a data key of the organization, which is sealed under the master key.

Pure, except for nonces from the operating system. Not here: where the master key is stored (`master_key`,
`token_key`), the secrets that are sealed (`material`). Python cannot wipe memory: a key stays there until it is
collected.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from enum import StrEnum
from typing import ClassVar, Final, Self

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from keystead.organizations.kinds.data_key import Sealed

KEY_BYTES: Final = 32
_NONCE_BYTES = 12
_TAG_BYTES = 16
_KEY_ID_BYTES = 8
_SCHEME = "keystead seal 1"


class SealBroken(Exception):
    """A stored value does not open: it is under another key, of another record, or was changed.

    This is a defect of the installation and not a caller's mistake, so it is not a ServiceError. The message names
    the record and the key ids, never a secret.
    """


class MasterKeyMissing(SealBroken):
    """The value is sealed under a master key that this process does not have. The message names both keys."""


class Purpose(StrEnum):
    """What is sealed. The names are stored: never change their meaning."""

    DATA_KEY = "data-key"
    WALLET = "wallet"
    PRIVATE_KEY = "private-key"
    IMPORT_TARGET = "import-target"
    SECRET = "secret"  # noqa: S105 (a name, not a secret)
    IDENTITY_KEY = "identity-key"
    AUTH_PROXY_KEY = "auth-proxy-key"
    PROOF_KEY = "proof-key"
    BUNDLE_KEY = "bundle-key"
    SESSION_KEY = "session-key"
    VERIFICATION_KEY = "verification-key"
    WEBHOOK_KEY = "webhook-key"
    CLIENT_SECRET_KEY = "client-secret-key"  # noqa: S105 (a name, not a secret)
    ONE_TIME_CODE = "one-time-code"
    OTP_TARGET = "otp-target"
    MESSAGE = "message"
    CHECK = "check"


class SealContext(msgspec.Struct, frozen=True):
    """The record that a sealed value belongs to, and its purpose. The value opens only in this context.

    `organization_id` and `record_id` are empty for the values of the whole installation.
    """

    purpose: Purpose
    organization_id: str = ""
    record_id: str = ""

    def __str__(self) -> str:
        return " ".join(filter(None, (self.purpose, self.record_id, self.organization_id)))


class _SealingKey:
    """32 bytes that seal and open. `key_id`: 16 hex digits of an HMAC under the key, safe to show."""

    __slots__ = ("_aead", "_secret", "key_id")

    _key_id_label: ClassVar[bytes]
    _other_key: ClassVar[type[SealBroken]] = SealBroken

    def __init__(self, secret: bytes) -> None:
        """Raises ValueError unless `secret` has 32 bytes."""
        if len(secret) != KEY_BYTES:
            raise ValueError(f"a key has {KEY_BYTES} bytes, not {len(secret)}")
        self._secret = secret
        self._aead = AESGCM(secret)
        self.key_id = hmac.digest(secret, self._key_id_label, "sha256")[:_KEY_ID_BYTES].hex()

    @classmethod
    def generate(cls) -> Self:
        """A new key from the operating system's random source."""
        return cls(os.urandom(KEY_BYTES))

    def seal(self, plaintext: bytes, context: SealContext) -> Sealed:
        """Nonce (12 random bytes), ciphertext and tag (16 bytes) in one.

        The nonce never comes from a seeded source: AES-GCM loses all secrecy when a nonce repeats. Random nonces
        are safe for 2^32 values under one key (NIST SP 800-38D, 8.3).
        """
        nonce = os.urandom(_NONCE_BYTES)
        sealed = self._aead.encrypt(nonce, plaintext, associated_data(self.key_id, context))
        return Sealed(key_id=self.key_id, ciphertext=nonce + sealed)

    def open(self, sealed: Sealed, context: SealContext) -> bytes:
        """The plaintext. Raises SealBroken unless this key sealed exactly this value for this context."""
        if sealed.key_id != self.key_id:
            raise self._other_key(
                f"sealed {context}: it is under key {sealed.key_id!a}, and this process has {self.key_id!a}"
            )
        if len(sealed.ciphertext) < _NONCE_BYTES + _TAG_BYTES:
            raise SealBroken(f"sealed {context}: {len(sealed.ciphertext)} bytes are too few, it was cut off")
        nonce, body = sealed.ciphertext[:_NONCE_BYTES], sealed.ciphertext[_NONCE_BYTES:]
        try:
            return self._aead.decrypt(nonce, body, associated_data(self.key_id, context))
        except InvalidTag:
            raise SealBroken(f"sealed {context}: it was changed, or belongs to another record") from None

    def __repr__(self) -> str:
        return f"{type(self).__name__}(key_id={self.key_id!r})"


class DataKey(_SealingKey):
    """Seals the records of one organization."""

    __slots__ = ()
    _key_id_label = b"keystead data key id"

    def digest(self, text: bytes, context: SealContext) -> bytes:
        """HMAC-SHA256 of the text for this context, 32 bytes. Without the key, nobody can search for the text."""
        key = hmac.digest(self._secret, b"keystead digest key", "sha256")
        return hmac.digest(key, associated_data(self.key_id, context) + text, "sha256")


class Master(ABC):
    """Seals the data keys and the values of the installation. It is stored outside the database.

    `key_id` identifies it and is safe to show. It is stored beside every value that the key sealed.
    """

    __slots__ = ()
    key_id: str

    @property
    def key_ids(self) -> tuple[str, ...]:
        """The ids of the keys whose values it opens, `key_id` first."""
        return (self.key_id,)

    @abstractmethod
    def seal(self, plaintext: bytes, context: SealContext) -> Sealed: ...

    @abstractmethod
    def open(self, sealed: Sealed, context: SealContext) -> bytes:
        """The plaintext. Raises SealBroken unless this key sealed exactly this value for this context, and
        MasterKeyMissing if another key did."""

    def seal_data_key(self, data_key: DataKey, organization_id: str) -> Sealed:
        return self.seal(data_key._secret, data_key_context(organization_id))

    def open_data_key(self, sealed: Sealed, organization_id: str) -> DataKey:
        """Open a data key. Raises the errors of `open`."""
        return DataKey(self.open(sealed, data_key_context(organization_id)))


class MasterKey(_SealingKey, Master):
    """A master key of 32 bytes in the memory of this process."""

    __slots__ = ()
    _key_id_label = b"keystead master key id"
    _other_key = MasterKeyMissing

    @classmethod
    def from_text(cls, text: str) -> MasterKey:
        """Read 64 hex digits or the base64 of 32 bytes (either alphabet). Surrounding white space is ignored.

        Raises ValueError; its message does not repeat the text.
        """
        text = text.strip()
        if re.fullmatch(r"[0-9a-fA-F]{64}", text):
            return cls(bytes.fromhex(text))
        padded = text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4)
        try:
            secret = base64.b64decode(padded.replace("-", "+").replace("_", "/"), validate=True)
        except (binascii.Error, ValueError):
            secret = b""
        if len(secret) != KEY_BYTES:
            raise ValueError("a master key is one line of 64 hex digits, or of base64 for 32 bytes")
        return cls(secret)

    def secret_text(self) -> str:
        """The key itself, as 64 hex digits, for the key file."""
        return self._secret.hex()


class MasterKeys(Master):
    """Several master keys, during a rotation. The first one seals; each opens what it sealed."""

    __slots__ = ("_keys", "_sealing", "key_id")

    def __init__(self, sealing: Master, others: Sequence[Master] = ()) -> None:
        self._sealing = sealing
        self._keys = {key.key_id: key for key in (*others, sealing)}
        self.key_id = sealing.key_id

    @property
    def key_ids(self) -> tuple[str, ...]:
        return (self.key_id, *(key_id for key_id in self._keys if key_id != self.key_id))

    def seal(self, plaintext: bytes, context: SealContext) -> Sealed:
        return self._sealing.seal(plaintext, context)

    def open(self, sealed: Sealed, context: SealContext) -> bytes:
        if sealed.key_id not in self._keys:
            here = " and ".join(map(ascii, self.key_ids))
            raise MasterKeyMissing(
                f"sealed {context}: it is under key {sealed.key_id!a}, and this process has {here}"
            )
        return self._keys[sealed.key_id].open(sealed, context)


def data_key_context(organization_id: str) -> SealContext:
    """The context of an organization's data key."""
    return SealContext(Purpose.DATA_KEY, organization_id=organization_id, record_id=organization_id)


def associated_data(key_id: str, context: SealContext) -> bytes:
    """The encoding of a context. Each part follows its length in four bytes, so that no two contexts share an
    encoding."""
    parts = (_SCHEME, key_id, context.organization_id, context.record_id, context.purpose)
    return b"".join([len(part).to_bytes(4) + part for part in map(str.encode, parts)])
