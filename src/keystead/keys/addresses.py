"""From a public key to an address: which formats a curve has, and how each is written.

Pure. A format comes into use by putting its encoder in its row of the table. Not here: how the key was derived.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Final

from eth_hash.auto import keccak

from keystead.api.enums import AddressFormat, Curve
from keystead.api.errors import InvalidRequest, NotImplementedHere
from keystead.keys.curves import PublicKey

_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def _compressed(key: PublicKey) -> str:
    return key.compressed.hex()


def _uncompressed(key: PublicKey) -> str:
    assert key.uncompressed is not None
    return key.uncompressed.hex()


def _ethereum(key: PublicKey) -> str:
    """The last 20 bytes of Keccak-256 over x and y, with the letter case of EIP-55 as checksum."""
    assert key.uncompressed is not None
    digits = keccak(key.uncompressed[1:])[-20:].hex()
    checksum = keccak(digits.encode()).hex()
    return "0x" + "".join(
        digit.upper() if int(check, 16) >= 8 else digit for digit, check in zip(digits, checksum, strict=False)
    )


def _solana(key: PublicKey) -> str:
    return base58(key.compressed)


def base58(data: bytes) -> str:
    """Base 58 in Bitcoin's alphabet, without checksum; each leading zero byte is a leading `1`."""
    number = int.from_bytes(data)
    digits = ""
    while number:
        number, digit = divmod(number, 58)
        digits = _BASE58[digit] + digits
    return "1" * (len(data) - len(data.lstrip(b"\0"))) + digits


def base58check(payload: bytes) -> str:
    """Base 58 with the first 4 bytes of the double SHA-256 as checksum."""
    return base58(payload + hashlib.sha256(hashlib.sha256(payload).digest()).digest()[:4])


_Encoder = Callable[[PublicKey], str]
_K1: Final = Curve.SECP256K1
_ED: Final = Curve.ED25519

# The curves a format exists on. None: it exists there, and this version cannot write it yet.
_ENCODERS: Mapping[AddressFormat, Mapping[Curve, _Encoder | None]] = {
    AddressFormat.UNCOMPRESSED: {_K1: _uncompressed, Curve.P256: _uncompressed},
    AddressFormat.COMPRESSED: {_K1: _compressed, Curve.P256: _compressed, _ED: _compressed},
    AddressFormat.ETHEREUM: {_K1: _ethereum},
    AddressFormat.SOLANA: {_ED: _solana},
    AddressFormat.COSMOS: {_K1: None},
    AddressFormat.SEI: {_K1: None},
    AddressFormat.TRON: {_K1: None},
    AddressFormat.XRP: {_K1: None},
    AddressFormat.DOGE_MAINNET: {_K1: None},
    AddressFormat.DOGE_TESTNET: {_K1: None},
    AddressFormat.SPARK_MAINNET: {_K1: None},
    AddressFormat.SPARK_REGTEST: {_K1: None},
    AddressFormat.SUI: {_ED: None},
    AddressFormat.APTOS: {_ED: None},
    AddressFormat.XLM: {_ED: None},
    AddressFormat.TON_V3R2: {_ED: None},
    AddressFormat.TON_V4R2: {_ED: None},
    AddressFormat.TON_V5R1: {_ED: None},
    **{form: {_K1: None} for form in AddressFormat if form.startswith("ADDRESS_FORMAT_BITCOIN_")},
}

_CAIP2_PREFIXES: Mapping[AddressFormat, str] = {
    AddressFormat.ETHEREUM: "eip155",
    AddressFormat.SOLANA: "solana",
}


def require_encodable(curve: Curve, address_format: AddressFormat) -> None:
    """Check, before any key exists, that `address` will be able to answer.

    Raises InvalidRequest, its message starting with `invalid address format`, if the curve has no such
    addresses; NotImplementedHere, naming the format, if this version cannot write them.
    """
    _encoder(curve, address_format)


def address(key: PublicKey, address_format: AddressFormat) -> str:
    """The address of `key` as its network writes it. Raises as `require_encodable` does."""
    return _encoder(key.curve, address_format)(key)


def caip2_prefix(address_format: AddressFormat) -> str | None:
    """The CAIP-2 namespace of the network an address belongs to; None where the public API names none."""
    return _CAIP2_PREFIXES.get(address_format)


def _encoder(curve: Curve, address_format: AddressFormat) -> _Encoder:
    row = _ENCODERS[address_format]
    if curve not in row:
        raise InvalidRequest(
            f"invalid address format: {address_format} does not exist on {curve}; it takes {' or '.join(row)}"
        )
    encoder = row[curve]
    if encoder is None:
        raise NotImplementedHere(f"address format {address_format} is not supported by this version")
    return encoder
