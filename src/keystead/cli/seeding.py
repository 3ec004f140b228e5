"""Where a first start takes its identifiers and keys from: chance, or a text that makes them the same everywhere.

Whoever knows the text knows the keys: for fixtures on development servers only.
"""

from __future__ import annotations

import itertools
import secrets
import uuid
from collections.abc import Callable, Iterator

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from keystead.api.identifiers import new_id
from keystead.keys.sealing import MasterKey
from keystead.stamps.signing import ApiKeyPair, generate_api_key

_EPOCH_MS = 1_700_000_000_000
"""The time in seeded identifiers, which are version 7 as all others: before any that a server makes later."""


class Origin:
    """Gives identifiers, keys and entropy; each `seeded` one gives the same ones in the same order."""

    def __init__(
        self,
        entropy: Callable[[int], bytes],
        new_id: Callable[[], str],
        api_key: ApiKeyPair,
        master_key: MasterKey,
    ) -> None:
        self.entropy = entropy
        self.new_id = new_id
        self.api_key = api_key
        self.master_key = master_key


def fresh() -> Origin:
    """Everything by chance."""
    return Origin(secrets.token_bytes, new_id, generate_api_key(), MasterKey.generate())


def seeded(text: str) -> Origin:
    """Everything derived from the text by HKDF-SHA256."""
    stream = _derived(text)
    numbers = itertools.count()

    def entropy(size: int) -> bytes:
        return b"".join(next(stream) for _ in range(-(-size // 32)))[:size]

    def seeded_id() -> str:
        return _uuid7((_EPOCH_MS + next(numbers)).to_bytes(6), entropy(10))

    return Origin(
        entropy,
        seeded_id,
        generate_api_key(seed=text.encode()),
        MasterKey.from_text(_one(text, b"keystead development master key").hex()),
    )


def _derived(text: str) -> Iterator[bytes]:
    for number in itertools.count():
        yield _one(text, b"keystead development entropy %d" % number)


def _one(text: str, label: bytes) -> bytes:
    return HKDF(SHA256(), length=32, salt=None, info=label).derive(text.encode())


def _uuid7(moment: bytes, chance: bytes) -> str:
    """RFC 9562, section 5.7: 48 bits of milliseconds, version, 12 bits, variant, 62 bits."""
    value = bytearray(moment + chance)
    value[6] = 0x70 | value[6] & 0x0F
    value[8] = 0x80 | value[8] & 0x3F
    return str(uuid.UUID(bytes=bytes(value)))
