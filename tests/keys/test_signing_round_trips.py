"""From a payload to a signature and back to its key: any key, any payload, every curve, scheme and hash.

The hashes and the way back are other software's. Not here: what each signature is made of (`test_signatures`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed, encode_dss_signature
from ecdsa import NIST256p, VerifyingKey
from eth_hash.auto import keccak
from hypothesis import given, settings
from hypothesis import strategies as st
from nacl.signing import SigningKey

from keystead.api.enums import AddressFormat, Curve, HashFunction, PayloadEncoding
from keystead.chains.curves import GROUP_ORDERS
from keystead.chains.payload_schemes import scheme_of
from keystead.chains.payloads import check_combination, read_payload
from keystead.chains.signatures import Signature
from keystead.keys.public_keys import public_key
from keystead.keys.signatures import sign
from tests.support import secp256k1

K1, P256, ED25519 = Curve.SECP256K1, Curve.P256, Curve.ED25519
HEX, TEXT = PayloadEncoding.HEXADECIMAL, PayloadEncoding.TEXT_UTF8
DIGESTS: dict[HashFunction, Callable[[bytes], bytes]] = {
    HashFunction.NO_OP: lambda data: data,
    HashFunction.SHA256: lambda data: hashlib.sha256(data).digest(),
    HashFunction.KECCAK256: keccak,
}

secrets = st.integers(1, min(GROUP_ORDERS[K1], GROUP_ORDERS[P256]) - 1).map(lambda number: number.to_bytes(32))


def recovered(curve: Curve, made: Signature, digest: bytes) -> bytes:
    """The compressed public key that the signature itself tells, by its v."""
    if curve is K1:
        signature = made.r + made.s + bytes([made.v])
        return secp256k1.recovered(signature, digest)
    keys = VerifyingKey.from_public_key_recovery_with_digest(
        made.r + made.s, digest, NIST256p, hashfunc=hashlib.sha256
    )
    encoded: bytes = keys[made.v].to_string("compressed")
    return encoded


def signature_of(
    secret: bytes,
    curve: Curve,
    form: AddressFormat | None,
    payload: str,
    encoding: PayloadEncoding,
    hashed: HashFunction,
) -> Signature:
    check_combination(curve, encoding, hashed)
    read = read_payload(payload, encoding, hashed, "parameters.payload")
    expected = public_key(curve, secret).compressed
    (made,) = sign(curve, secret, scheme_of(curve, form), [read.message], public_key=expected)
    return made


def sent(data: bytes, encoding: PayloadEncoding) -> str:
    return data.hex() if encoding is HEX else data.decode()


def payloads(encoding: PayloadEncoding, hashed: HashFunction) -> st.SearchStrategy[bytes]:
    if hashed is HashFunction.NO_OP:  # a digest, also as text
        ascii_text = st.text(st.characters(max_codepoint=127), min_size=32, max_size=32).map(str.encode)
        return ascii_text if encoding is TEXT else st.binary(min_size=32, max_size=32)
    return (
        st.text(min_size=1, max_size=100).map(str.encode)
        if encoding is TEXT
        else st.binary(min_size=1, max_size=100)
    )


@pytest.mark.parametrize("hashed", DIGESTS, ids=str)
@pytest.mark.parametrize("encoding", [HEX, TEXT], ids=str)
@pytest.mark.parametrize(
    ("curve", "form"),
    [(K1, None), (K1, AddressFormat.ETHEREUM), (K1, AddressFormat.BITCOIN_MAINNET_P2WPKH), (P256, None)],
    ids=str,
)
@settings(max_examples=10)
@given(st.data(), secrets)
def test_ecdsa(
    curve: Curve,
    form: AddressFormat | None,
    encoding: PayloadEncoding,
    hashed: HashFunction,
    data: st.DataObject,
    secret: bytes,
) -> None:
    payload = data.draw(payloads(encoding, hashed))
    made = signature_of(secret, curve, form, sent(payload, encoding), encoding, hashed)
    digest, key = DIGESTS[hashed](payload), public_key(curve, secret).compressed
    assert recovered(curve, made, digest) == key
    assert 0 < int.from_bytes(made.s) <= GROUP_ORDERS[curve] // 2
    named = ec.SECP256K1() if curve is K1 else ec.SECP256R1()
    theirs = ec.EllipticCurvePublicKey.from_encoded_point(named, key)
    der = encode_dss_signature(int.from_bytes(made.r), int.from_bytes(made.s))
    theirs.verify(der, digest, ec.ECDSA(Prehashed(hashes.SHA256())))


@pytest.mark.parametrize("hashed", DIGESTS, ids=str)
@pytest.mark.parametrize("form", [AddressFormat.BITCOIN_MAINNET_P2TR, AddressFormat.SPARK_MAINNET], ids=str)
@settings(max_examples=25)
@given(st.data(), secrets)
def test_schnorr(form: AddressFormat, hashed: HashFunction, data: st.DataObject, secret: bytes) -> None:
    payload = data.draw(payloads(HEX, hashed))
    made = signature_of(secret, K1, form, payload.hex(), HEX, hashed)
    key = internal = public_key(K1, secret).compressed[1:]
    if form is AddressFormat.BITCOIN_MAINNET_P2TR:
        tag = hashlib.sha256(b"TapTweak").digest()
        key = secp256k1.output_key(internal, hashlib.sha256(tag + tag + internal).digest())
    digest = DIGESTS[hashed](payload)
    assert secp256k1.verifies_schnorr(key, made.r + made.s, digest)
    assert not secp256k1.verifies_schnorr(key, made.r + made.s, bytes([digest[0] ^ 1]) + digest[1:])
    assert made.v == 0


@pytest.mark.parametrize("encoding", [HEX, TEXT], ids=str)
@settings(max_examples=25)
@given(st.data(), st.binary(min_size=32, max_size=32))
def test_ed25519(encoding: PayloadEncoding, data: st.DataObject, secret: bytes) -> None:
    payload = data.draw(payloads(encoding, HashFunction.NOT_APPLICABLE))
    made = signature_of(secret, ED25519, None, sent(payload, encoding), encoding, HashFunction.NOT_APPLICABLE)
    theirs = SigningKey(secret)
    assert bytes(theirs.verify_key) == public_key(ED25519, secret).compressed
    theirs.verify_key.verify(payload, made.r + made.s)
    assert made.v == 0
