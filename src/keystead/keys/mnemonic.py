"""BIP-39: entropy to mnemonic and back, and from a mnemonic to the seed of a wallet.

Pure; English only. Not here: where entropy comes from (`signer`), what grows from a seed (`derivation`).
No message repeats a word of a mnemonic.
"""

from __future__ import annotations

import hashlib
import unicodedata

from keystead.api.errors import InvalidRequest
from keystead.keys.bip39_english import WORDS

MNEMONIC_LENGTHS = (12, 15, 18, 21, 24)
"""The word counts BIP-39 allows; 12 words carry 128 bits of entropy, each further three words 32 more."""

_BITS_PER_WORD = 11
_SEED_ROUNDS = 2048
_SEED_BYTES = 64
_NUMBERS = {word: number for number, word in enumerate(WORDS)}


def entropy_bytes(mnemonic_length: int) -> int:
    """How many bytes of entropy a mnemonic of `mnemonic_length` words carries: 16 to 32.

    Raises InvalidRequest for a length that BIP-39 does not have.
    """
    if mnemonic_length not in MNEMONIC_LENGTHS:
        raise InvalidRequest(f"invalid mnemonic length: {mnemonic_length}; it is {_lengths_text()} words")
    return mnemonic_length // 3 * 4


def mnemonic_from_entropy(entropy: bytes) -> str:
    """The words of 16, 20, 24, 28 or 32 bytes of entropy, lower case, joined by single spaces.

    Raises ValueError for another number of bytes.
    """
    word_count = len(entropy) // 4 * 3
    if word_count not in MNEMONIC_LENGTHS or len(entropy) % 4:
        raise ValueError(f"a mnemonic is made of 16, 20, 24, 28 or 32 bytes of entropy, not {len(entropy)}")
    bits = int.from_bytes(entropy) << word_count // 3 | _checksum(entropy)
    shifts = range((word_count - 1) * _BITS_PER_WORD, -1, -_BITS_PER_WORD)
    return " ".join(WORDS[bits >> shift & 0x7FF] for shift in shifts)


def entropy_from_mnemonic(mnemonic: str) -> bytes:
    """The 16 to 32 bytes a mnemonic was made of. Words may be separated by any white space.

    Raises InvalidRequest, its message starting with `invalid mnemonic`, for a wrong number of words, a word
    that is not in the list, and a wrong checksum.
    """
    words = unicodedata.normalize("NFKD", mnemonic).split()
    if len(words) not in MNEMONIC_LENGTHS:
        raise InvalidRequest(f"invalid mnemonic: it has {len(words)} words; it must have {_lengths_text()}")
    bits = 0
    for position, word in enumerate(words, start=1):
        number = _NUMBERS.get(word)
        if number is None:
            raise InvalidRequest(f"invalid mnemonic: word {position} is not in the English list of BIP-39")
        bits = bits << _BITS_PER_WORD | number
    checksum_bits = len(words) // 3
    entropy = (bits >> checksum_bits).to_bytes(len(words) // 3 * 4)
    if bits & (1 << checksum_bits) - 1 != _checksum(entropy):
        raise InvalidRequest("invalid mnemonic: its checksum does not match; a word is wrong or misplaced")
    return entropy


def seed_from_mnemonic(mnemonic: str, passphrase: str = "") -> bytes:
    """The 64-byte seed: PBKDF2-HMAC-SHA512 over 2048 rounds. About a millisecond, outside the GIL."""
    password = unicodedata.normalize("NFKD", mnemonic).encode()
    salt = unicodedata.normalize("NFKD", "mnemonic" + passphrase).encode()
    return hashlib.pbkdf2_hmac("sha512", password, salt, _SEED_ROUNDS, _SEED_BYTES)


def _checksum(entropy: bytes) -> int:
    """The leading bits of SHA-256, one for every 32 bits of entropy."""
    return hashlib.sha256(entropy).digest()[0] >> 8 - len(entropy) // 4


def _lengths_text() -> str:
    return f"{', '.join(map(str, MNEMONIC_LENGTHS[:-1]))} or {MNEMONIC_LENGTHS[-1]}"
