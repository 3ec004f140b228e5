"""Signing: which key `signWith` names, what a signature leaves behind, and what becomes of one that waits."""

from __future__ import annotations

from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed, encode_dss_signature
from eth_hash.auto import keccak

from tests.support import independent_ethereum, secp256k1
from tests.support.callers import Caller, answered, refusal, unique
from tests.support.databases import Database
from tests.support.organization_fixtures import ETHEREUM_ACCOUNT, SOLANA_ACCOUNT, policy_params, private_key_params
from tests.support.servers import Server

pytestmark = pytest.mark.one_engine

TEXT = "hello"
HASHED = {"payload": TEXT, "encoding": "PAYLOAD_ENCODING_TEXT_UTF8", "hashFunction": "HASH_FUNCTION_KECCAK256"}
PLAIN = HASHED | {"hashFunction": "HASH_FUNCTION_NOT_APPLICABLE"}
BECH32_ACCOUNT = ETHEREUM_ACCOUNT | {
    "addressFormat": "ADDRESS_FORMAT_BITCOIN_MAINNET_P2WPKH",
    "path": "m/84'/0'/0'/0/0",
}


@pytest.fixture(scope="module")
def wallet(server: Server) -> Any:
    """A wallet with addresses on Ethereum, Solana and Bitcoin: walletId, addresses."""
    accounts = [ETHEREUM_ACCOUNT, SOLANA_ACCOUNT, BECH32_ACCOUNT]
    return server.caller.result("create_wallet", {"walletName": unique("wallet"), "accounts": accounts})


def new_key(caller: Caller, curve: str = "SECP256K1", *formats: str) -> Any:
    params = private_key_params(
        curve=f"CURVE_{curve}", addressFormats=[f"ADDRESS_FORMAT_{form}" for form in formats or ("ETHEREUM",)]
    )
    return caller.result("create_private_keys", {"privateKeys": [params]})["privateKeys"][0]


def recovered(signature: dict[str, str]) -> str:
    whole = bytes.fromhex(signature["r"] + signature["s"] + signature["v"])
    address = independent_ethereum.Account._recover_hash(
        keccak(TEXT.encode()), signature=whole[:64] + bytes([27 + whole[64]])
    )
    return str(address)


SPELLINGS = [
    ("as it is", str),
    ("in lower case", str.lower),
    ("in capitals", lambda address: "0x" + address[2:].upper()),
    ("in capitals altogether", str.upper),
]


@pytest.mark.parametrize(("name", "spelled"), SPELLINGS, ids=[name for name, _ in SPELLINGS])
def test_an_address_of_hex_digits_in_any_case(name: str, spelled: Any, wallet: Any, caller: Caller) -> None:
    address = wallet["addresses"][0]
    assert recovered(caller.result("sign_raw_payload", {"signWith": spelled(address), **HASHED})) == address


def test_other_addresses(wallet: Any, caller: Caller) -> None:
    _, solana, bitcoin = wallet["addresses"]
    caller.result("sign_raw_payload", {"signWith": bitcoin.upper(), **HASHED})
    caller.result("sign_raw_payload", {"signWith": solana, **PLAIN})
    other = solana.swapcase()
    assert refusal(caller.submit("sign_raw_payload", {"signWith": other, **PLAIN}))[0] == 404


def test_a_private_key_by_its_id_and_by_each_address(caller: Caller) -> None:
    key = new_key(caller, "SECP256K1", "ETHEREUM", "COMPRESSED", "UNCOMPRESSED")
    addresses = [one["address"] for one in key["addresses"]]
    made = [
        caller.result("sign_raw_payload", {"signWith": name, **HASHED})
        for name in (key["privateKeyId"], *addresses, addresses[1].upper())
    ]
    assert made == [made[0]] * 5
    assert recovered(made[0]) == addresses[0]
    older = {"privateKeyId": key["privateKeyId"], **HASHED}
    assert caller.result("sign_raw_payload", older, type="ACTIVITY_TYPE_SIGN_RAW_PAYLOAD") == made[0]


def test_keys_of_other_curves(caller: Caller) -> None:
    p256, edwards = new_key(caller, "P256", "COMPRESSED"), new_key(caller, "ED25519", "COMPRESSED")
    made = caller.result("sign_raw_payload", {"signWith": p256["privateKeyId"], **HASHED})
    point = bytes.fromhex(p256["addresses"][0]["address"])
    ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point).verify(
        encode_dss_signature(int(made["r"], 16), int(made["s"], 16)),
        keccak(TEXT.encode()),
        ec.ECDSA(Prehashed(hashes.SHA256())),
    )
    made = caller.result("sign_raw_payload", {"signWith": edwards["addresses"][0]["address"], **PLAIN})
    public = ed25519.Ed25519PublicKey.from_public_bytes(bytes.fromhex(edwards["addresses"][0]["address"]))
    public.verify(bytes.fromhex(made["r"] + made["s"]), TEXT.encode())
    assert made["v"] == "00"


def test_a_spark_address_signs_as_spark_does(caller: Caller) -> None:
    """The format of the address that was named decides, not the key."""
    key = new_key(caller, "SECP256K1", "COMPRESSED", "SPARK_MAINNET")
    compressed, spark = (one["address"] for one in key["addresses"])
    made = caller.result("sign_raw_payload", {"signWith": spark, **HASHED})
    signature = bytes.fromhex(made["r"] + made["s"])
    assert secp256k1.verifies_schnorr(bytes.fromhex(compressed)[1:], signature, keccak(TEXT.encode()))
    assert recovered(caller.result("sign_raw_payload", {"signWith": compressed, **HASHED}))


def test_nothing_of_that_name(wallet: Any, caller: Caller) -> None:
    account = caller.asked("list_wallet_accounts", walletId=wallet["walletId"])["accounts"][0]
    for name in ("0x" + "12" * 20, "nobody", wallet["walletId"], account["walletAccountId"]):
        status, message = refusal(caller.submit("sign_raw_payload", {"signWith": name, **HASHED}))
        assert status == 404
        assert name in message
    assert refusal(caller.submit("sign_raw_payload", {"signWith": "", **HASHED}))[0] == 400
    assert refusal(caller.submit("sign_raw_payload", {"signWith": "a" * 256, **HASHED}))[0] == 400


def test_a_deleted_key_signs_nothing(caller: Caller) -> None:
    accounts = [ETHEREUM_ACCOUNT, BECH32_ACCOUNT]
    made = caller.result("create_wallet", {"walletName": unique("wallet"), "accounts": accounts})
    account_id = caller.asked("list_wallet_accounts", walletId=made["walletId"])["accounts"][0]["walletAccountId"]
    key = new_key(caller)
    for name in (*made["addresses"], key["privateKeyId"]):
        caller.submitted("sign_raw_payload", {"signWith": name, **HASHED})
    caller.submitted("delete_wallet_accounts", {"walletAccountIds": [account_id], "deleteWithoutExport": True})
    assert refusal(caller.submit("sign_raw_payload", {"signWith": made["addresses"][0], **HASHED}))[0] == 404
    caller.submitted("sign_raw_payload", {"signWith": made["addresses"][1], **HASHED})
    caller.submitted("delete_wallets", {"walletIds": [made["walletId"]], "deleteWithoutExport": True})
    caller.submitted("delete_private_keys", {"privateKeyIds": [key["privateKeyId"]], "deleteWithoutExport": True})
    for name in (*made["addresses"], key["privateKeyId"], key["addresses"][0]["address"]):
        assert refusal(caller.submit("sign_raw_payload", {"signWith": name, **HASHED}))[0] == 404


def test_signing_changes_nothing_in_the_organization(wallet: Any, caller: Caller, database: Database) -> None:
    before = database.organization(caller.organization_id).version
    counts = database.counts()
    activity = caller.submitted("sign_raw_payload", {"signWith": wallet["addresses"][0], **HASHED})
    assert database.organization(caller.organization_id).version == before
    grown = {table for table, count in database.counts().items() if count > counts[table]}
    assert grown == {"activity", "vote", "policy_evaluation"}
    assert caller.asked("get_activity", activityId=activity["id"])["activity"]["result"] == activity["result"]


PAYLOADS = {name: value for name, value in HASHED.items() if name != "payload"}


@pytest.mark.parametrize("count", [0, 1_001])
def test_how_many_payloads(count: int, wallet: Any, caller: Caller) -> None:
    asked = {"signWith": wallet["addresses"][0], **PAYLOADS, "payloads": ["a"] * count}
    assert refusal(caller.submit("sign_raw_payloads", asked))[0] == 400


def test_the_payload_that_is_wrong_is_named(wallet: Any, caller: Caller) -> None:
    asked = {"signWith": wallet["addresses"][0], **PAYLOADS, "payloads": ["a", "", "b"]}
    assert "`parameters.payloads[1]`" in refusal(caller.submit("sign_raw_payloads", asked))[1]


class TestWaiting:
    """A signature that two must approve is made when the second one has."""

    @pytest.fixture
    def people(self, caller: Caller) -> Any:
        first, second = caller.new_user(), caller.new_user()
        either = " || ".join(f"u.id == '{user.user_id}'" for user in (first, second))
        both = f"approvers.filter(u, {either}).count() == 2"
        made = caller.result("create_policy", policy_params(condition="activity.action == 'SIGN'", consensus=both))
        yield first, second
        caller.submitted("delete_policy", {"policyId": made["policyId"]})

    def waiting(self, user: Caller, sign_with: str) -> Any:
        activity = answered(user.submit("sign_raw_payload", {"signWith": sign_with, **HASHED}))["activity"]
        assert activity["status"] == "ACTIVITY_STATUS_CONSENSUS_NEEDED"
        assert not activity["result"].get("signRawPayloadResult")
        return activity

    def test_approved(self, people: Any, wallet: Any, caller: Caller) -> None:
        first, second = people
        waiting = self.waiting(first, wallet["addresses"][0])
        done = answered(second.submit("approve_activity", {"fingerprint": waiting["fingerprint"]}))["activity"]
        assert done["status"] == "ACTIVITY_STATUS_COMPLETED"
        assert recovered(done["result"]["signRawPayloadResult"]) == wallet["addresses"][0]

    def test_the_key_has_gone(self, people: Any, caller: Caller) -> None:
        """The activity can still be read and rejected, and nothing is signed."""
        first, second = people
        key = new_key(caller)
        one, other = (self.waiting(first, key["privateKeyId"]) for _ in range(2))
        gone = {"privateKeyIds": [key["privateKeyId"]], "deleteWithoutExport": True}
        caller.submitted("delete_private_keys", gone)
        caller.asked("get_activity", activityId=one["id"])
        failed = answered(second.submit("approve_activity", {"fingerprint": one["fingerprint"]}))["activity"]
        assert failed["status"] == "ACTIVITY_STATUS_FAILED"
        assert key["privateKeyId"] in failed["failure"]["message"]
        rejected = answered(second.submit("reject_activity", {"fingerprint": other["fingerprint"]}))["activity"]
        assert rejected["status"] == "ACTIVITY_STATUS_REJECTED"


def test_several_payloads_of_typed_data_are_refused_unread(server: Server, wallet: Any) -> None:
    """Each may take long to read. These payloads are not typed data at all."""
    asked = HASHED | {"encoding": "PAYLOAD_ENCODING_EIP712", "hashFunction": "HASH_FUNCTION_NO_OP"}
    del asked["payload"]
    asked |= {"signWith": wallet["addresses"][0]}
    status, message = refusal(server.caller.submit("sign_raw_payloads", {**asked, "payloads": ["{", "{"]}))
    assert (status, "only one payload" in message) == (400, True)
