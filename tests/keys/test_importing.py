"""The signer's half of imports and exports: what opens where, and what never shows."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec
import pytest
from msgspec.structs import replace

from keystead.api.enums import AddressFormat, Curve, MnemonicLanguage
from keystead.api.errors import Internal, InvalidRequest
from keystead.chains.bundle_texts import read_message
from keystead.keys.importing import read_phrase, read_private_key
from keystead.keys.material import Phrase
from keystead.keys.sealing import MasterKey, Purpose, SealBroken, SealContext
from keystead.organizations.kinds.data_key import Sealed
from keystead.organizations.kinds.import_targets import ImportKind, ImportTarget
from keystead.pipeline.signer_values import (
    ClientMessage,
    ImportedPrivateKey,
    ImportedWallet,
    NewImportTarget,
    StandaloneKey,
)
from keystead.signer.installation_keys import BUNDLE_KEY, PROOF_KEY
from keystead.signer.local import LocalSigner
from tests.support import bundles

ORGANIZATION = "0190f3a2-0000-7000-8000-000000000001"
WALLET = "0190f3a2-0000-7000-8000-000000000002"
USER = "0190f3a2-0000-7000-8000-000000000003"
TARGET = "0190f3a2-0000-7000-8000-000000000004"
JUNK = "test test test test test test test test test test test junk"
MASTER = MasterKey.generate()
SIGNER = LocalSigner(MASTER, {BUNDLE_KEY.name: LocalSigner(MASTER).new_installation_key(BUNDLE_KEY)})
DATA_KEY = asyncio.run(SIGNER.new_data_key(ORGANIZATION))
TOLD = asyncio.run(SIGNER.bundle_signer())
CLIENT = bundles.fresh()


def begun(signer: LocalSigner = SIGNER, kind: ImportKind = ImportKind.WALLET) -> NewImportTarget:
    return asyncio.run(
        signer.new_import_target(
            organization_id=ORGANIZATION, data_key=DATA_KEY, target_id=TARGET, kind=kind, user_id=USER
        )
    )


def target(made: NewImportTarget, kind: ImportKind = ImportKind.WALLET) -> ImportTarget:
    return ImportTarget(id=TARGET, kind=kind, user_id=USER, sealed=made.sealed, created_at_ms=0)


def message(made: NewImportTarget, plaintext: bytes) -> ClientMessage:
    text = bundles.for_import(made.import_bundle, TOLD.signing_public_key, ORGANIZATION, USER, plaintext)
    return ClientMessage(*read_message(text, "field"))


def imported(targets: Sequence[ImportTarget], sent: ClientMessage, data_key: Sealed = DATA_KEY) -> ImportedWallet:
    return asyncio.run(
        SIGNER.import_wallet(
            organization_id=ORGANIZATION,
            data_key=data_key,
            targets=targets,
            message=sent,
            wallet_id=WALLET,
            accounts=[],
        )
    )


def test_there_and_back() -> None:
    made = begun()
    wallet = imported([target(made)], message(made, JUNK.encode()))
    assert wallet.target_id == TARGET
    bundle = asyncio.run(
        SIGNER.export_wallet(
            organization_id=ORGANIZATION,
            data_key=DATA_KEY,
            wallet_id=WALLET,
            sealed_mnemonic=wallet.wallet.sealed_mnemonic,
            language=MnemonicLanguage.ENGLISH,
            target=bundles.point(CLIENT),
        )
    )
    assert bundles.exported(bundle, TOLD.signing_public_key, ORGANIZATION, CLIENT).decode() == JUNK


def test_the_first_target_that_opens_counts() -> None:
    right, wrong = begun(), begun()
    sent = message(right, JUNK.encode())
    targets = [replace(target(wrong), sealed=wrong.sealed), target(right), target(right)]
    assert imported(targets, sent).target_id == TARGET
    for none in ([], [target(wrong)]):
        with pytest.raises(InvalidRequest, match="failed to decrypt bundle"):
            imported(none, sent)


ELSEWHERE = {
    "another user": {"user_id": WALLET},
    "another kind": {"kind": ImportKind.PRIVATE_KEY},
    "another target": {"id": WALLET},
}


@pytest.mark.parametrize("moved", ELSEWHERE.values(), ids=ELSEWHERE.keys())
def test_a_target_opens_nowhere_else(moved: dict[str, object]) -> None:
    """An attacker who can write the database gives a user another user's target."""
    made = begun()
    with pytest.raises(SealBroken, match="import-target"):
        imported([replace(target(made), **moved)], message(made, JUNK.encode()))


def test_a_sealed_wallet_is_no_target() -> None:
    made = begun()
    sent = message(made, JUNK.encode())
    wallet = imported([target(made)], sent).wallet
    with pytest.raises(SealBroken):
        imported([replace(target(made), sealed=wallet.sealed_mnemonic)], sent)
    with pytest.raises(SealBroken, match="data-key"):
        imported([target(made)], sent, asyncio.run(SIGNER.new_data_key("another")))


@pytest.mark.parametrize("curve", Curve)
def test_private_key(curve: Curve) -> None:
    made, secret = begun(kind=ImportKind.PRIVATE_KEY), b"\x01" * 32

    async def run() -> tuple[ImportedPrivateKey, str]:
        kept = await SIGNER.import_private_key(
            organization_id=ORGANIZATION,
            data_key=DATA_KEY,
            targets=[target(made, ImportKind.PRIVATE_KEY)],
            message=message(made, secret),
            private_key_id=WALLET,
            curve=curve,
            address_formats=[AddressFormat.COMPRESSED],
        )
        key = StandaloneKey(WALLET, kept.private_key.sealed, curve, bytes.fromhex(kept.private_key.public_key))
        return kept, await SIGNER.export_key(
            organization_id=ORGANIZATION, data_key=DATA_KEY, key=key, target=bundles.point(CLIENT)
        )

    kept, bundle = asyncio.run(run())
    assert kept.target_id == TARGET
    assert bundles.exported(bundle, TOLD.signing_public_key, ORGANIZATION, CLIENT) == secret


PHRASES = {
    "plain": (JUNK, Phrase(bytes.fromhex("df9bf37e6fcdf9bf37e6fcdf9bf37e3c"))),
    "with a passphrase": (
        f"{JUNK}\n--PASS--\n two\nlines ",
        Phrase(bytes.fromhex("df9bf37e6fcdf9bf37e6fcdf9bf37e3c"), passphrase=" two\nlines "),
    ),
    "with an empty passphrase": (
        f"{JUNK}\n--PASS--\n",
        Phrase(bytes.fromhex("df9bf37e6fcdf9bf37e6fcdf9bf37e3c")),
    ),
    "the mark twice": (
        f"{JUNK}\n--PASS--\na\n--PASS--\nb",
        Phrase(bytes.fromhex("df9bf37e6fcdf9bf37e6fcdf9bf37e3c"), passphrase="a\n--PASS--\nb"),
    ),
}


@pytest.mark.parametrize(("text", "phrase"), PHRASES.values(), ids=PHRASES.keys())
def test_read_phrase(text: str, phrase: Phrase) -> None:
    assert read_phrase(text.encode()) == phrase


@pytest.mark.parametrize("plaintext", [b"", b"\0" * 32, b"\1" * 31, b"\xff" * 32])
def test_no_private_key(plaintext: bytes) -> None:
    with pytest.raises(InvalidRequest, match="invalid private key") as refusal:
        read_private_key(plaintext, Curve.SECP256K1)
    assert refusal.value.__cause__ is None


def test_bundle_key_is_the_installations() -> None:
    assert TOLD.composite_public_key.endswith(TOLD.signing_public_key)
    foreign = LocalSigner(MasterKey.generate()).new_installation_key(BUNDLE_KEY)
    with pytest.raises(SealBroken, match="bundle-key"):
        LocalSigner(MASTER, {BUNDLE_KEY.name: foreign})
    with pytest.raises(SealBroken, match="bundle-key"):
        LocalSigner(MASTER, {BUNDLE_KEY.name: LocalSigner(MASTER).new_installation_key(PROOF_KEY)})


def test_without_a_bundle_key() -> None:
    bare = LocalSigner(MASTER)
    with pytest.raises(Internal):
        asyncio.run(bare.bundle_signer())
    with pytest.raises(Internal):
        begun(bare)


def test_secrets_do_not_show() -> None:
    made = begun()
    context = SealContext(Purpose.IMPORT_TARGET, organization_id=ORGANIZATION, record_id=f"wallet {USER} {TARGET}")
    secret = MASTER.open_data_key(DATA_KEY, ORGANIZATION).open(made.sealed, context)
    phrase = read_phrase(f"{JUNK}\n--PASS--\nhunter2".encode())
    wallet = imported([target(made)], message(made, JUNK.encode()))
    shown = f"{SIGNER!r} {SIGNER.__dict__} {made!r} {phrase!r} {wallet!r} {msgspec.json.encode(made)!r}"
    for hidden in ("junk", "hunter2", secret.hex(), repr(secret)[2:-1], phrase.entropy.hex()):
        assert hidden not in shown
