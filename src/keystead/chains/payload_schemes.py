"""The scheme in which a key signs raw payloads. Pure.

Not here: the payloads (`payloads`), computing a signature (`keys`). Transactions have the schemes of their chains.
"""

from __future__ import annotations

from typing import assert_never

from keystead.api.enums import AddressFormat, Curve
from keystead.chains.signatures import SignatureScheme


def scheme_of(curve: Curve, address_format: AddressFormat | None) -> SignatureScheme:
    """The scheme of a key on this curve, by the format of the address that named the key; None if none did."""
    match curve:
        case Curve.ED25519:
            return SignatureScheme.ED25519
        case Curve.SECP256K1 | Curve.P256:
            return SignatureScheme.ECDSA if address_format is None else _scheme_of_format(address_format)
        case _:
            assert_never(curve)


def _scheme_of_format(address_format: AddressFormat) -> SignatureScheme:
    """The scheme of a key on secp256k1 or P-256. Every format is named, so that mypy asks for that of a new one.

    Raises ValueError for a format of Ed25519.
    """
    match address_format:
        case (
            AddressFormat.BITCOIN_MAINNET_P2TR
            | AddressFormat.BITCOIN_TESTNET_P2TR
            | AddressFormat.BITCOIN_SIGNET_P2TR
            | AddressFormat.BITCOIN_REGTEST_P2TR
        ):
            return SignatureScheme.SCHNORR_KEY_PATH
        case AddressFormat.SPARK_MAINNET | AddressFormat.SPARK_REGTEST:
            return SignatureScheme.SCHNORR
        case (
            AddressFormat.UNCOMPRESSED
            | AddressFormat.COMPRESSED
            | AddressFormat.ETHEREUM
            | AddressFormat.COSMOS
            | AddressFormat.SEI
            | AddressFormat.TRON
            | AddressFormat.XRP
            | AddressFormat.DOGE_MAINNET
            | AddressFormat.DOGE_TESTNET
            | AddressFormat.BITCOIN_MAINNET_P2PKH
            | AddressFormat.BITCOIN_MAINNET_P2SH
            | AddressFormat.BITCOIN_MAINNET_P2WPKH
            | AddressFormat.BITCOIN_MAINNET_P2WSH
            | AddressFormat.BITCOIN_TESTNET_P2PKH
            | AddressFormat.BITCOIN_TESTNET_P2SH
            | AddressFormat.BITCOIN_TESTNET_P2WPKH
            | AddressFormat.BITCOIN_TESTNET_P2WSH
            | AddressFormat.BITCOIN_SIGNET_P2PKH
            | AddressFormat.BITCOIN_SIGNET_P2SH
            | AddressFormat.BITCOIN_SIGNET_P2WPKH
            | AddressFormat.BITCOIN_SIGNET_P2WSH
            | AddressFormat.BITCOIN_REGTEST_P2PKH
            | AddressFormat.BITCOIN_REGTEST_P2SH
            | AddressFormat.BITCOIN_REGTEST_P2WPKH
            | AddressFormat.BITCOIN_REGTEST_P2WSH
        ):
            return SignatureScheme.ECDSA
        case (
            AddressFormat.SOLANA
            | AddressFormat.SUI
            | AddressFormat.APTOS
            | AddressFormat.XLM
            | AddressFormat.TON_V3R2
            | AddressFormat.TON_V4R2
            | AddressFormat.TON_V5R1
        ):
            raise ValueError(f"{address_format} exists on {Curve.ED25519} only")
        case _:
            assert_never(address_format)
