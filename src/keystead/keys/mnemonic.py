"""BIP-39: from entropy to mnemonic and back, and from a mnemonic to the seed of a wallet.

Pure. Not here: the source of entropy (`signer`), the keys of a seed (`derivation`), the words themselves
(`word_lists`). No error message repeats a word of a mnemonic.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Sequence

from keystead.api.enums import MnemonicLanguage
from keystead.api.errors import InvalidRequest
from keystead.chains.mnemonic_lengths import LENGTHS_TEXT, MNEMONIC_LENGTHS, check_mnemonic_length
from keystead.keys.word_lists import MISSING_LANGUAGES, published_words, word_list

_BITS_PER_WORD = 11
_SEED_ITERATIONS = 2048
_SEED_BYTES = 64


def entropy_bytes(mnemonic_length: int) -> int:
    """How many bytes of entropy a mnemonic of `mnemonic_length` words has: 16 to 32.

    Raises InvalidRequest for a length that BIP-39 does not have.
    """
    check_mnemonic_length(mnemonic_length)
    return mnemonic_length // 3 * 4


def mnemonic_from_entropy(entropy: bytes, language: MnemonicLanguage = MnemonicLanguage.ENGLISH) -> str:
    """The words of 16, 20, 24, 28 or 32 bytes of entropy, in lower case and Unicode form NFKD, with the language's
    separator (a space; in Japanese U+3000) between them.

    Raises ValueError for any other number of bytes.
    """
    word_count = len(entropy) // 4 * 3
    if word_count not in MNEMONIC_LENGTHS or len(entropy) % 4:
        raise ValueError(f"a mnemonic is made of 16, 20, 24, 28 or 32 bytes of entropy, not {len(entropy)}")
    bits = int.from_bytes(entropy) << word_count // 3 | _checksum(entropy)
    shifts = range((word_count - 1) * _BITS_PER_WORD, -1, -_BITS_PER_WORD)
    known_words = word_list(language)
    return known_words.separator.join(known_words.words[bits >> shift & 0x7FF] for shift in shifts)


def entropy_from_mnemonic(mnemonic: str) -> tuple[bytes, MnemonicLanguage]:
    """The 16 to 32 bytes of entropy of a mnemonic, and its language. Any white space may separate the words.

    Some lists share words, most of all the Chinese ones. The first language whose checksum is right counts,
    English first. Raises InvalidRequest, with a message that starts with `invalid mnemonic`, for a wrong number of
    words, words that are not all in one list, and a wrong checksum. Words in capital letters are not read: the seed
    depends on the letter case, and which one another wallet used is not known.
    """
    words = unicodedata.normalize("NFKD", mnemonic).split()
    if len(words) not in MNEMONIC_LENGTHS:
        raise InvalidRequest(f"invalid mnemonic: it has {len(words)} words; it must have {LENGTHS_TEXT}")
    in_one_list = False
    for language in MnemonicLanguage:
        numbers = [word_list(language).numbers.get(word) for word in words]
        known = [number for number in numbers if number is not None]
        if len(known) < len(words):
            continue
        in_one_list = True
        entropy = _entropy(known)
        if entropy is not None:
            return entropy, language
    if in_one_list:
        raise InvalidRequest("invalid mnemonic: its checksum does not match; a word is wrong or misplaced")
    raise InvalidRequest(f"invalid mnemonic: {_why_not_in_one_list(words)}")


def _why_not_in_one_list(words: Sequence[str]) -> str:
    listed = [word_list(language).numbers for language in MnemonicLanguage]
    lowered = [word.lower() for word in words]
    for name in MISSING_LANGUAGES:
        if set(lowered) <= set(published_words(name)):
            return (
                f"its words are {name.capitalize()}, a language of BIP-39 that the API does not have; import the "
                "private keys of its accounts instead"
            )
    for position, (word, lower) in enumerate(zip(words, lowered, strict=True), start=1):
        if not any(word in numbers for numbers in listed):
            if any(lower in numbers for numbers in listed):
                return f"word {position} has capital letters; the words of BIP-39 are in lower case"
            return f"word {position} is in no list of BIP-39"
    return "its words are not all of one language"


def _entropy(numbers: Sequence[int]) -> bytes | None:
    """The entropy that the numbers of a mnemonic's words encode; None if the checksum is wrong."""
    bits = 0
    for number in numbers:
        bits = bits << _BITS_PER_WORD | number
    checksum_bits = len(numbers) // 3
    entropy = (bits >> checksum_bits).to_bytes(len(numbers) // 3 * 4)
    return entropy if bits & (1 << checksum_bits) - 1 == _checksum(entropy) else None


def seed_from_mnemonic(mnemonic: str, passphrase: str = "") -> bytes:
    """The 64-byte seed: 2048 iterations of PBKDF2-HMAC-SHA512. It takes about a millisecond, outside the GIL."""
    password = unicodedata.normalize("NFKD", mnemonic).encode()
    salt = unicodedata.normalize("NFKD", "mnemonic" + passphrase).encode()
    return hashlib.pbkdf2_hmac("sha512", password, salt, _SEED_ITERATIONS, _SEED_BYTES)


def _checksum(entropy: bytes) -> int:
    """The leading bits of SHA-256, one for every 32 bits of entropy."""
    return hashlib.sha256(entropy).digest()[0] >> 8 - len(entropy) // 4
