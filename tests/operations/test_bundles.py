"""Imports and exports over HTTP: there and back, what is refused and leaves everything as it was, used once."""

from __future__ import annotations

import json
import secrets
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from keystead.api.enums import Curve, MnemonicLanguage
from keystead.chains.curves import GROUP_ORDERS
from keystead.keys.mnemonic import mnemonic_from_entropy
from keystead.keys.public_keys import public_key
from tests.support import bundles
from tests.support.callers import Caller, answered, refusal, unique
from tests.support.organization_fixtures import ETHEREUM_ACCOUNT, SOLANA_ACCOUNT, policy_params
from tests.support.servers import Server

pytestmark = pytest.mark.one_engine

VECTORS: dict[str, Any] = json.loads((Path(__file__).parents[1] / "vectors" / "addresses.json").read_bytes())
PHRASE = VECTORS["mnemonic"]
FLAGS = ("imported", "exported")
TARGET = bundles.fresh()
TARGET_TEXT = bundles.point(TARGET).hex()


@pytest.fixture(scope="module")
def signer(server: Server) -> str:
    """The key that clients are told to trust: anybody may ask for it."""
    told = server.http.get("/bundle-signer").json()
    assert told["compositePublicKey"].endswith(told["signingPublicKey"])
    assert len(bytes.fromhex(told["compositePublicKey"])) == 130
    return str(told["signingPublicKey"])


def begun(caller: Caller, kind: str = "wallet") -> str:
    return str(caller.result(f"init_import_{kind}", {"userId": caller.user_id})["importBundle"])


def sealed(caller: Caller, signer: str, plaintext: bytes, kind: str = "wallet") -> str:
    """What a client sends back, having checked everything."""
    return bundles.for_import(begun(caller, kind), signer, caller.organization_id, caller.user_id, plaintext)


def wallet_params(caller: Caller, bundle: str, *accounts: dict[str, str]) -> dict[str, Any]:
    return {
        "userId": caller.user_id,
        "walletName": unique("imported"),
        "encryptedBundle": bundle,
        "accounts": list(accounts),
    }


def key_params(caller: Caller, bundle: str, curve: Curve, *formats: str) -> dict[str, Any]:
    return {
        "userId": caller.user_id,
        "privateKeyName": unique("imported"),
        "encryptedBundle": bundle,
        "curve": curve,
        "addressFormats": list(formats),
    }


def imported_wallet(caller: Caller, signer: str, text: str, *accounts: dict[str, str]) -> Any:
    return caller.result("import_wallet", wallet_params(caller, sealed(caller, signer, text.encode()), *accounts))


def exported(
    caller: Caller, signer: str, name: str, to: ec.EllipticCurvePrivateKey = TARGET, **asked: Any
) -> bytes:
    result = caller.result(name, {"targetPublicKey": bundles.point(to).hex(), **asked})
    return bundles.exported(result["exportBundle"], signer, caller.organization_id, to)


def wallet_of(caller: Caller, wallet_id: str) -> Any:
    return caller.asked("get_wallet", walletId=wallet_id)["wallet"]


def open_targets(server: Server, caller: Caller) -> int:
    return len(server.installation.database.organization(caller.organization_id).import_targets)


# There and back.


@pytest.mark.parametrize("vector", VECTORS["passphraseSeeds"], ids=lambda vector: vector["passphrase"])
def test_wallet_with_a_passphrase(vector: dict[str, Any], caller: Caller, signer: str) -> None:
    text = f"{vector['mnemonic']}\n--PASS--\n{vector['passphrase']}"
    made = imported_wallet(caller, signer, text, ETHEREUM_ACCOUNT, SOLANA_ACCOUNT)
    assert made["addresses"] == [vector["ethereum"], vector["solana"]]
    assert wallet_of(caller, made["walletId"])["imported"] is True
    taken = exported(caller, signer, "export_wallet", walletId=made["walletId"])
    assert taken.decode() == f"{vector['mnemonic']}\n{vector['passphrase']}"


@pytest.mark.parametrize("spelled", [f"  {PHRASE}\n", PHRASE.replace(" ", "\n"), PHRASE.replace(" ", "\u3000")])
def test_white_space_of_a_mnemonic(spelled: str, caller: Caller, signer: str) -> None:
    made = imported_wallet(caller, signer, spelled, ETHEREUM_ACCOUNT)
    assert made["addresses"] == ["0x9858EfFD232B4033E47d90003D41EC34EcaEda94"]
    assert exported(caller, signer, "export_wallet", walletId=made["walletId"]).decode() == PHRASE


@pytest.mark.parametrize("vector", VECTORS["languages"], ids=lambda vector: vector["language"])
def test_language(vector: dict[str, Any], caller: Caller, signer: str) -> None:
    """Out in every language; in again in that language, with the seed of that phrase: other accounts."""
    english = VECTORS["languages"][0]
    original = imported_wallet(caller, signer, english["mnemonic"], ETHEREUM_ACCOUNT)
    language = vector["language"]
    taken = exported(caller, signer, "export_wallet", walletId=original["walletId"], language=language).decode()
    assert taken == vector["mnemonic"]
    again = imported_wallet(caller, signer, taken, ETHEREUM_ACCOUNT)
    assert (again["addresses"] == original["addresses"]) is (vector is english)
    back = exported(caller, signer, "export_wallet", walletId=again["walletId"], language=language)
    assert back.decode() == taken
    assert exported(caller, signer, "export_wallet", walletId=again["walletId"]).decode() == english["mnemonic"]


def test_wallet_made_here_comes_back_with_its_accounts(caller: Caller, signer: str) -> None:
    asked = {"walletName": unique("wallet"), "accounts": [ETHEREUM_ACCOUNT, SOLANA_ACCOUNT], "mnemonicLength": 24}
    made = caller.result("create_wallet", asked)
    assert wallet_of(caller, made["walletId"])["exported"] is False
    taken = exported(caller, signer, "export_wallet", walletId=made["walletId"])
    found = wallet_of(caller, made["walletId"])
    assert (found["exported"], found["imported"]) == (True, False)
    again = imported_wallet(caller, signer, taken.decode(), ETHEREUM_ACCOUNT, SOLANA_ACCOUNT)
    assert again["addresses"] == made["addresses"]


@pytest.mark.parametrize("account", [ETHEREUM_ACCOUNT, SOLANA_ACCOUNT], ids=["secp256k1", "ed25519"])
def test_account(account: dict[str, str], caller: Caller, signer: str) -> None:
    made = caller.result("create_wallet", {"walletName": unique("wallet"), "accounts": [account]})
    (address,) = made["addresses"]
    secret = exported(caller, signer, "export_wallet_account", address=address)
    assert len(secret) == 32
    found = caller.asked("get_wallet_account", walletId=made["walletId"], address=address)["account"]
    assert public_key(Curve(account["curve"]), secret).compressed.hex() == found["publicKey"]
    assert wallet_of(caller, made["walletId"])["exported"] is False, "its mnemonic has not left"
    assert exported(caller, signer, "export_wallet_account", address=address) == secret
    caller.submitted("delete_wallet_accounts", {"walletAccountIds": [found["walletAccountId"]]})


@pytest.mark.parametrize("curve", Curve)
def test_private_key(curve: Curve, caller: Caller, signer: str) -> None:
    secret = secrets.token_bytes(32)
    formats = ["ADDRESS_FORMAT_COMPRESSED"]
    bundle = sealed(caller, signer, secret, "private_key")
    made = caller.result("import_private_key", key_params(caller, bundle, curve, *formats))
    assert made["addresses"] == [{"format": formats[0], "address": public_key(curve, secret).compressed.hex()}]
    key_id = made["privateKeyId"]
    assert [caller.asked("get_private_key", privateKeyId=key_id)["privateKey"][f] for f in FLAGS] == [True, False]
    assert refusal(caller.submit("delete_private_keys", {"privateKeyIds": [key_id]}))[0] == 400
    assert exported(caller, signer, "export_private_key", privateKeyId=key_id) == secret
    assert [caller.asked("get_private_key", privateKeyId=key_id)["privateKey"][f] for f in FLAGS] == [True, True]
    caller.submitted("delete_private_keys", {"privateKeyIds": [key_id]})


def test_export_again_to_another_key(caller: Caller, signer: str) -> None:
    made = imported_wallet(caller, signer, PHRASE)
    for to in (bundles.fresh(), bundles.fresh()):
        assert exported(caller, signer, "export_wallet", to, walletId=made["walletId"]).decode() == PHRASE


def test_target_may_be_compressed(caller: Caller, signer: str) -> None:
    made = imported_wallet(caller, signer, PHRASE)
    point = bundles.point(TARGET)
    compressed = bytes([2 + (point[-1] & 1)]) + point[1:33]
    result = caller.result("export_wallet", {"walletId": made["walletId"], "targetPublicKey": compressed.hex()})
    assert bundles.exported(result["exportBundle"], signer, caller.organization_id, TARGET).decode() == PHRASE


def test_bundle_is_bound_to_its_organization_and_user(caller: Caller, signer: str) -> None:
    content = bundles.trusted(begun(caller), signer)
    assert (content["organizationId"], content["userId"]) == (caller.organization_id, caller.user_id)
    assert list(content) == ["targetPublic", "organizationId", "userId"]


def test_same_bytes_again_are_the_same_import(caller: Caller, signer: str) -> None:
    params = wallet_params(caller, sealed(caller, signer, PHRASE.encode()))
    body = caller.submit_body("import_wallet", params)
    first, second = (answered(caller.post("/public/v1/submit/import_wallet", body)) for _ in range(2))
    assert first["activity"]["id"] == second["activity"]["id"]


# What is refused, and leaves the target open.

ORDER = GROUP_ORDERS[Curve.SECP256K1]
NO_KEYS: list[tuple[Curve, bytes]] = [
    (Curve.SECP256K1, b""),
    (Curve.SECP256K1, b"k" * 31),
    (Curve.SECP256K1, b"k" * 33),
    (Curve.SECP256K1, bytes(32)),
    (Curve.SECP256K1, ORDER.to_bytes(32)),
    (Curve.SECP256K1, b"\xff" * 32),
    (Curve.P256, b"\xff" * 32),
    (Curve.P256, bytes(32)),
    (Curve.ED25519, b"k" * 64),
    (Curve.ED25519, b"11" * 32),
]


@pytest.mark.parametrize(("curve", "plaintext"), NO_KEYS, ids=[f"{c} {len(p)} {p[:1].hex()}" for c, p in NO_KEYS])
def test_no_private_key(curve: Curve, plaintext: bytes, caller: Caller, signer: str, server: Server) -> None:
    bundle = sealed(caller, signer, plaintext, "private_key")
    before = open_targets(server, caller)
    status, message = refusal(caller.submit("import_private_key", key_params(caller, bundle, curve)))
    assert (status, message[:19]) == (400, "invalid private key")
    assert open_targets(server, caller) == before


NO_MNEMONICS = {
    "empty": b"",
    "one word short": " ".join(PHRASE.split()[:-1]).encode(),
    "wrong checksum": PHRASE.replace("about", "abandon").encode(),
    "another word": PHRASE.replace("about", "keystead").encode(),
    "not UTF-8": b"\xff" * 60,
    "a private key": bytes(range(32)),
    "nothing but a passphrase": b"\n--PASS--\nhunter2",
    "the separator of exports": f"{PHRASE}\nhunter2".encode(),
}


@pytest.mark.parametrize("plaintext", NO_MNEMONICS.values(), ids=NO_MNEMONICS.keys())
def test_no_mnemonic(plaintext: bytes, caller: Caller, signer: str) -> None:
    import_bundle = begun(caller)
    ids = (caller.organization_id, caller.user_id)
    bundle = bundles.for_import(import_bundle, signer, *ids, plaintext)
    status, message = refusal(caller.submit("import_wallet", wallet_params(caller, bundle)))
    assert (status, message[:16]) == (400, "invalid mnemonic")
    assert not {"abandon", "keystead", "hunter2"} & set(message.split())
    right = bundles.for_import(import_bundle, signer, *ids, PHRASE.encode())
    caller.submitted("import_wallet", wallet_params(caller, right))


def _changed(bundle: str, **members: str) -> str:
    return json.dumps({**json.loads(bundle), **members})


BAD_BUNDLES = {
    "not JSON": lambda bundle: bundle[:-1],
    "nothing": lambda bundle: "",
    "the import bundle itself": lambda bundle: json.dumps({"version": "v1.0.0", "data": "00"}),
    "another encapsulated key": lambda bundle: _changed(
        bundle, encappedPublic=bundles.point(bundles.fresh()).hex()
    ),
    "no point": lambda bundle: _changed(bundle, encappedPublic="04" + "11" * 64),
    "other ciphertext": lambda bundle: _changed(bundle, ciphertext="00" * 40),
    "cut off": lambda bundle: _changed(bundle, ciphertext=json.loads(bundle)["ciphertext"][:-2]),
    "sealed to somebody else": lambda bundle: bundles.message(PHRASE.encode(), bundles.point(bundles.fresh())),
}


@pytest.mark.parametrize("kind", ["wallet", "private_key"])
@pytest.mark.parametrize("change", BAD_BUNDLES.values(), ids=BAD_BUNDLES.keys())
def test_bad_bundle(change: Any, kind: str, caller: Caller, signer: str, server: Server) -> None:
    bundle = sealed(caller, signer, PHRASE.encode(), kind)
    before = open_targets(server, caller)
    changed = change(bundle)
    params = wallet_params(caller, changed) if kind == "wallet" else key_params(caller, changed, Curve.SECP256K1)
    status, message = refusal(caller.submit(f"import_{kind}", params))
    assert (status, message[:24]) == (400, "failed to decrypt bundle")
    assert "parameters.encryptedBundle" in message
    assert open_targets(server, caller) == before


@pytest.mark.parametrize(
    ("curve", "formats"),
    [
        (Curve.ED25519, ["ADDRESS_FORMAT_SOLANA", "ADDRESS_FORMAT_SOLANA"]),
        (Curve.ED25519, ["ADDRESS_FORMAT_ETHEREUM"]),
    ],
    ids=["one twice", "of another curve"],
)
def test_bad_formats(curve: Curve, formats: list[str], caller: Caller, signer: str) -> None:
    """As where a key is made here, and before its bundle is opened."""
    bundle = sealed(caller, signer, b"\7" * 32, "private_key")
    status, message = refusal(caller.submit("import_private_key", key_params(caller, bundle, curve, *formats)))
    assert status == 400
    assert message.startswith("invalid address format")
    assert "`parameters.addressFormats`" in message
    assert caller.result("import_private_key", key_params(caller, bundle, curve))["addresses"] == []


def test_bundle_too_long(caller: Caller) -> None:
    status, message = refusal(caller.submit("import_wallet", wallet_params(caller, "0" * 8_193)))
    assert status == 400
    assert "encryptedBundle" in message


def test_each_target_opens_one_import(caller: Caller, signer: str) -> None:
    bundle = sealed(caller, signer, PHRASE.encode())
    caller.submitted("import_wallet", wallet_params(caller, bundle))
    status, message = refusal(caller.submit("import_wallet", wallet_params(caller, bundle)))
    assert (status, message[:24]) == (400, "failed to decrypt bundle")


def test_several_open_at_once_in_any_order(caller: Caller, signer: str) -> None:
    phrases = [mnemonic_from_entropy(secrets.token_bytes(16)) for _ in range(3)]
    waiting = [sealed(caller, signer, phrase.encode()) for phrase in phrases]
    for bundle, phrase in sorted(zip(waiting, phrases, strict=True), key=lambda _: secrets.token_bytes(1)):
        made = caller.result("import_wallet", wallet_params(caller, bundle))
        assert exported(caller, signer, "export_wallet", walletId=made["walletId"]).decode() == phrase


@pytest.mark.parametrize(("begun_as", "sent_as"), [("wallet", "private_key"), ("private_key", "wallet")])
def test_target_of_another_kind(begun_as: str, sent_as: str, caller: Caller, signer: str) -> None:
    bundle = sealed(caller, signer, secrets.token_bytes(32), begun_as)
    params = wallet_params(caller, bundle) if sent_as == "wallet" else key_params(caller, bundle, Curve.P256)
    assert refusal(caller.submit(f"import_{sent_as}", params))[0] == 400


def test_target_of_another_user(caller: Caller, signer: str) -> None:
    other = caller.new_user()
    caller.submitted(
        "create_policy",
        policy_params(
            effect="EFFECT_ALLOW",
            consensus=f"approvers.any(u, u.id == '{other.user_id}')",
            condition="activity.action == 'IMPORT'",
        ),
    )
    bundle = sealed(caller, signer, PHRASE.encode())
    assert refusal(other.submit("import_wallet", wallet_params(other, bundle)))[0] == 400
    caller.submitted("import_wallet", wallet_params(caller, bundle))
    own = sealed(other, signer, PHRASE.encode())
    other.submitted("import_wallet", wallet_params(other, own))


@pytest.mark.parametrize("name", ["init_import_wallet", "init_import_private_key"])
def test_nobody_imports_in_anothers_name(name: str, caller: Caller) -> None:
    """Not even the root quorum."""
    other = caller.new_user()
    status, message = refusal(caller.submit(name, {"userId": other.user_id}))
    assert status == 403
    assert other.user_id in message


BAD_TARGETS = {
    "nothing": "",
    "no hex": "zz" * 65,
    "cut off": TARGET_TEXT[:-2],
    "too long": TARGET_TEXT + "00",
    "no point of the curve": "04" + "11" * 64,
    "with 0x": "0x" + TARGET_TEXT,
}


@pytest.mark.parametrize("target", BAD_TARGETS.values(), ids=BAD_TARGETS.keys())
def test_bad_target(target: str, caller: Caller, signer: str) -> None:
    made = caller.result("create_wallet", {"walletName": unique("wallet"), "accounts": [ETHEREUM_ACCOUNT]})
    for name, asked in (
        ("export_wallet", {"walletId": made["walletId"]}),
        ("export_wallet_account", {"address": made["addresses"][0]}),
    ):
        status, message = refusal(caller.submit(name, {"targetPublicKey": target, **asked}))
        assert status == 400
        assert "parameters.targetPublicKey" in message
    assert wallet_of(caller, made["walletId"])["exported"] is False


NOT_THERE = [
    ("export_wallet", "walletId"),
    ("export_wallet_account", "address"),
    ("export_private_key", "privateKeyId"),
]


@pytest.mark.parametrize(("name", "field"), NOT_THERE, ids=[name for name, _ in NOT_THERE])
def test_not_there(name: str, field: str, caller: Caller) -> None:
    missing = "0190f3a2-0000-7000-8000-00000000dead"
    status, message = refusal(caller.submit(name, {field: missing, "targetPublicKey": TARGET_TEXT}))
    assert status == 404
    assert missing in message


def test_two_imports_with_one_target_at_once(caller: Caller, signer: str) -> None:
    """One of them wins, whichever; the other is refused and leaves nothing."""
    for _ in range(4):
        bundle = sealed(caller, signer, PHRASE.encode())
        asked = [wallet_params(caller, bundle) for _ in range(4)]
        with ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(lambda params: caller.submit("import_wallet", params), asked))
        assert sorted(answer.status_code for answer in answers) == [200, 400, 400, 400]
        names = [wallet["walletName"] for wallet in caller.asked("list_wallets")["wallets"]]
        kept = [params["walletName"] for params in asked if params["walletName"] in names]
        won = [params["walletName"] for params, answer in zip(asked, answers, strict=True) if answer.is_success]
        assert kept == won


def test_results_hold_no_plaintext(caller: Caller, signer: str, server: Server) -> None:
    phrase = mnemonic_from_entropy(secrets.token_bytes(32))
    made = imported_wallet(caller, signer, phrase)
    exported(caller, signer, "export_wallet", walletId=made["walletId"])
    stored = b"\n".join(server.installation.database.values())
    assert made["walletId"].encode() in stored
    for form in (phrase.encode(), phrase.encode().hex().encode(), " ".join(phrase.split()[-3:]).encode()):
        assert form not in stored


def test_policies_see_what_leaves(caller: Caller, signer: str) -> None:
    """wallet, wallet_account and the target key, of two wallets and two accounts."""
    user = caller.new_user()
    path = ETHEREUM_ACCOUNT | {"path": "m/44'/60'/7'/0/0"}
    open_, shut = (
        caller.result("create_wallet", {"walletName": unique("wallet"), "accounts": [ETHEREUM_ACCOUNT, path]})
        for _ in range(2)
    )
    who = f"approvers.any(u, u.id == '{user.user_id}')"
    for condition in (
        f"activity.kind == 'EXPORT_WALLET' && wallet.id == '{open_['walletId']}'"
        f" && activity.params.target_public_key == '{TARGET_TEXT}'",
        f"wallet_account.address == '{open_['addresses'][0]}' && wallet_account.path_indexes[2] == 0"
        " && wallet_account.path_hardened[2] && !wallet.imported",
    ):
        caller.submitted("create_policy", policy_params(consensus=who, condition=condition))
    target = {"targetPublicKey": TARGET_TEXT}
    tried = [
        ("export_wallet", {"walletId": open_["walletId"], **target}, 200),
        ("export_wallet", {"walletId": shut["walletId"], **target}, 403),
        (
            "export_wallet",
            {"walletId": open_["walletId"], "targetPublicKey": bundles.point(bundles.fresh()).hex()},
            403,
        ),
        ("export_wallet_account", {"address": open_["addresses"][0], **target}, 200),
        ("export_wallet_account", {"address": open_["addresses"][1], **target}, 403),
    ]
    for name, asked, status in tried:
        assert user.submit(name, asked).status_code == status, (name, asked)


def test_exports_wait_for_consensus(caller: Caller, signer: str) -> None:
    one, two = caller.new_user(), caller.new_user()
    voters = f"['{one.user_id}', '{two.user_id}']"
    caller.submitted(
        "create_policy",
        policy_params(
            consensus=f"approvers.filter(u, u.id in {voters}).count() >= 2",
            condition="activity.action == 'EXPORT'",
        ),
    )
    made = caller.result("create_wallet", {"walletName": unique("wallet"), "accounts": []})
    asked = {"walletId": made["walletId"], "targetPublicKey": TARGET_TEXT}
    waiting = answered(one.submit("export_wallet", asked))["activity"]
    assert waiting["status"] == "ACTIVITY_STATUS_CONSENSUS_NEEDED"
    assert "exportWalletResult" not in waiting["result"]
    done = answered(two.submit("approve_activity", {"fingerprint": waiting["fingerprint"]}))["activity"]
    assert done["status"] == "ACTIVITY_STATUS_COMPLETED"
    bundle = done["result"]["exportWalletResult"]["exportBundle"]
    assert len(bundles.exported(bundle, signer, caller.organization_id, TARGET).split()) == 12


def test_every_language_is_known() -> None:
    assert {vector["language"] for vector in VECTORS["languages"]} == set(MnemonicLanguage)
