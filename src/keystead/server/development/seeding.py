"""The source of identifiers and keys of a development server: random, or derived from a text.

With the text, anyone can derive the same keys: for test fixtures only.
"""

from __future__ import annotations

import itertools
import secrets
import uuid
from collections.abc import Callable, Iterator

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from keystead.api.identifiers import new_id
from keystead.stamps.signing import ApiKeyPair, generate_api_key

_EPOCH_MS = 1_700_000_000_000
"""The time in seeded identifiers (UUID version 7): earlier than in any identifier that a server makes unseeded."""

_IDS_PER_START = 10_000_000
"""The identifiers of one start. Up to this number, they sort before the identifiers of the next start."""


class KeySource:
    """Identifiers, keys and entropy. Two sources seeded with one text give the same values in the same order.

    `master_key`: 32 bytes; None if the server makes a random one. One event loop uses it.
    """

    def __init__(
        self,
        entropy: Callable[[int], bytes],
        new_id: Callable[[], str],
        api_key: ApiKeyPair,
        master_key: bytes | None,
    ) -> None:
        self.entropy = entropy
        self.new_id = new_id
        self.api_key = api_key
        self.master_key = master_key


def random_source() -> KeySource:
    return KeySource(secrets.token_bytes, new_id, generate_api_key(), None)


def seeded_source(text: str, starts: int = 0) -> KeySource:
    """Derives every value from the text by HKDF-SHA256.

    `starts`: how often a server was started on the data before. Each start has other identifiers.
    """
    stream = _entropy_blocks(text, starts)
    numbers = itertools.count(starts * _IDS_PER_START)

    def entropy(size: int) -> bytes:
        return b"".join(next(stream) for _ in range(-(-size // 32)))[:size]

    def seeded_id() -> str:
        return _uuid7((_EPOCH_MS + next(numbers)).to_bytes(6), entropy(10))

    return KeySource(
        entropy,
        seeded_id,
        generate_api_key(seed=text.encode()),
        _derive(text, b"keystead development master key"),
    )


def _entropy_blocks(text: str, starts: int) -> Iterator[bytes]:
    start = b"" if starts == 0 else b"start %d " % starts
    for number in itertools.count():
        yield _derive(text, b"keystead development entropy %s%d" % (start, number))


def _derive(text: str, label: bytes) -> bytes:
    return HKDF(SHA256(), length=32, salt=None, info=label).derive(text.encode())


def _uuid7(milliseconds: bytes, random_bytes: bytes) -> str:
    """RFC 9562, section 5.7: 48 bits of milliseconds, version, 12 bits, variant, 62 bits."""
    value = bytearray(milliseconds + random_bytes)
    value[6] = 0x70 | value[6] & 0x0F
    value[8] = 0x80 | value[8] & 0x3F
    return str(uuid.UUID(bytes=bytes(value)))
