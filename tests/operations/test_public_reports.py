"""What people reported publicly about this API, its clients and other wallets: each case, through HTTP.

The inputs, the reports that they come from and the right values are in `tests/vectors/public_reports.json`. PSBTs
are signed by `test_signing_vectors`. Each test makes what it needs in the organization of its caller.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
from typing import Any

import pytest
import rlp
from cryptography.hazmat.primitives.asymmetric import ed25519
from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.message import MessageV1, TransactionConfig, to_bytes_versioned
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.system_program import TransferParams, transfer
from solders.transaction import VersionedTransaction

from keystead.primitives.hpke import seal
from keystead.stamps.base64url import encode_base64url
from tests.chains.ethereum.test_typed_data import BATCH
from tests.chains.signing_vectors import REPORTED, account
from tests.support import secp256k1
from tests.support.callers import Caller, refusal, unique
from tests.support.known_keys import add_known_wallet
from tests.support.organization_fixtures import ETHEREUM_ACCOUNT, policy_params
from tests.support.passkeys import SoftPasskey
from tests.support.servers import Server

SIGN_WITH = {
    "TRANSACTION_TYPE_ETHEREUM": "0x9858EfFD232B4033E47d90003D41EC34EcaEda94",
    "TRANSACTION_TYPE_SOLANA": "HAgk14JpMQLgt6rVgv7cBQFJWFto5Dqxi472uT3DKpqk",
    "TRANSACTION_TYPE_TRON": "TGrLpry8MNqMuMUTe2VXv5wYkRuFEsbKsE",
}
ETHEREUM, SOLANA, _ = SIGN_WITH.values()
SIGNER, FRIEND = Pubkey.from_string(SOLANA), Pubkey(b"\xa0" * 32)


def reported(section: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", REPORTED[section], ids=lambda case: case["id"])


@pytest.fixture(scope="module", autouse=True)
def known_wallet(server: Server) -> None:
    add_known_wallet(server.installation)


def payload(text: str, encoding: str, hash_function: str = "NO_OP", sign_with: str = ETHEREUM) -> dict[str, str]:
    return {
        "signWith": sign_with,
        "payload": text,
        "encoding": f"PAYLOAD_ENCODING_{encoding}",
        "hashFunction": f"HASH_FUNCTION_{hash_function}",
    }


def signature_of(made: dict[str, str]) -> bytes:
    return bytes.fromhex(made["r"] + made["s"] + made["v"])


def check_refused(response: Any, words: list[str]) -> None:
    status, message = refusal(response)
    assert status == 400
    assert [word for word in words if word.lower() not in message.lower()] == []


def outcome(caller: Caller, activity: dict[str, Any], condition: str) -> str:
    tried = caller.asked(
        "try_policy",
        effect="EFFECT_ALLOW",
        condition=condition,
        consensus="",
        time="",
        activityIds=[activity["id"]],
        policyId=None,
    )
    return str(tried["triedActivities"][0]["outcome"])


def check_true(caller: Caller, activity: dict[str, Any], conditions: list[str]) -> None:
    for condition in conditions:
        assert (condition, outcome(caller, activity, condition)) == (condition, "OUTCOME_ALLOW")


@reported("typedData")
def test_typed_data(case: dict[str, Any], caller: Caller) -> None:
    made = caller.result("sign_raw_payload", payload(json.dumps(case["data"]), "EIP712"))
    digest = bytes.fromhex(case["digest"][2:])
    assert secp256k1.recovered(signature_of(made), digest) == account(ETHEREUM)[1].compressed


def test_a_struct_with_the_name_of_an_elementary_type(caller: Caller) -> None:
    """wevm/viem#2888"""
    types = {"EIP712Domain": [], "M": [{"name": "c", "type": "bytes32"}], "bytes32": []}
    document = {"types": types, "primaryType": "M", "domain": {}, "message": {"c": "0x" + "00" * 32}}
    response = caller.submit("sign_raw_payload", payload(json.dumps(document), "EIP712"))
    check_refused(response, ["bytes32", "elementary"])


def test_policies_read_lists_of_typed_data(caller: Caller) -> None:
    """tkhq/docs#706"""
    activity = caller.submitted("sign_raw_payload", payload(json.dumps(BATCH), "EIP712"))
    orders = "eth.eip_712.message['orders']"
    check_true(
        caller,
        activity,
        [
            f"{orders}.count() == 2",
            f"{orders}.all(o, o['a'] in [3, 4])",
            f"{orders}.any(o, o['b'] == false)",
            f"{orders}.filter(o, o['b'] == true).count() == 1",
            f"{orders}[0]['a'] == 3",
        ],
    )
    for text in ("3", "03"):
        assert outcome(caller, activity, f"{orders}[0]['a'] == '{text}'") == "OUTCOME_ERROR"


@reported("transactions")
def test_transactions(case: dict[str, Any], caller: Caller) -> None:
    asked = {
        "signWith": SIGN_WITH[case["type"]],
        "unsignedTransaction": case["unsignedTransaction"],
        "type": case["type"],
    }
    if "refusedWith" in case:
        check_refused(caller.submit("sign_transaction", asked), case["refusedWith"])
    else:
        check_true(caller, caller.submitted("sign_transaction", asked), case["conditions"])


@reported("interfaces")
def test_interfaces(case: dict[str, Any], caller: Caller) -> None:
    response = caller.submit("create_smart_contract_interface", interface(case["type"], "", case["interface"]))
    check_refused(response, case["refusedWith"])


def interface(kind: str, address: str, document: Any) -> dict[str, str]:
    own = str(Pubkey(secrets.token_bytes(32))) if kind.endswith("SOLANA") else "0x" + secrets.token_hex(20)
    return {
        "smartContractAddress": address or own,
        "smartContractInterface": json.dumps(document),
        "type": kind,
        "label": unique("interface"),
        "notes": "",
    }


@reported("calls")
def test_calls(case: dict[str, Any], caller: Caller) -> None:
    to = secrets.token_bytes(20)
    caller.submitted(
        "create_smart_contract_interface",
        interface("SMART_CONTRACT_INTERFACE_TYPE_ETHEREUM", "0x" + to.hex(), case["abi"]),
    )
    items = [b"\1", b"", b"\1", b"\2", b"\x52\x08", to, b"", bytes.fromhex(case["data"][2:]), []]
    asked = {
        "signWith": ETHEREUM,
        "unsignedTransaction": (b"\2" + bytes(rlp.encode(items))).hex(),
        "type": "TRANSACTION_TYPE_ETHEREUM",
    }
    conditions = ["eth.tx.function_name == 'run'"]
    conditions += [
        f"eth.tx.contract_call_args['{name}'] == '{value}'"
        for name, value in case["arguments"].items()
        if isinstance(value, str)
    ]
    check_true(caller, caller.submitted("sign_transaction", asked), conditions)


def version_1(to: Pubkey, lamports: int, priority_fee: int | None = None) -> tuple[str, bytes]:
    """A transaction with an empty slot, in hex, and its message."""
    instructions = [transfer(TransferParams(from_pubkey=SIGNER, to_pubkey=to, lamports=lamports))]
    config = TransactionConfig(priority_fee=priority_fee)
    message = MessageV1.try_compile(SIGNER, instructions, Hash(b"\1" * 32), config)
    return bytes(VersionedTransaction.populate(message, [Signature.default()])).hex(), to_bytes_versioned(message)


def test_solana_transactions_of_version_1(caller: Caller) -> None:
    """SIMD-0385; tkhq/docs#831, solana-foundation/solana-keychain#259 and #260, trezor/trezor-firmware#7865"""
    user = caller.new_user()
    caller.submitted(
        "create_policy",
        policy_params(
            condition=f"solana.tx.version == 'V1' && solana.tx.transfers.count() == 1 "
            f"&& solana.tx.transfers[0].to == '{FRIEND}' && solana.tx.transfers[0].amount <= 1000 "
            "&& solana.tx.priority_fee_lamports <= 50",
            consensus=f"approvers.any(u, u.id == '{user.user_id}')",
        ),
    )

    def sign(unsigned: str) -> dict[str, Any]:
        asked = {"signWith": SOLANA, "unsignedTransaction": unsigned, "type": "TRANSACTION_TYPE_SOLANA"}
        return {"parameters": asked, "name": "sign_transaction"}

    for fee in (None, 50):
        unsigned, message = version_1(FRIEND, 1000, fee)
        signed = bytes.fromhex(user.result(**sign(unsigned))["signedTransaction"])
        assert signed[:-64] == message
        ed25519.Ed25519PublicKey.from_public_bytes(bytes(SIGNER)).verify(signed[-64:], message)
        assert VersionedTransaction.from_bytes(signed).verify_with_results() == [True]
    for unsigned, _ in (version_1(FRIEND, 1001), version_1(SIGNER, 1000), version_1(FRIEND, 1000, 51)):
        assert refusal(user.submit(**sign(unsigned)))[0] == 403
    check_refused(user.submit(**sign(message.hex())), ["a message without signature slots"])


@reported("phrases")
def test_phrases(case: dict[str, Any], caller: Caller) -> None:
    started = caller.result("init_import_wallet", {"userId": caller.user_id})
    target = json.loads(bytes.fromhex(json.loads(started["importBundle"])["data"]))["targetPublic"]
    encapped, ciphertext = seal(case["phrase"].encode(), bytes.fromhex(target))
    asked = {
        "userId": caller.user_id,
        "walletName": unique("wallet"),
        "encryptedBundle": json.dumps({"encappedPublic": encapped.hex(), "ciphertext": ciphertext.hex()}),
        "accounts": [ETHEREUM_ACCOUNT],
    }
    if "refusedWith" in case:
        check_refused(caller.submit("import_wallet", asked), case["refusedWith"])
    else:
        assert caller.result("import_wallet", asked)["addresses"] == [case["address"]]


@pytest.mark.parametrize("size", [256, 1023])
def test_passkeys_with_long_credential_ids(size: int, caller: Caller) -> None:
    """Up to the most that WebAuthn allows: registered, found, and used for stamps."""
    passkey = SoftPasskey(credential_id=secrets.token_bytes(size))
    user = caller.new_user()
    made = {"userId": user.user_id, "authenticators": [passkey.params()]}
    (authenticator_id,) = caller.result("create_authenticators", made)["authenticatorIds"]
    stored = caller.asked("get_authenticator", authenticatorId=authenticator_id)["authenticator"]
    assert stored["credentialId"] == encode_base64url(passkey.credential_id)
    body = caller.query_body()
    answer = caller.http.post("/public/v1/query/whoami", content=body, headers=passkey.stamp(body))
    assert (answer.status_code, answer.json()["userId"]) == (200, user.user_id)


def test_a_passkey_with_an_ed25519_key(caller: Caller) -> None:
    """duo-labs/py_webauthn#160, kanidm/webauthn-rs: algorithm -8"""
    key = bytes(Pubkey(b"\1" * 32))
    passkey = SoftPasskey(cose_key={1: 1, 3: -8, -1: 6, -2: key})
    asked = {"userId": caller.new_user().user_id, "authenticators": [passkey.params()]}
    check_refused(caller.submit("create_authenticators", asked), ["-8", "ES256"])


ENCODINGS = {
    "base64url": lambda data: base64.urlsafe_b64encode(data).rstrip(b"="),
    "padded": lambda data: base64.urlsafe_b64encode(data + b" " * (-(len(data) + 1) % 3)),
    "standard base64": base64.b64encode,
}


@pytest.mark.parametrize("encode", ENCODINGS.values(), ids=ENCODINGS)
@pytest.mark.parametrize("change", ["none", "capital signature", "0x", "capital key", "another member"])
def test_stamps_of_other_clients(encode: Any, change: str, caller: Caller) -> None:
    """KyuzanInc/turnkey-sdk-csharp, tkhq/ruby-sdk"""
    body = caller.query_body()
    (header, value), *_ = caller.stamped(body).items()
    stamp = json.loads(base64.urlsafe_b64decode(value + "=" * (-len(value) % 4)))
    stamp |= {
        "none": {},
        "capital signature": {"signature": stamp["signature"].upper()},
        "0x": {"publicKey": "0x" + stamp["publicKey"]},
        "capital key": {"publicKey": stamp["publicKey"].upper()},
        "another member": {"version": 1},
    }[change]
    written = encode(json.dumps(stamp).encode()).decode()
    answer = caller.http.post("/public/v1/query/whoami", content=body, headers={header: written})
    assert answer.status_code == 200


@pytest.mark.parametrize(
    ("text", "encoding"), [("hello \u00e9", "TEXT_UTF8"), ("0x" + "hello \u00e9".encode().hex(), "HEXADECIMAL")]
)
def test_a_message_as_bytes_and_as_text(text: str, encoding: str, caller: Caller) -> None:
    """tkhq/sdk#116"""
    made = caller.result("sign_raw_payload", payload(text, encoding, "SHA256"))
    digest = hashlib.sha256("hello \u00e9".encode()).digest()
    assert secp256k1.recovered(signature_of(made), digest) == account(ETHEREUM)[1].compressed


def test_a_whole_message_with_ed25519(caller: Caller) -> None:
    """solana-foundation/solana-keychain#250"""
    made = caller.result("sign_raw_payload", payload(b"abc".hex(), "HEXADECIMAL", "NOT_APPLICABLE", SOLANA))
    key = ed25519.Ed25519PublicKey.from_public_bytes(bytes(SIGNER))
    key.verify(bytes.fromhex(made["r"] + made["s"]), b"abc")


def test_data_behind_the_arguments_does_not_decode(caller: Caller) -> None:
    """tkhq/solana-parser test_extraneous_bytes"""
    program = Pubkey(secrets.token_bytes(32))
    deposit = {"name": "deposit", "accounts": [], "args": [{"name": "amount", "type": "u64"}]}
    caller.submitted(
        "create_smart_contract_interface",
        interface("SMART_CONTRACT_INTERFACE_TYPE_SOLANA", str(program), {"instructions": [deposit], "types": []}),
    )
    amount = "solana.tx.instructions[0].parsed_instruction_data.program_call_args['amount']"
    data = hashlib.sha256(b"global:deposit").digest()[:8] + (5).to_bytes(8, "little")
    for tail, expected in ((b"", "OUTCOME_ALLOW"), (b"\0", "OUTCOME_ERROR")):
        message = MessageV1.try_compile(
            SIGNER, [Instruction(program, data + tail, [AccountMeta(FRIEND, False, False)])], Hash(b"\1" * 32)
        )
        unsigned = bytes(VersionedTransaction.populate(message, [Signature.default()])).hex()
        asked = {"signWith": SOLANA, "unsignedTransaction": unsigned, "type": "TRANSACTION_TYPE_SOLANA"}
        activity = caller.submitted("sign_transaction", asked)
        assert outcome(caller, activity, f"{amount} == 5") == expected
