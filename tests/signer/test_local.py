"""The signer: wallets made and restored, what is refused before a key exists, proofs anyone can verify."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from keystead.api.enums import AddressFormat, Curve, PathFormat
from keystead.api.errors import Internal, InvalidRequest
from keystead.keys.material import WalletSecret
from keystead.keys.mnemonic import entropy_from_mnemonic, seed_from_mnemonic
from keystead.keys.sealing import MasterKey, Purpose, SealBroken, SealContext
from keystead.organizations.kinds.data_key import Sealed
from keystead.pipeline.signer_port import Signer
from keystead.pipeline.signer_values import AccountRequest, NewWallet
from keystead.signer.installation_keys import PROOF_KEY
from keystead.signer.local import LocalSigner

VECTORS: dict[str, Any] = json.loads((Path(__file__).parents[1] / "vectors" / "addresses.json").read_bytes())

ORGANIZATION = "0190f3a2-0000-7000-8000-000000000001"
WALLET = "0190f3a2-0000-7000-8000-000000000002"
JUNK = "test test test test test test test test test test test junk"
MASTER = MasterKey.generate()
SIGNER = LocalSigner(MASTER)
DATA_KEY = asyncio.run(SIGNER.new_data_key(ORGANIZATION))


def account(
    path: str = "m/44'/60'/0'/0/0",
    curve: Curve = Curve.SECP256K1,
    address_format: AddressFormat = AddressFormat.ETHEREUM,
) -> AccountRequest:
    return AccountRequest(curve=curve, path_format=PathFormat.BIP32, path=path, address_format=address_format)


SOLANA = account("m/44'/501'/0'/0'", Curve.ED25519, AddressFormat.SOLANA)


def create(
    *accounts: AccountRequest, signer: LocalSigner = SIGNER, mnemonic_length: int = 12, data_key: Sealed = DATA_KEY
) -> NewWallet:
    return asyncio.run(
        signer.create_wallet(
            organization_id=ORGANIZATION,
            data_key=data_key,
            wallet_id=WALLET,
            mnemonic_length=mnemonic_length,
            accounts=accounts,
        )
    )


def restore(mnemonic: str, *accounts: AccountRequest, passphrase: str = "") -> NewWallet:
    return asyncio.run(
        SIGNER.restore_wallet(
            organization_id=ORGANIZATION,
            data_key=DATA_KEY,
            wallet_id=WALLET,
            mnemonic=mnemonic,
            accounts=accounts,
            passphrase=passphrase,
        )
    )


def opened(sealed: Sealed, wallet_id: str = WALLET) -> WalletSecret:
    context = SealContext(Purpose.WALLET, organization_id=ORGANIZATION, record_id=wallet_id)
    plaintext = MASTER.open_data_key(DATA_KEY, ORGANIZATION).open(sealed, context)
    return msgspec.json.decode(plaintext, type=WalletSecret)


def test_is_a_signer() -> None:
    signer: Signer = SIGNER
    assert signer is SIGNER


@pytest.mark.parametrize("mnemonic_length", [12, 15, 18, 21, 24])
def test_create_wallet(mnemonic_length: int) -> None:
    wallet = create(account(), SOLANA, mnemonic_length=mnemonic_length)
    secret = opened(wallet.sealed_mnemonic)
    assert len(secret.mnemonic.split()) == mnemonic_length
    assert secret.seed == seed_from_mnemonic(secret.mnemonic)
    assert secret.passphrase == ""
    assert restore(secret.mnemonic, account(), SOLANA).accounts == wallet.accounts


def test_create_wallet_without_accounts() -> None:
    assert create().accounts == ()


def test_no_two_wallets_are_alike() -> None:
    assert len({create(account()).accounts[0].address for _ in range(5)}) == 5


def test_accounts_come_in_the_order_they_were_asked_for() -> None:
    asked = [account(f"m/44'/60'/{number}'/0/0") for number in (3, 1, 2)]
    answered = create(*asked, SOLANA, account()).accounts
    assert [derived.request for derived in answered] == [*asked, SOLANA, account()]
    assert len({derived.address for derived in answered}) == 5


def test_the_wallet_opens_nowhere_else() -> None:
    with pytest.raises(SealBroken):
        opened(create().sealed_mnemonic, wallet_id=ORGANIZATION)


ANSWERED = [v for v in VECTORS["walletAccounts"] if "address" in v]


def _request(vector: dict[str, Any]) -> AccountRequest:
    path = vector.get("requestedPath", vector["path"])
    return account(path, Curve(vector["curve"]), AddressFormat(vector["addressFormat"]))


def test_every_vector_at_once() -> None:
    requests = [_request(vector) for vector in ANSWERED]
    for derived, request, vector in zip(
        restore(VECTORS["mnemonic"], *requests).accounts, requests, ANSWERED, strict=True
    ):
        assert derived.request == request
        assert derived.address == vector["address"]
        assert derived.public_key == vector.get("publicKey", vector.get("publicKeyCompressed"))


def test_development_mnemonic() -> None:
    first = restore(JUNK, account()).accounts[0]
    assert first.address == "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"


@pytest.mark.parametrize("vector", VECTORS["passphraseSeeds"], ids=lambda vector: vector["passphrase"])
def test_restore_with_passphrase(vector: dict[str, Any]) -> None:
    wallet = restore(vector["mnemonic"], account(), SOLANA, passphrase=vector["passphrase"])
    assert [derived.address for derived in wallet.accounts] == [vector["ethereum"], vector["solana"]]
    assert opened(wallet.sealed_mnemonic).passphrase == vector["passphrase"]


def test_restored_mnemonic_is_kept_in_its_plain_spelling() -> None:
    assert opened(restore(f"  {JUNK.replace(' ', '  ')}\n").sealed_mnemonic).mnemonic == JUNK


@pytest.mark.parametrize("vector", VECTORS["invalidMnemonics"], ids=lambda vector: vector["why"])
def test_restore_refuses(vector: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest, match="invalid mnemonic"):
        restore(vector["mnemonic"], account())


UNDERIVABLE: dict[str, tuple[AccountRequest, type[Exception], str]] = {
    "no path": (account("m"), InvalidRequest, "^invalid path"),
    "segment too large": (account("m/2147483648"), InvalidRequest, "^invalid path"),
    "format of another curve": (
        account(address_format=AddressFormat.SOLANA),
        InvalidRequest,
        "^invalid address format",
    ),
}


@pytest.mark.parametrize(("request_", "refusal", "message"), UNDERIVABLE.values(), ids=UNDERIVABLE.keys())
def test_refused_before_any_entropy_is_drawn(
    request_: AccountRequest, refusal: type[Exception], message: str
) -> None:
    signer = LocalSigner(MASTER, entropy=_undrawable)
    with pytest.raises(refusal, match=message):
        create(account(), request_, signer=signer)
    with pytest.raises(InvalidRequest, match="invalid mnemonic length: 13"):
        create(account(), signer=signer, mnemonic_length=13)


def _undrawable(size: int) -> bytes:
    raise AssertionError("drawn")


def test_another_organizations_data_key() -> None:
    foreign = asyncio.run(SIGNER.new_data_key("another"))
    with pytest.raises(SealBroken, match="data-key"):
        create(account(), data_key=foreign)


def test_seeded_entropy_repeats_addresses_and_nothing_else() -> None:
    one, other = (create(account(), signer=LocalSigner(MASTER, entropy=_counting())) for _ in range(2))
    assert one.accounts == other.accounts
    assert one.sealed_mnemonic.ciphertext[:12] != other.sealed_mnemonic.ciphertext[:12]
    assert entropy_from_mnemonic(opened(one.sealed_mnemonic).mnemonic)[0] == bytes([1] * 16)
    keys = [asyncio.run(LocalSigner(MASTER, entropy=_undrawable).new_data_key(ORGANIZATION)) for _ in range(2)]
    assert len({MASTER.open_data_key(key, ORGANIZATION).key_id for key in keys}) == 2


def _counting() -> Callable[[int], bytes]:
    numbers = itertools.count(1)
    return lambda size: bytes([next(numbers)] * size)


def test_check_value() -> None:
    check = SIGNER.check_value()
    assert LocalSigner(MASTER).opens(check)
    assert not LocalSigner(MasterKey.generate()).opens(check)
    assert not SIGNER.opens(msgspec.structs.replace(check, ciphertext=check.ciphertext[:-1]))
    assert not SIGNER.opens(SIGNER.new_installation_key(PROOF_KEY))
    assert check.key_id == MASTER.key_id


def _prover(entropy: Callable[[int], bytes] | None = None) -> LocalSigner:
    first = LocalSigner(MASTER) if entropy is None else LocalSigner(MASTER, entropy=entropy)
    return LocalSigner(MASTER, {PROOF_KEY.name: first.new_installation_key(PROOF_KEY)})


def test_proofs_verify() -> None:
    payloads = ['{"type":"A"}', '{"name":"Zoë"}', ""]
    signer = _prover()
    proofs = asyncio.run(signer.sign_app_proofs(payloads))
    assert [proof.proof_payload for proof in proofs] == payloads
    assert asyncio.run(signer.sign_app_proofs([])) == ()
    for proof in proofs:
        public_key, signature = bytes.fromhex(proof.public_key), bytes.fromhex(proof.signature)
        assert proof.scheme == "SIGNATURE_SCHEME_EPHEMERAL_KEY_P256"
        assert (len(public_key), len(signature)) == (130, 64)
        assert proof.public_key == proofs[0].public_key
        encryption, signing = (
            ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
            for point in (public_key[:65], public_key[65:])
        )
        der = encode_dss_signature(int.from_bytes(signature[:32]), int.from_bytes(signature[32:]))
        signing.verify(der, proof.proof_payload.encode(), ec.ECDSA(hashes.SHA256()))
        for key, payload in ((encryption, proof.proof_payload), (signing, proof.proof_payload + " ")):
            with pytest.raises(InvalidSignature):
                key.verify(der, payload.encode(), ec.ECDSA(hashes.SHA256()))


def test_proof_scalars_out_of_range_are_drawn_again() -> None:
    draws = iter([b"\xff" * 32, bytes(32), b"\x01" * 32, b"\xff" * 32, b"\x02" * 32])
    drawn = _prover(lambda size: next(draws))
    plain = _prover(_counting())
    keys = {asyncio.run(signer.sign_app_proofs(["{}"]))[0].public_key for signer in (drawn, plain)}
    assert len(keys) == 1


def test_without_a_proof_key() -> None:
    with pytest.raises(Internal):
        asyncio.run(SIGNER.sign_app_proofs(["{}"]))


def test_proof_key_of_another_master_key() -> None:
    foreign = LocalSigner(MasterKey.generate()).new_installation_key(PROOF_KEY)
    with pytest.raises(SealBroken, match="proof-key"):
        LocalSigner(MASTER, {PROOF_KEY.name: foreign})


def test_secrets_do_not_show() -> None:
    signer = _prover()
    wallet = restore(JUNK, account())
    secret = opened(wallet.sealed_mnemonic)
    shown = f"{signer!r} {signer.__dict__} {wallet!r} {secret!r} {secret}"
    for hidden in ("junk", secret.seed.hex(), MASTER.secret_text(), repr(secret.seed)):
        assert hidden not in shown
