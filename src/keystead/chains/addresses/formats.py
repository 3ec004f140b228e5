"""Which address formats a curve has, and the encoder of each.

Pure. Not here: the encoders (the modules beside this one), how the key was derived.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from keystead.api.enums import AddressFormat, Curve
from keystead.api.errors import InvalidRequest
from keystead.chains.addresses import accounts, bitcoin, ton
from keystead.chains.curves import PublicKey

_Encoder = Callable[[PublicKey], str]
_K1: Final = Curve.SECP256K1
_ED: Final = Curve.ED25519

_ENCODERS: Mapping[AddressFormat, Mapping[Curve, _Encoder]] = {
    AddressFormat.UNCOMPRESSED: {_K1: accounts.uncompressed, Curve.P256: accounts.uncompressed},
    AddressFormat.COMPRESSED: dict.fromkeys((_K1, Curve.P256, _ED), accounts.compressed),
    AddressFormat.ETHEREUM: {_K1: accounts.ethereum},
    AddressFormat.SOLANA: {_ED: accounts.solana},
    AddressFormat.COSMOS: {_K1: accounts.cosmos},
    AddressFormat.SEI: {_K1: accounts.sei},
    AddressFormat.TRON: {_K1: accounts.tron},
    AddressFormat.XRP: {_K1: bitcoin.xrp},
    AddressFormat.DOGE_MAINNET: {_K1: bitcoin.doge_mainnet},
    AddressFormat.DOGE_TESTNET: {_K1: bitcoin.doge_testnet},
    AddressFormat.SPARK_MAINNET: {_K1: accounts.spark_mainnet},
    AddressFormat.SPARK_REGTEST: {_K1: accounts.spark_regtest},
    AddressFormat.SUI: {_ED: accounts.sui},
    AddressFormat.APTOS: {_ED: accounts.aptos},
    AddressFormat.XLM: {_ED: accounts.stellar},
    AddressFormat.TON_V3R2: {_ED: ton.v3r2},
    AddressFormat.TON_V4R2: {_ED: ton.v4r2},
    AddressFormat.TON_V5R1: {_ED: ton.v5r1},
    **{address_format: {_K1: encoder} for address_format, encoder in bitcoin.encoders().items()},
}

_CAIP2_PREFIXES: Mapping[AddressFormat, str] = {
    AddressFormat.ETHEREUM: "eip155",
    AddressFormat.SOLANA: "solana",
}


def require_encodable(curve: Curve, address_format: AddressFormat) -> None:
    """Check, before any key exists, that `address` can encode addresses of this format.

    Raises InvalidRequest, its message starting with `invalid address format`, if the curve has no such addresses.
    """
    _encoder(curve, address_format)


def address(key: PublicKey, address_format: AddressFormat) -> str:
    """The address of `key` as its network writes it. Raises as `require_encodable` does."""
    return _encoder(key.curve, address_format)(key)


def caip2_prefix(address_format: AddressFormat) -> str | None:
    """The CAIP-2 namespace of the network of this format; None if the public API does not give one."""
    return _CAIP2_PREFIXES.get(address_format)


def _encoder(curve: Curve, address_format: AddressFormat) -> _Encoder:
    row = _ENCODERS[address_format]
    if curve not in row:
        raise InvalidRequest(
            f"invalid address format: {address_format} does not exist on {curve}; expected {' or '.join(row)}"
        )
    return row[curve]
