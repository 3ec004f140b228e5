"""The documented examples of policies over signing, row by row, from the stamped request to its outcome.

Rows are numbered as in tests/policies/test_example_transactions, where the values are made by hand; here they come
out of real transactions. Only the policies shown speak of the user who signs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
import rlp
from eth_abi.abi import encode
from eth_hash.auto import keccak

from tests.support.callers import Caller, refusal, unique
from tests.support.organization_fixtures import ETHEREUM_ACCOUNT, policy_params, private_key_params

pytestmark = pytest.mark.one_engine

CALLED, TOKEN, OTHER = "0x" + "ab" * 20, "0x" + "cd" * 20, "0x" + "0d" * 20
WITH_ABI = "0x" + "ef" * 20

OK, IMPLICIT, EXPLICIT, ERROR = "ok", "implicit", "explicit", "error"
"""What becomes of a request. ERROR: an implicit denial, because the first policy failed."""

ABI = [
    {
        "type": "function",
        "name": "transfer",
        "inputs": [{"name": "to", "type": "address"}, {"name": "wad", "type": "uint256"}],
    },
    {"type": "function", "name": "deposit", "inputs": []},
    {
        "type": "function",
        "name": "executeBatch",
        "inputs": [
            {
                "name": "calls",
                "type": "tuple[]",
                "components": [
                    {"name": "target", "type": "address"},
                    {"name": "value", "type": "uint256"},
                    {"name": "data", "type": "bytes"},
                ],
            }
        ],
    },
]


def raw(address: str) -> bytes:
    return bytes.fromhex(address[2:])


def number(value: int) -> bytes:
    return value.to_bytes((value.bit_length() + 7) // 8)


def call(signature: str, *values: Any) -> bytes:
    types = signature.partition("(")[2][:-1]
    kinds = [types] if types.startswith("(") else [kind for kind in types.split(",") if kind]
    return bytes(keccak(signature.encode())[:4]) + bytes(encode(kinds, values))


def ethereum(to: str = CALLED, value: int = 0, data: bytes = b"", chain_id: int = 1) -> dict[str, Any]:
    items = [number(chain_id), b"", b"\1", b"\2", b"\x52\x08", raw(to), number(value), data, []]
    unsigned = b"\2" + rlp.encode(items)
    return {"unsignedTransaction": unsigned.hex(), "type": "TRANSACTION_TYPE_ETHEREUM"}


def tempo(*calls: tuple[str, bytes]) -> dict[str, Any]:
    listed = [[raw(to), b"", data] for to, data in calls]
    items = [b"\1", b"\1", b"\2", b"\x52\x08", listed, [], b"", b"\1", b"", b"", b"", b"", []]
    return {"unsignedTransaction": (b"\x76" + rlp.encode(items)).hex(), "type": "TRANSACTION_TYPE_TEMPO"}


def payload(
    text: str = "ab" * 32, hashed: str = "NO_OP", encoding: str = "PAYLOAD_ENCODING_HEXADECIMAL"
) -> dict[str, Any]:
    return {"payload": text, "encoding": encoding, "hashFunction": f"HASH_FUNCTION_{hashed}"}


def permit(*tokens: str) -> dict[str, Any]:
    document = {
        "types": {
            "PermitBatch": [{"name": "permitted", "type": "Permitted[]"}],
            "Permitted": [{"name": "token", "type": "address"}, {"name": "amount", "type": "uint256"}],
        },
        "primaryType": "PermitBatch",
        "domain": {"name": "Permit2"},
        "message": {"permitted": [{"token": token, "amount": "1000"} for token in tokens]},
    }
    return payload(json.dumps(document), encoding="PAYLOAD_ENCODING_EIP712")


AUTHORIZATION = json.dumps({"address": CALLED, "chainId": 1, "nonce": 7})
AUTHORIZED = payload(AUTHORIZATION, encoding="PAYLOAD_ENCODING_EIP7702_AUTHORIZATION")


@dataclass
class Case:
    """`with_key`: by a private key, in place of the account of wallet W1 or W2. `older`: by the older type."""

    row: str
    policies: tuple[str, ...]
    asked: dict[str, Any] = field(repr=False)
    expected: str
    note: str = ""
    by: str = "W1"
    older: bool = False

    def __str__(self) -> str:
        return f"{self.row}-{self.note or self.expected}"


R8 = ("activity.kind == 'SIGN_TRANSACTION'",)
R8_TYPE = ("activity.type == 'ACTIVITY_TYPE_SIGN_TRANSACTION_V2'",)
R10 = ("activity.action == 'SIGN' && wallet.id == 'W1'",)
R11 = ("wallet.id == 'W1' || private_key.id == 'P1'",)
R11_SPLIT = ("wallet.id == 'W1'", "private_key.id == 'P1'")
R13 = (f"eth.tx.to == '{CALLED.upper().replace('X', 'x')}' && eth.tx.chain_id in [1, 8453] && eth.tx.value <= 10",)
R14 = (f"eth.tx.data[0..10] in ['0x095ea7b3', '0xa9059cbb'] && eth.tx.to == '{TOKEN}'",)
R15 = ("eth.tx.function_name == 'transfer' && eth.tx.contract_call_args['wad'] < 5",)
R16_TEXT = (
    "eth.tx.function_name == 'executeBatch' && eth.tx.contract_call_args['calls'].count() <= 2"
    f" && eth.tx.contract_call_args['calls'].all(c, c[0] == '{CALLED}' && c[1] == 0)"
)
R16, R16_NAMES = (R16_TEXT,), (R16_TEXT.replace("c[0]", "c['target']"),)
R17 = (
    "eth.eip_712.domain.name == 'Permit2'"
    f" && eth.eip_712.message['permitted'].all(p, p['token'] == '{TOKEN}' && p['amount'] < 1001)",
)
R18 = (
    "DENY activity.params.encoding == 'PAYLOAD_ENCODING_HEXADECIMAL'"
    " && activity.params.hash_function == 'HASH_FUNCTION_NO_OP'"
    " && activity.type == 'ACTIVITY_TYPE_SIGN_RAW_PAYLOAD_V2'",
    "activity.action == 'SIGN'",
)
ARGUMENT = "12" * 20
R26 = (f"tempo.tx.calls.all(c, c.to == '{CALLED}') && tempo.tx.calls[0].input[98..138] == '{ARGUMENT}'",)
R7702 = (
    f"eth.eip_7702_authorization.address == '{CALLED}' && eth.eip_7702_authorization.chain_id == '1'"
    " && eth.eip_7702_authorization.nonce == 7",
)
R_TYPE = ("activity.params.type == 'TRANSACTION_TYPE_ETHEREUM'",)
R_ACCOUNT = ("wallet_account.path_indexes[2] == 0 && wallet_account.path_hardened[2] && !wallet.exported",)
R_TAG = ("private_key.tags.contains('T1')",)
R_GAS = ("eth.tx.max_fee_per_gas <= 2 && eth.tx.type == 'TYPE_2' && eth.tx.gas == 21000",)

APPROVE, TRANSFER = call("approve(address,uint256)", TOKEN, 1), call("transfer(address,uint256)", TOKEN, 4)
TRANSFER_FROM = call("transferFrom(address,address,uint256)", TOKEN, TOKEN, 1)
BATCH = "executeBatch((address,uint256,bytes)[])"
ITEM = (CALLED, 0, b"\1")
ERC20_ISH = call("mint(address,address)", OTHER, "0x" + ARGUMENT)

CASES = [
    Case("8", R8, ethereum(), OK),
    Case("8", R8, ethereum(), OK, "the older type", "P1", older=True),
    Case("8", R8_TYPE, ethereum(), OK, "this type"),
    Case("8", R8_TYPE, ethereum(), IMPLICIT, "another type", "P1", older=True),
    Case("10", R10, ethereum(), OK),
    Case("10", R10, payload(), OK, "a payload"),
    Case("10", R10, ethereum(), IMPLICIT, by="W2"),
    Case("10", R10, ethereum(), ERROR, "a private key", by="P1"),
    Case("11", R11, ethereum(), ERROR),
    Case("11", R11, ethereum(), ERROR, "a private key", by="P1"),
    Case("11", R11_SPLIT, ethereum(), OK, "in two policies"),
    Case("11", R11_SPLIT, ethereum(), OK, "in two policies, a private key", by="P1"),
    Case("13", R13, ethereum(value=10, chain_id=8453), OK),
    Case("13", R13, ethereum(chain_id=10), IMPLICIT, "chain"),
    Case("13", R13, ethereum(value=11), IMPLICIT, "value"),
    Case("13", R13, ethereum(to=OTHER), IMPLICIT, "contract"),
    Case("13", R13, payload(), ERROR, "no transaction"),
    Case("14", R14, ethereum(TOKEN, data=APPROVE), OK, "approve"),
    Case("14", R14, ethereum(TOKEN, data=TRANSFER), OK, "transfer"),
    Case("14", R14, ethereum(TOKEN, data=TRANSFER_FROM), IMPLICIT, "transferFrom"),
    Case("14", R14, ethereum(TOKEN), ERROR, "no calldata"),
    Case("15", R15, ethereum(WITH_ABI, data=TRANSFER), OK),
    Case("15", R15, ethereum(WITH_ABI, data=call("transfer(address,uint256)", TOKEN, 5)), IMPLICIT, "too much"),
    Case("15", R15, ethereum(TOKEN, data=TRANSFER), ERROR, "no ABI"),
    Case("15", R15, ethereum(WITH_ABI, data=call("deposit()")), IMPLICIT, "another function"),
    Case("15", R15, ethereum(WITH_ABI, data=call("burn(uint256)", 1)), ERROR, "a function the ABI lacks"),
    Case("16", R16, ethereum(WITH_ABI, data=call(BATCH, [ITEM, ITEM])), OK),
    Case("16", R16, ethereum(WITH_ABI, data=call(BATCH, [ITEM] * 3)), IMPLICIT, "three calls"),
    Case("16", R16, ethereum(WITH_ABI, data=call(BATCH, [ITEM, (OTHER, 0, b"")])), IMPLICIT, "another target"),
    Case("16", R16_NAMES, ethereum(WITH_ABI, data=call(BATCH, [ITEM, ITEM])), ERROR, "members by name"),
    Case("17", R17, permit(TOKEN), OK),
    Case("17", R17, permit(TOKEN, TOKEN), OK, "two"),
    Case("17", R17, permit(TOKEN, OTHER), IMPLICIT, "another token"),
    Case("17", R17, payload(), ERROR, "hex payload"),
    Case("18", R18, payload(), EXPLICIT),
    Case("18", R18, permit(TOKEN), OK, "typed data"),
    Case("18", R18, payload(hashed="SHA256"), OK, "hashed"),
    Case("18", R18, payload(), EXPLICIT, "the older type", "P1", older=True),
    Case("18", R18, ethereum(), OK, "a transaction"),
    Case("26", R26, tempo((CALLED, ERC20_ISH)), OK),
    Case("26", R26, tempo((CALLED, ERC20_ISH), (OTHER, b"")), IMPLICIT, "another contract too"),
    Case("26", R26, tempo((CALLED, b"")), ERROR, "no calldata"),
    Case("26", R26, ethereum(CALLED, data=ERC20_ISH), ERROR, "a transaction of Ethereum"),
    Case("7702", R7702, AUTHORIZED, OK),
    Case("7702", R7702, payload(AUTHORIZATION, "KECCAK256", "PAYLOAD_ENCODING_TEXT_UTF8"), ERROR, "as text"),
    Case("type", R_TYPE, ethereum(), OK),
    Case("type", R_TYPE, tempo((CALLED, b"")), IMPLICIT),
    Case("account", R_ACCOUNT, ethereum(), OK),
    Case("account", R_ACCOUNT, ethereum(), ERROR, "a private key", by="P1"),
    Case("tag", R_TAG, ethereum(), OK, by="P1"),
    Case("tag", R_TAG, ethereum(), IMPLICIT, "without the tag", by="P2"),
    Case("fees", R_GAS, ethereum(), OK),
]


@dataclass(frozen=True)
class Stage:
    """A user without rights, and the keys that the cases name: their ids, and by what requests name them."""

    root: Caller
    user: Caller
    ids: dict[str, str]
    sign_with: dict[str, str]

    @contextmanager
    def policies(self, texts: tuple[str, ...]) -> Iterator[list[str]]:
        """For this user alone, and gone when the case is done."""
        made = []
        for text in texts:
            effect, condition = ("DENY", text[5:]) if text.startswith("DENY ") else ("ALLOW", text)
            for name, id_ in self.ids.items():
                condition = condition.replace(f"'{name}'", f"'{id_}'")
            consensus = f"approvers.any(u, u.id == '{self.user.user_id}')"
            params = policy_params(effect=f"EFFECT_{effect}", condition=condition, consensus=consensus)
            made.append(self.root.result("create_policy", params)["policyId"])
        try:
            yield made
        finally:
            self.root.submitted("delete_policies", {"policyIds": made})

    def sign(self, case: Case) -> httpx.Response:
        name = "sign_transaction" if "unsignedTransaction" in case.asked else "sign_raw_payload"
        if not case.older:
            return self.user.submit(name, {"signWith": self.sign_with[case.by], **case.asked})
        asked = {"privateKeyId": self.ids[case.by], **case.asked}
        return self.user.submit(name, asked, type=f"ACTIVITY_TYPE_{name.upper()}")


@pytest.fixture(scope="module")
def stage(server: Any) -> Stage:
    root: Caller = server.caller
    ids, sign_with = {}, {}
    for name in ("W1", "W2"):
        wallet = root.result("create_wallet", {"walletName": unique("wallet"), "accounts": [ETHEREUM_ACCOUNT]})
        ids[name], sign_with[name] = wallet["walletId"], wallet["addresses"][0]
    for name in ("P1", "P2"):
        key = root.result("create_private_keys", {"privateKeys": [private_key_params()]})["privateKeys"][0]
        ids[name] = sign_with[name] = key["privateKeyId"]
    tag = {"privateKeyTagName": unique("tag"), "privateKeyIds": [ids["P1"]]}
    ids["T1"] = root.result("create_private_key_tag", tag)["privateKeyTagId"]
    interface = {
        "smartContractAddress": WITH_ABI,
        "smartContractInterface": json.dumps(ABI),
        "type": "SMART_CONTRACT_INTERFACE_TYPE_ETHEREUM",
        "label": unique("interface"),
    }
    root.submitted("create_smart_contract_interface", interface)
    return Stage(root, root.new_user(), ids, sign_with)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_example(case: Case, stage: Stage) -> None:
    with stage.policies(case.policies) as made:
        response = stage.sign(case)
    if case.expected == OK:
        assert response.status_code == 200, response.text
        assert response.json()["activity"]["status"] == "ACTIVITY_STATUS_COMPLETED"
        return
    assert refusal(response)[0] == 403
    (detail,) = response.json()["details"]
    assert detail["message"].startswith("The following policies denied") is (case.expected == EXPLICIT)
    outcomes = {each["policyId"]: each["outcome"] for each in detail["policyEvaluations"]}
    if case.expected != EXPLICIT:
        expected = "OUTCOME_ERROR" if case.expected == ERROR else "OUTCOME_DENY_IMPLICIT"
        assert outcomes[made[0]] == expected


def test_an_interface_is_found_whatever_its_letter_case(stage: Stage) -> None:
    with stage.policies(("eth.tx.function_signature == '0xD0E30DB0'",)):
        asked = {"signWith": stage.sign_with["W1"].lower(), **ethereum(WITH_ABI, data=call("deposit()"))}
        stage.user.submitted("sign_transaction", asked)


def test_typed_data_is_signed_one_at_a_time(stage: Stage) -> None:
    """Policies have words for one; a second would be signed unseen."""
    one, shared = permit(TOKEN), {"signWith": stage.sign_with["W1"]}
    text = one.pop("payload")
    with stage.policies(R17):
        stage.user.submitted("sign_raw_payloads", {**shared, **one, "payloads": [text]})
        status, message = refusal(stage.user.submit("sign_raw_payloads", {**shared, **one, "payloads": [text] * 2}))
    assert (status, "only one payload" in message) == (400, True)
