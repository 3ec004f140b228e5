"""The scheme of a signature over a raw payload, for each address that a key can have."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from keystead.api.enums import AddressFormat, Curve
from keystead.api.errors import InvalidRequest
from keystead.chains.addresses.formats import require_encodable
from keystead.chains.payload_schemes import scheme_of
from keystead.chains.signatures import SignatureScheme

K1, P256, ED = Curve.SECP256K1, Curve.P256, Curve.ED25519
USUAL = {K1: SignatureScheme.ECDSA, P256: SignatureScheme.ECDSA, ED: SignatureScheme.ED25519}
"""The scheme of each curve."""

OTHERS: Mapping[AddressFormat, SignatureScheme] = {
    AddressFormat.BITCOIN_MAINNET_P2TR: SignatureScheme.SCHNORR_KEY_PATH,
    AddressFormat.BITCOIN_TESTNET_P2TR: SignatureScheme.SCHNORR_KEY_PATH,
    AddressFormat.BITCOIN_SIGNET_P2TR: SignatureScheme.SCHNORR_KEY_PATH,
    AddressFormat.BITCOIN_REGTEST_P2TR: SignatureScheme.SCHNORR_KEY_PATH,
    AddressFormat.SPARK_MAINNET: SignatureScheme.SCHNORR,
    AddressFormat.SPARK_REGTEST: SignatureScheme.SCHNORR,
}
"""The formats with another scheme than the curve's usual one."""


def exists(curve: Curve, address_format: AddressFormat) -> bool:
    try:
        require_encodable(curve, address_format)
    except InvalidRequest:
        return False
    return True


EXISTING = [(curve, form) for curve in Curve for form in AddressFormat if exists(curve, form)]


@pytest.mark.parametrize(("curve", "address_format"), EXISTING)
def test_a_key_that_an_address_names(curve: Curve, address_format: AddressFormat) -> None:
    assert scheme_of(curve, address_format) is OTHERS.get(address_format, USUAL[curve])


@pytest.mark.parametrize("curve", Curve)
def test_a_key_that_no_address_names(curve: Curve) -> None:
    assert scheme_of(curve, None) is USUAL[curve]


@pytest.mark.parametrize("curve", [K1, P256])
def test_a_format_of_another_curve(curve: Curve) -> None:
    with pytest.raises(ValueError, match="ADDRESS_FORMAT_SOLANA exists on CURVE_ED25519 only"):
        scheme_of(curve, AddressFormat.SOLANA)
