"""Signatures of every scheme: what they are, that other software verifies them, and what is refused."""

from __future__ import annotations

import asyncio
import hashlib
from types import SimpleNamespace
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed, decode_dss_signature, encode_dss_signature
from ecdsa import NIST256p, SECP256k1, VerifyingKey

from keystead.api.enums import AddressFormat, Curve, PathFormat
from keystead.api.errors import Internal, InvalidRequest
from keystead.chains.curves import GROUP_ORDERS
from keystead.chains.signatures import Signature, SignatureScheme
from keystead.keys import derivation, signatures
from keystead.keys.public_keys import public_key
from keystead.keys.sealing import MasterKey, SealBroken
from keystead.keys.signatures import SignatureUnverified, sign
from keystead.pipeline.signer_values import AccountRequest, NewWallet, SigningKey, StandaloneKey, WalletKey
from keystead.primitives import secp256k1 as ours
from keystead.signer.local import LocalSigner
from tests.support import secp256k1

ECDSA, SCHNORR, KEY_PATH, ED25519 = SignatureScheme
SECRETS = [number.to_bytes(32) for number in (1, 2, 3, 0x4646464646, GROUP_ORDERS[Curve.P256] // 3)]
DIGESTS = [hashlib.sha256(bytes([number])).digest() for number in range(4)] + [bytes(32), b"\xff" * 32]


def signed(curve: Curve, secret: bytes, scheme: SignatureScheme, messages: list[bytes]) -> tuple[Signature, ...]:
    return sign(curve, secret, scheme, messages, public_key=public_key(curve, secret).compressed)


def test_secp256k1_is_the_one_of_rfc_6979() -> None:
    """The widely published example: key 1, SHA-256 of "Satoshi Nakamoto"."""
    digest = hashlib.sha256(b"Satoshi Nakamoto").digest()
    (made,) = signed(Curve.SECP256K1, (1).to_bytes(32), ECDSA, [digest])
    assert made.r.hex() == "934b1ea10a4b3c1757e2b0c017d0b6143ce3c9a7e6a4a49860d7a6ab210ee3d8"
    assert made.s.hex() == "2442ce9d2b916064108014783e923ec36b49743e2ffa1c4496f01a512aafd9e5"


def test_p256_is_the_one_of_rfc_6979_with_low_s() -> None:
    """RFC 6979, A.2.5, SHA-256 of "sample"; its s is in the upper half."""
    secret = bytes.fromhex("C9AFA9D845BA75166B5C215767B1D6934E50C3DB36E89B127B8A622B120F6721")
    (made,) = signed(Curve.P256, secret, ECDSA, [hashlib.sha256(b"sample").digest()])
    published = 0xF7CB1C942D657C41D436C7A1B6E29F65F3E900DBB9AFF4064DC4AB2F843ACDA8
    assert made.r.hex().upper() == "EFD48B2AACB6A8FD1140DD9CD45E81D69D2C877B56AAF991C34D0EA84EAF3716"
    assert int.from_bytes(made.s) == GROUP_ORDERS[Curve.P256] - published


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("digest", DIGESTS)
@pytest.mark.parametrize(("curve", "theirs"), [(Curve.P256, NIST256p), (Curve.SECP256K1, SECP256k1)])
def test_recovery_id_picks_one_of_the_two_candidates(
    curve: Curve, theirs: object, secret: bytes, digest: bytes
) -> None:
    (made,) = signed(curve, secret, ECDSA, [digest])
    candidates = VerifyingKey.from_public_key_recovery_with_digest(
        made.r + made.s, digest, theirs, hashfunc=hashlib.sha256
    )
    encoded = [candidate.to_string("compressed") for candidate in candidates]
    wanted = public_key(curve, secret).compressed
    assert wanted in encoded
    # The candidates come for the nonce point of even y first.
    assert encoded.index(wanted) == made.v
    assert int.from_bytes(made.s) <= GROUP_ORDERS[curve] // 2


@pytest.mark.parametrize("digest", DIGESTS)
def test_p256_verifies_and_a_changed_digest_does_not(digest: bytes) -> None:
    (made,) = signed(Curve.P256, SECRETS[3], ECDSA, [digest])
    key = ec.derive_private_key(int.from_bytes(SECRETS[3]), ec.SECP256R1()).public_key()
    der = encode_dss_signature(int.from_bytes(made.r), int.from_bytes(made.s))
    key.verify(der, digest, ec.ECDSA(Prehashed(hashes.SHA256())))
    with pytest.raises(Exception, match=r"^$"):
        key.verify(der, bytes([digest[0] ^ 1]) + digest[1:], ec.ECDSA(Prehashed(hashes.SHA256())))


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("digest", DIGESTS)
def test_schnorr_verifies_under_the_key_itself(secret: bytes, digest: bytes) -> None:
    (made,) = signed(Curve.SECP256K1, secret, SCHNORR, [digest])
    x_only = public_key(Curve.SECP256K1, secret).compressed[1:]
    assert secp256k1.verifies_schnorr(x_only, made.r + made.s, digest)
    assert made.v == 0


@pytest.mark.parametrize("secret", SECRETS)
def test_key_path_verifies_under_the_tweaked_key(secret: bytes) -> None:
    """BIP-341: the output key is the internal key plus the tweak, computed here from the public key alone."""
    (made,) = signed(Curve.SECP256K1, secret, KEY_PATH, [DIGESTS[0]])
    internal = public_key(Curve.SECP256K1, secret).compressed[1:]
    tag = hashlib.sha256(b"TapTweak").digest()
    output = secp256k1.output_key(internal, hashlib.sha256(tag + tag + internal).digest())
    assert secp256k1.verifies_schnorr(output, made.r + made.s, DIGESTS[0])
    assert not secp256k1.verifies_schnorr(internal, made.r + made.s, DIGESTS[0])


@pytest.mark.parametrize("message", [b"", b"x", b"y" * 10_000])
def test_ed25519_is_over_the_message(message: bytes) -> None:
    (made,) = signed(Curve.ED25519, SECRETS[0], ED25519, [message])
    key = ed25519.Ed25519PrivateKey.from_private_bytes(SECRETS[0])
    assert made.r + made.s == key.sign(message)
    assert made.v == 0


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("digest", DIGESTS)
def test_secp256k1_is_what_the_library_makes_by_itself(secret: bytes, digest: bytes) -> None:
    (made,) = signed(Curve.SECP256K1, secret, ECDSA, [digest])
    theirs = secp256k1.sign_recoverable(secret, digest)
    assert made.r + made.s + bytes([made.v]) == theirs


SCHEMES = [(Curve.SECP256K1, ECDSA), (Curve.SECP256K1, SCHNORR), (Curve.SECP256K1, KEY_PATH), (Curve.P256, ECDSA)]
SCHEMES += [(Curve.ED25519, ED25519)]


@pytest.mark.parametrize(("curve", "scheme"), SCHEMES)
def test_a_signature_by_another_key_than_the_one_on_record_stays_inside(
    curve: Curve, scheme: SignatureScheme
) -> None:
    other = public_key(curve, SECRETS[1]).compressed
    with pytest.raises(SignatureUnverified):
        sign(curve, SECRETS[0], scheme, DIGESTS[:1], public_key=other)


def changed(made: bytes, bit: int) -> bytes:
    """With one bit wrong, as a fault of the machine makes it."""
    return (int.from_bytes(made) ^ 1 << bit).to_bytes(len(made))


@pytest.mark.parametrize(("curve", "scheme"), SCHEMES)
@pytest.mark.parametrize("bit", [0, 100, 260, 500])
def test_a_faulty_signature_stays_inside(
    monkeypatch: pytest.MonkeyPatch, curve: Curve, scheme: SignatureScheme, bit: int
) -> None:
    right, right_schnorr = ours.sign_recoverable, ours.sign_schnorr
    right_key = ed25519.Ed25519PrivateKey.from_private_bytes

    def sign_recoverable(private_key: bytes, digest: bytes) -> tuple[bytes, int]:
        made, recovery_id = right(private_key, digest)
        return changed(made, bit), recovery_id

    def from_private_bytes(private_key: bytes) -> Any:
        return SimpleNamespace(sign=lambda message: changed(right_key(private_key).sign(message), bit))

    def decoded(der: bytes) -> tuple[int, int]:
        r, s = decode_dss_signature(der)
        return r ^ 1 << bit // 2, s

    monkeypatch.setattr(ours, "sign_recoverable", sign_recoverable)
    monkeypatch.setattr(ours, "sign_schnorr", lambda *arguments: changed(right_schnorr(*arguments), bit))
    monkeypatch.setattr(ed25519, "Ed25519PrivateKey", SimpleNamespace(from_private_bytes=from_private_bytes))
    monkeypatch.setattr(signatures, "decode_dss_signature", decoded)
    with pytest.raises(SignatureUnverified):
        sign(curve, SECRETS[0], scheme, DIGESTS[:2], public_key=PUBLIC_KEYS[curve])


PUBLIC_KEYS = {curve: public_key(curve, SECRETS[0]).compressed for curve in Curve}


def test_many_messages_in_their_order() -> None:
    together = signed(Curve.SECP256K1, SECRETS[0], ECDSA, DIGESTS)
    assert together == tuple(signed(Curve.SECP256K1, SECRETS[0], ECDSA, [digest])[0] for digest in DIGESTS)


FITTING = {
    Curve.SECP256K1: {ECDSA, SCHNORR, KEY_PATH},
    Curve.P256: {ECDSA},
    Curve.ED25519: {ED25519},
}


@pytest.mark.parametrize("curve", Curve)
@pytest.mark.parametrize("scheme", SignatureScheme)
def test_each_curve_has_its_schemes(curve: Curve, scheme: SignatureScheme) -> None:
    if scheme in FITTING[curve]:
        assert len(signed(curve, SECRETS[0], scheme, [bytes(32)])) == 1
    else:
        with pytest.raises(InvalidRequest, match=str(scheme)):
            signed(curve, SECRETS[0], scheme, [bytes(32)])


@pytest.mark.parametrize("scheme", [ECDSA, SCHNORR, KEY_PATH])
@pytest.mark.parametrize("length", [0, 31, 33, 64])
def test_a_digest_has_32_bytes(scheme: SignatureScheme, length: int) -> None:
    with pytest.raises(InvalidRequest, match=f"not {length}"):
        signed(Curve.SECP256K1, SECRETS[0], scheme, [bytes(32), bytes(length)])


# Through the signer.

ORGANIZATION, RECORD = "0190f3a2-0000-7000-8000-000000000001", "0190f3a2-0000-7000-8000-000000000002"
OTHER = "0190f3a2-0000-7000-8000-000000000003"
SIGNER = LocalSigner(MasterKey.generate())
DATA_KEY = asyncio.run(SIGNER.new_data_key(ORGANIZATION))
REQUEST = AccountRequest(Curve.SECP256K1, PathFormat.BIP32, "m/44'/60'/0'/0/7", AddressFormat.COMPRESSED)


def test_an_account_derived_later_signs_with_its_key() -> None:
    async def run() -> None:
        place: dict[str, Any] = {"organization_id": ORGANIZATION, "data_key": DATA_KEY}
        made = await SIGNER.create_wallet(**place, wallet_id=RECORD, mnemonic_length=12, accounts=[REQUEST])
        again = await SIGNER.derive_accounts(
            **place, wallet_id=RECORD, sealed_mnemonic=made.sealed_mnemonic, accounts=[REQUEST]
        )
        assert again == made.accounts
        key = _key_of(made)
        (signature,) = await SIGNER.sign(**place, key=key, scheme=ECDSA, messages=[DIGESTS[0]])
        compact = signature.r + signature.s + bytes([signature.v])
        assert secp256k1.recovered(compact, DIGESTS[0]).hex() == again[0].public_key
        with pytest.raises(SealBroken):
            await SIGNER.derive_accounts(
                **place, wallet_id=OTHER, sealed_mnemonic=made.sealed_mnemonic, accounts=[REQUEST]
            )

    asyncio.run(run())


def _key_of(made: NewWallet, account: int = 0) -> SigningKey:
    derived = made.accounts[account]
    request = derived.request
    public = bytes.fromhex(derived.public_key)
    return WalletKey(RECORD, made.sealed_mnemonic, request.curve, request.path, public)


PATHS = ["m/44'/60'/0'/0/0", "m/44'/60'/0'/0/1", "m/44'/60'/0'/1/0", "m/44'/60'/0/0/0", "m/0/1/2", "m/7"]


def test_each_account_of_each_wallet_signs_with_its_own_key_however_often() -> None:
    """Two wallets under one id, as no server has them: nothing that is kept of one serves the other."""

    async def run() -> None:
        place: dict[str, Any] = {"organization_id": ORGANIZATION, "data_key": DATA_KEY}
        accounts = [
            AccountRequest(curve, PathFormat.BIP32, path, AddressFormat.COMPRESSED)
            for curve in Curve
            for path in PATHS
        ]
        wallets = [
            await SIGNER.create_wallet(**place, wallet_id=RECORD, mnemonic_length=12, accounts=accounts)
            for _ in range(2)
        ]
        for _ in range(2):
            for made in wallets:
                for number, account in enumerate(accounts):
                    scheme = ED25519 if account.curve is Curve.ED25519 else ECDSA
                    # Verified inside, under the account's public key: derived with nothing kept.
                    await SIGNER.sign(**place, key=_key_of(made, number), scheme=scheme, messages=DIGESTS[:1])

    asyncio.run(run())


def test_a_parents_key_that_came_out_wrong_fails_one_signature_only(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        place: dict[str, Any] = {"organization_id": ORGANIZATION, "data_key": DATA_KEY}
        made = await SIGNER.create_wallet(**place, wallet_id=RECORD, mnemonic_length=12, accounts=[REQUEST])
        with monkeypatch.context() as fault:
            fault.setattr(derivation, "computed_parent", lambda *_: PUBLIC_KEYS[Curve.SECP256K1])
            with pytest.raises(Internal, match="does not verify"):
                await SIGNER.sign(**place, key=_key_of(made), scheme=ECDSA, messages=DIGESTS[:1])
        await SIGNER.sign(**place, key=_key_of(made), scheme=ECDSA, messages=DIGESTS[:1])

    asyncio.run(run())


@pytest.mark.parametrize("curve", Curve)
def test_a_private_key_signs_in_its_own_place_only(curve: Curve) -> None:
    async def run() -> None:
        place: dict[str, Any] = {"organization_id": ORGANIZATION, "data_key": DATA_KEY}
        made = await SIGNER.create_private_key(
            **place, private_key_id=RECORD, curve=curve, address_formats=[AddressFormat.COMPRESSED]
        )
        (scheme,) = FITTING[curve] - {SCHNORR, KEY_PATH}
        key = StandaloneKey(RECORD, made.sealed, curve, bytes.fromhex(made.public_key))
        (signature,) = await SIGNER.sign(**place, key=key, scheme=scheme, messages=[DIGESTS[0]])
        assert len(signature.r) == len(signature.s) == 32
        if curve is Curve.ED25519:
            assert made.addresses == (made.public_key,)
            theirs = ed25519.Ed25519PublicKey.from_public_bytes(bytes.fromhex(made.public_key))
            theirs.verify(signature.r + signature.s, DIGESTS[0])
        else:
            assert len(made.public_key) == 130
            assert made.addresses[0][2:] == made.public_key[2:66]
        with pytest.raises(SealBroken):
            moved = StandaloneKey(OTHER, made.sealed, curve, key.public_key)
            await SIGNER.sign(**place, key=moved, scheme=scheme, messages=[DIGESTS[0]])
        with pytest.raises(SealBroken):
            as_wallet = WalletKey(RECORD, made.sealed, curve, REQUEST.path, key.public_key)
            await SIGNER.sign(**place, key=as_wallet, scheme=scheme, messages=[DIGESTS[0]])

    asyncio.run(run())


def test_a_private_key_of_another_curve_has_no_such_address() -> None:
    with pytest.raises(InvalidRequest, match="invalid address format"):
        asyncio.run(
            SIGNER.create_private_key(
                organization_id=ORGANIZATION,
                data_key=DATA_KEY,
                private_key_id=RECORD,
                curve=Curve.P256,
                address_formats=[AddressFormat.ETHEREUM],
            )
        )
