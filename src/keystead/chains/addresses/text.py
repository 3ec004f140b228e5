"""How networks write bytes as text: base 58, bech32 and bech32m, and the CRC that some of them add.

Pure, and written here because libraries for it take a tenth of a second or more to import. The tests compare it
with two libraries. Not here: what the bytes are (the modules beside this one).
"""

from __future__ import annotations

import binascii
import hashlib
from typing import Final

from keystead.chains.bounds import SEGWIT_LETTERS_MAX
from keystead.primitives.keccak import keccak256

BITCOIN_ALPHABET: Final = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
RIPPLE_ALPHABET: Final = "rpshnaf39wBUDNEGHJKLM4PQRST7VWXYZ2bcdeCg65jkm8oFqi1tuvAxyz"

_BECH32: Final = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_BECH32_GENERATORS: Final = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)
_BECH32_CONSTANT: Final = 1
_BECH32M_CONSTANT: Final = 0x2BC830A3
_CHECKSUM_LETTERS: Final = 6


def base58(data: bytes, alphabet: str = BITCOIN_ALPHABET) -> str:
    """Base 58 without checksum. Each leading zero byte becomes the first letter of the alphabet."""
    number = int.from_bytes(data)
    digits = ""
    while number:
        number, digit = divmod(number, 58)
        digits = alphabet[digit] + digits
    return alphabet[0] * (len(data) - len(data.lstrip(b"\0"))) + digits


def decode_base58(text: str, bytes_max: int, alphabet: str = BITCOIN_ALPHABET) -> bytes | None:
    """The bytes of base 58 without checksum; None for other letters, and for more than `bytes_max` bytes."""
    if len(text) > bytes_max * 7 // 5 + 1:  # a letter carries less than six bits: 256 is 58 to the power of 1.37
        return None
    number = 0
    for letter in text:
        digit = alphabet.find(letter)
        if digit < 0:
            return None
        number = number * 58 + digit
    zeros = len(text) - len(text.lstrip(alphabet[0]))
    data = bytes(zeros) + number.to_bytes((number.bit_length() + 7) // 8)
    return data if len(data) <= bytes_max else None


def base58check(payload: bytes, alphabet: str = BITCOIN_ALPHABET) -> str:
    """Base 58 of the bytes followed by four bytes of their double SHA-256."""
    return base58(payload + hashlib.sha256(hashlib.sha256(payload).digest()).digest()[:4], alphabet)


def decode_base58check(text: str, bytes_max: int) -> bytes | None:
    """The payload of a `base58check` text; None for another text, or for more than `bytes_max` bytes."""
    data = decode_base58(text, bytes_max + 4)
    if data is None or len(data) < 4:
        return None
    payload, checksum = data[:-4], data[-4:]
    return payload if hashlib.sha256(hashlib.sha256(payload).digest()).digest()[:4] == checksum else None


def decode_segwit(text: str) -> tuple[str, int, bytes] | None:
    """Prefix in lower case, version and witness program of a SegWit address; None for any other text."""
    if len(text) > SEGWIT_LETTERS_MAX or text not in (text.lower(), text.upper()):
        return None
    prefix, mark, letters = text.lower().rpartition("1")
    digits = [_BECH32.find(letter) for letter in letters]
    if not mark or not prefix or len(digits) < 1 + _CHECKSUM_LETTERS or min(digits) < 0:
        return None
    version, groups = digits[0], digits[1:-_CHECKSUM_LETTERS]
    spare = len(groups) * 5 % 8
    number = 0
    for digit in groups:
        number = number << 5 | digit
    if version > 16 or spare >= 5 or number & (1 << spare) - 1:
        return None
    program = (number >> spare).to_bytes(len(groups) * 5 // 8)
    return (prefix, version, program) if segwit(prefix, version, program) == text.lower() else None


def bech32(prefix: str, data: bytes) -> str:
    """Bech32 (BIP-173) of bytes. The last group of five bits is filled with zeros. `prefix` is lower case."""
    return _bech32(prefix, _groups_of_five(data), _BECH32_CONSTANT)


def bech32m(prefix: str, data: bytes) -> str:
    """Bech32m (BIP-350) of bytes, as in `bech32`."""
    return _bech32(prefix, _groups_of_five(data), _BECH32M_CONSTANT)


def segwit(prefix: str, version: int, program: bytes) -> str:
    """The address of a witness program: bech32 for version 0, bech32m for later versions (BIP-350)."""
    constant = _BECH32M_CONSTANT if version else _BECH32_CONSTANT
    return _bech32(prefix, [version, *_groups_of_five(program)], constant)


def eip55(digits: str) -> str:
    """40 hex digits in lower case, with the letter case of EIP-55 as checksum: a letter is upper case if the hex
    digit of keccak-256 of the text at its place is above 7."""
    digest = keccak256(digits.encode()).hex()
    return "".join(
        letter.upper() if int(nibble, 16) > 7 else letter for letter, nibble in zip(digits, digest, strict=False)
    )


def crc16(data: bytes) -> int:
    """CRC-16/XMODEM: polynomial 0x1021, initial value 0."""
    return binascii.crc_hqx(data, 0)


def _groups_of_five(data: bytes) -> list[int]:
    count = (len(data) * 8 + 4) // 5
    bits = int.from_bytes(data) << count * 5 - len(data) * 8
    return [bits >> 5 * position & 31 for position in reversed(range(count))]


def _bech32(prefix: str, digits: list[int], constant: int) -> str:
    expanded = [ord(letter) >> 5 for letter in prefix] + [0] + [ord(letter) & 31 for letter in prefix]
    checksum = _polymod([*expanded, *digits, *[0] * _CHECKSUM_LETTERS]) ^ constant
    checked = [checksum >> 5 * position & 31 for position in reversed(range(_CHECKSUM_LETTERS))]
    return prefix + "1" + "".join(_BECH32[digit] for digit in (*digits, *checked))


def _polymod(values: list[int]) -> int:
    remainder = 1
    for value in values:
        top = remainder >> 25
        remainder = (remainder & 0x1FFFFFF) << 5 ^ value
        for position, generator in enumerate(_BECH32_GENERATORS):
            if top >> position & 1:
                remainder ^= generator
    return remainder
