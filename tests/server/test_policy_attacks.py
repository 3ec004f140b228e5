"""Attacks on policies, over HTTP: ways past a rule that is meant to deny, or to ask for more proofs."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
import rlp
from eth_abi.abi import encode
from eth_hash.auto import keccak

from keystead.stamps.signing import generate_api_key
from tests.conftest import MakeDatabase
from tests.support.authorization_scenario import new_sub_organization
from tests.support.callers import SDK_FORM, Caller, answered, api_key_params, refusal, unique
from tests.support.organization_fixtures import ETHEREUM_ACCOUNT, policy_params, private_key_params
from tests.support.servers import Server, bootstrap_installation, running

TOKEN, SPENDER = "0x" + "cd" * 20, "0x" + "0d" * 20
MOST = 2**256 - 1
ABI = [
    {
        "type": "function",
        "name": "approve",
        "inputs": [{"name": "spender", "type": "address"}, {"name": "amount", "type": "uint256"}],
    }
]
ALLOW_SIGNING = "activity.action == 'SIGN'"
PAYLOAD = {"encoding": "PAYLOAD_ENCODING_HEXADECIMAL", "hashFunction": "HASH_FUNCTION_NO_OP"}
TYPED = {"encoding": "PAYLOAD_ENCODING_EIP712", "hashFunction": "HASH_FUNCTION_NO_OP"}


def number(value: int) -> bytes:
    return value.to_bytes((value.bit_length() + 7) // 8)


def transaction(value: int = 0, data: bytes = b"") -> dict[str, Any]:
    to = bytes.fromhex(TOKEN[2:])
    unsigned = b"\2" + rlp.encode([b"\1", b"", b"\1", b"\2", b"\x52\x08", to, number(value), data, []])
    return {"unsignedTransaction": unsigned.hex(), "type": "TRANSACTION_TYPE_ETHEREUM"}


def approval(amount: int) -> dict[str, Any]:
    selector = bytes(keccak(b"approve(address,uint256)")[:4])
    return transaction(data=selector + encode(["address", "uint256"], [SPENDER, amount]))


def permit(value: int) -> dict[str, Any]:
    document = {
        "types": {"Permit": [{"name": "spender", "type": "address"}, {"name": "value", "type": "uint256"}]},
        "primaryType": "Permit",
        "domain": {"name": "Token"},
        "message": {"spender": SPENDER, "value": str(value)},
    }
    return {"payload": json.dumps(document), **TYPED}


def claim(amount: int | str) -> dict[str, Any]:
    """Typed data whose amount is a number or a text, as its author declares it."""
    kind = "uint256" if isinstance(amount, int) else "string"
    document = {
        "types": {"Claim": [{"name": "amount", "type": kind}]},
        "primaryType": "Claim",
        "domain": {"name": "Token"},
        "message": {"amount": amount},
    }
    return {"payload": json.dumps(document), **TYPED}


@dataclass
class Signing:
    """An organization whose user `user` may sign, by a wallet account or a private key, unless a policy denies
    it."""

    root: Caller
    user: Caller
    address: str
    private_key_id: str
    policies: list[str] = field(default_factory=list)

    def deny(self, condition: str) -> str:
        params = policy_params(effect="EFFECT_DENY", condition=condition, consensus="")
        made: str = self.root.result("create_policy", params)["policyId"]
        self.policies.append(made)
        return made

    def sign(self, operation: str, members: dict[str, Any], **envelope: Any) -> httpx.Response:
        return self.user.submit(operation, {"signWith": self.address, **members}, **envelope)

    def ask_for_mfa(self, condition: str, order: int = 1) -> None:
        methods = [{"any": [{"type": "AUTHENTICATION_TYPE_API_KEY"}]}] * 2
        asked = {
            "userId": self.user.user_id,
            "mfaPolicyName": unique("mfa"),
            "condition": condition,
            "requiredAuthenticationMethods": methods,
            "order": order,
        }
        self.root.result("create_mfa_policy", asked)


def signing(caller: Caller) -> Signing:
    root = new_sub_organization(caller)
    wallet = root.result("create_wallet", {"walletName": "wallet", "accounts": [ETHEREUM_ACCOUNT]})
    key = root.result("create_private_keys", {"privateKeys": [private_key_params()]})["privateKeys"][0]
    interface = {
        "smartContractAddress": TOKEN,
        "smartContractInterface": json.dumps(ABI),
        "type": "SMART_CONTRACT_INTERFACE_TYPE_ETHEREUM",
        "label": "token",
    }
    root.submitted("create_smart_contract_interface", interface)
    root.result("create_policy", policy_params(condition=ALLOW_SIGNING, consensus=""))
    return Signing(root, root.new_user(), wallet["addresses"][0], key["privateKeyId"])


@pytest.fixture(scope="module")
def shared(sqlite_server: Server) -> Signing:
    return signing(sqlite_server.caller)


@pytest.fixture
def organization(shared: Signing) -> Iterator[Signing]:
    """The shared organization, without the policies that the test makes once it ends."""
    yield shared
    if shared.policies:
        shared.root.submitted("delete_policies", {"policyIds": shared.policies})
        shared.policies.clear()


NUMBERS = {
    "an argument of 2^256-1": (
        "eth.tx.contract_call_args['amount'] > 1000000",
        ("sign_transaction", approval(1_000_000)),
        ("sign_transaction", approval(MOST)),
    ),
    "a permit of 2^256-1": (
        "eth.eip_712.message['value'] > 1000000",
        ("sign_raw_payload", permit(1_000_000)),
        ("sign_raw_payload", permit(MOST)),
    ),
    "a transaction of 2^127 wei": (
        "eth.tx.value > 1000000",
        ("sign_transaction", transaction(1_000_000)),
        ("sign_transaction", transaction(2**127)),
    ),
    "a limit above 2^128": (
        f"eth.tx.value > {2**200}",
        ("sign_transaction", transaction(2**200)),
        ("sign_transaction", transaction(2**200 + 1)),
    ),
    "a number of 700 digits": (
        "eth.eip_712.message['amount'] > 1000000",
        ("sign_raw_payload", claim(1_000_000)),
        ("sign_raw_payload", claim("9" * 700)),
    ),
    "a text in place of a number": (
        "eth.eip_712.message['amount'] > 1000000",
        ("sign_raw_payload", claim(5)),
        ("sign_raw_payload", claim("5")),
    ),
}


@pytest.mark.parametrize("case", NUMBERS.values(), ids=NUMBERS)
def test_numbers_do_not_silence_a_denial(case: Any, organization: Signing) -> None:
    condition, below, above = case
    organization.deny(condition)
    assert organization.sign(*below).status_code == 200
    status, message = refusal(organization.sign(*above))
    assert status == 403
    assert "A policy denies it" in message


@pytest.mark.parametrize("case", NUMBERS.values(), ids=NUMBERS)
def test_numbers_do_not_silence_an_mfa_policy(case: Any, sqlite_server: Server) -> None:
    condition, below, above = case
    organization = signing(sqlite_server.caller)
    organization.ask_for_mfa(condition)
    for asked, status in ((below, "COMPLETED"), (above, "AUTHENTICATORS_NEEDED")):
        activity = answered(organization.sign(*asked))["activity"]
        assert activity["status"] == f"ACTIVITY_STATUS_{status}"


OLDER = "ACTIVITY_TYPE_SIGN_TRANSACTION"
VERSIONS = {
    "the newer type named": "activity.type == 'ACTIVITY_TYPE_SIGN_TRANSACTION_V2'",
    "in a list": "activity.type in ['ACTIVITY_TYPE_SIGN_TRANSACTION_V2', 'ACTIVITY_TYPE_SIGN_RAW_PAYLOAD_V2']",
    "with its parameters": (
        "activity.type == 'ACTIVITY_TYPE_SIGN_TRANSACTION_V2'"
        " && activity.params.type == 'TRANSACTION_TYPE_ETHEREUM' && eth.tx.value > 5"
    ),
    "by kind, with parameters": (
        "activity.kind == 'SIGN_TRANSACTION' && activity.params.type == 'TRANSACTION_TYPE_ETHEREUM'"
        " && eth.tx.value > 5"
    ),
    "all but another": (
        "!(activity.type == 'ACTIVITY_TYPE_SIGN_RAW_PAYLOAD_V2') && activity.action == 'SIGN' && eth.tx.value > 5"
    ),
}


def by_older_version(organization: Signing, members: dict[str, Any]) -> httpx.Response:
    asked = {"privateKeyId": organization.private_key_id, **members}
    return organization.user.submit("sign_transaction", asked, type=OLDER)


@pytest.mark.parametrize("condition", VERSIONS.values(), ids=VERSIONS)
def test_an_older_version_does_not_pass_a_denial(condition: str, organization: Signing) -> None:
    organization.deny(condition)
    assert refusal(by_older_version(organization, transaction(6)))[0] == 403
    assert refusal(organization.sign("sign_transaction", transaction(6)))[0] == 403


def test_an_older_version_does_not_pass_an_mfa_condition(sqlite_server: Server) -> None:
    organization = signing(sqlite_server.caller)
    organization.ask_for_mfa(VERSIONS["with its parameters"])
    activity = answered(by_older_version(organization, transaction(6)))["activity"]
    assert activity["status"] == "ACTIVITY_STATUS_AUTHENTICATORS_NEEDED"


def test_in_an_allow_policy_a_type_stands_for_itself(sqlite_server: Server) -> None:
    organization = signing(sqlite_server.caller)
    (policy,) = organization.root.asked("list_policies")["policies"]
    changed = {"policyId": policy["policyId"], "policyCondition": VERSIONS["the newer type named"]}
    organization.root.result("update_policy", changed)
    assert organization.sign("sign_transaction", transaction()).status_code == 200
    assert refusal(by_older_version(organization, transaction()))[0] == 403


# Raw payloads

RAW = {
    "a digest": ("sign_raw_payload", {"payload": "ab" * 32, **PAYLOAD}),
    "several digests": ("sign_raw_payloads", {"payloads": ["ab" * 32, "cd" * 32], **PAYLOAD}),
    "a text": (
        "sign_raw_payload",
        {"payload": "x", "encoding": "PAYLOAD_ENCODING_TEXT_UTF8", "hashFunction": "HASH_FUNCTION_KECCAK256"},
    ),
}


@pytest.fixture(scope="module")
def strict_server(make_sqlite: MakeDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that refuses raw payloads where policies restrict transactions."""
    installation = bootstrap_installation(make_sqlite())
    settings = {"refuse_raw_payloads": "true"}
    with running(installation, tmp_path_factory.mktemp("strict") / "log", settings) as server:
        yield server
    installation.database.close()


@pytest.mark.parametrize("asked", RAW.values(), ids=RAW)
def test_a_transaction_does_not_pass_as_a_raw_payload(asked: Any, strict_server: Server) -> None:
    organization = signing(strict_server.caller)
    assert organization.sign(*asked).status_code == 200
    organization.deny("eth.tx.value > 1000000")
    status, message = refusal(organization.sign(*asked))
    assert status == 403
    assert "raw payloads" in message
    assert organization.sign("sign_raw_payload", permit(1)).status_code == 200
    assert organization.sign("sign_transaction", transaction(5)).status_code == 200
    by_root = organization.root.submit(asked[0], {"signWith": organization.address, **asked[1]})
    assert by_root.status_code == 200


@pytest.mark.parametrize("asked", RAW.values(), ids=RAW)
def test_an_mfa_policy_about_transactions_asks_for_proofs_of_a_raw_payload(
    asked: Any, strict_server: Server, sqlite_server: Server
) -> None:
    for server, status in ((strict_server, "AUTHENTICATORS_NEEDED"), (sqlite_server, "COMPLETED")):
        organization = signing(server.caller)
        organization.ask_for_mfa("eth.tx.value > 1000000")
        activity = answered(organization.sign(*asked))["activity"]
        assert activity["status"] == f"ACTIVITY_STATUS_{status}"
        assert organization.sign("sign_transaction", transaction(5)).status_code == 200


@pytest.mark.parametrize("asked", RAW.values(), ids=RAW)
def test_the_documented_policy_denies_raw_payloads(asked: Any, organization: Signing) -> None:
    organization.deny(
        "activity.kind in ['SIGN_RAW_PAYLOAD', 'SIGN_RAW_PAYLOADS'] && activity.params.encoding in"
        " ['PAYLOAD_ENCODING_HEXADECIMAL', 'PAYLOAD_ENCODING_TEXT_UTF8']"
    )
    assert refusal(organization.sign(*asked))[0] == 403
    assert organization.sign("sign_raw_payload", permit(1)).status_code == 200


# The second step of an MFA policy


def second_key(organization: Signing) -> tuple[httpx.Response, Caller]:
    key = generate_api_key()
    asked = {"userId": organization.user.user_id, "apiKeys": [api_key_params(key.public_key)]}
    response = organization.user.submit("create_api_keys", asked, SDK_FORM)
    return response, organization.user.with_key(key, organization.user.user_id)


def test_a_key_made_by_own_right_before_the_submission_proves_no_second_step(sqlite_server: Server) -> None:
    organization = signing(sqlite_server.caller)
    organization.ask_for_mfa("activity.action == 'SIGN'")
    response, second = second_key(organization)
    # Adding credentials needs the proofs that any of the user's MFA policies asks for.
    assert answered(response)["activity"]["status"] == "ACTIVITY_STATUS_AUTHENTICATORS_NEEDED"
    activity = answered(organization.sign("sign_transaction", transaction()))["activity"]
    assert activity["status"] == "ACTIVITY_STATUS_AUTHENTICATORS_NEEDED"
    assert second.submit("approve_activity", {"fingerprint": activity["fingerprint"]}).status_code == 401


def test_a_key_registered_after_the_submission_proves_no_second_step(sqlite_server: Server) -> None:
    organization = signing(sqlite_server.caller)
    organization.ask_for_mfa("activity.action == 'SIGN'")
    activity = answered(organization.sign("sign_transaction", transaction()))["activity"]
    time.sleep(0.002)  # Registered in a later millisecond.
    key = generate_api_key()
    asked = {"userId": organization.user.user_id, "apiKeys": [api_key_params(key.public_key)]}
    organization.root.result("create_api_keys", asked)
    second = organization.user.with_key(key, organization.user.user_id)
    voted = answered(second.submit("approve_activity", {"fingerprint": activity["fingerprint"]}))["activity"]
    assert voted["status"] == "ACTIVITY_STATUS_AUTHENTICATORS_NEEDED"
    # It proves the step of what is submitted from now on.
    later = answered(organization.sign("sign_transaction", transaction(1)))["activity"]
    done = answered(second.submit("approve_activity", {"fingerprint": later["fingerprint"]}))["activity"]
    assert done["status"] == "ACTIVITY_STATUS_COMPLETED"


# Policies that cost much


def long_condition(number: int, characters: int) -> str:
    atom = f"wallet.id=='{number:06}'"
    return "||".join([atom] * (characters // (len(atom) + 2)))


def test_characters_of_policies_are_limited(sqlite_server: Server) -> None:
    root = new_sub_organization(sqlite_server.caller)
    too_long = policy_params(
        condition=long_condition(0, 9_000), consensus="approvers.any(u,u.id=='a')||" * 40 + "true"
    )
    status, message = refusal(root.submit("create_policy", too_long))
    assert status == 429
    assert "characters of one policy: 0 of 10000 are in use" in message
    many = [policy_params(policyName=f"p{n}", condition=long_condition(n, 4_000)) for n in range(60)]
    status, message = refusal(root.submit("create_policies", {"policies": many}))
    assert status == 429
    assert "characters of policies: 0 of 200000 are in use" in message
    made = root.result("create_policies", {"policies": many[:40]})["policyIds"]
    longer = {"policyId": made[0], "policyCondition": long_condition(99, 9_900)}
    for policy_id in made[1:7]:
        root.result("update_policy", longer | {"policyId": policy_id})
    assert refusal(root.submit("update_policy", longer))[0] == 429


def test_characters_of_mfa_policies_are_limited(sqlite_server: Server) -> None:
    organization = signing(sqlite_server.caller)
    organization.ask_for_mfa(long_condition(0, 9_000))
    with pytest.raises(AssertionError, match="characters of one user's MFA policies"):
        organization.ask_for_mfa(long_condition(1, 2_000), order=2)


# What authors are told


def test_warnings_reach_the_author(sqlite_server: Server) -> None:
    root = new_sub_organization(sqlite_server.caller)
    assert root.asked("list_policy_warnings") == {"policyWarnings": []}
    written = [
        (("ALLOWS_EVERYTHING",), policy_params(condition="", consensus="")),
        (("NEVER_APPLIES",), policy_params(condition="wallet.id == private_key.id")),
        (
            ("IMPOSSIBLE_LITERAL",),
            policy_params(condition="true", consensus="approvers.any(u, u.id == 'gone')"),
        ),
        (
            ("RAW_PAYLOAD",),
            policy_params(
                effect="EFFECT_DENY",
                condition="activity.kind == 'SIGN_TRANSACTION'"
                " && activity.params.type == 'TRANSACTION_TYPE_ETHEREUM' && eth.tx.value > 5",
            ),
        ),
        (
            ("OTHER_KIND", "OTHER_ADDRESS"),
            policy_params(
                effect="EFFECT_DENY",
                condition=f"activity.kind == 'EXPORT_WALLET_ACCOUNT' && wallet_account.address == '{TOKEN}'",
            ),
        ),
    ]
    made = root.result("create_policies", {"policies": [params for _, params in written]})["policyIds"]
    expected = [(id_, code) for id_, (codes, _) in zip(made, written, strict=True) for code in codes]
    warnings = root.asked("list_policy_warnings")["policyWarnings"]
    assert [(each["policyId"], each["code"]) for each in warnings] == expected
    assert all(each["policyName"] in each["message"] for each in warnings)
    logged = [line for line in sqlite_server.log_lines() if line.get("organization_id") == root.organization_id]
    assert {line.get("code") for line in logged if line.get("level") == "warning"} == {code for _, code in expected}
    root.submitted("delete_policies", {"policyIds": made})
    assert root.asked("list_policy_warnings") == {"policyWarnings": []}


def test_warnings_about_mfa_policies_reach_the_author(sqlite_server: Server) -> None:
    organization = signing(sqlite_server.caller)
    root = organization.root
    organization.ask_for_mfa("eth.tx.value > 5")
    (warning,) = root.asked("list_policy_warnings")["policyWarnings"]
    assert warning["code"] == "RAW_PAYLOAD"
    assert warning["message"].startswith(f"MFA policy '{warning['policyName']}'")
    logged = [line for line in sqlite_server.log_lines() if line.get("organization_id") == root.organization_id]
    assert [line["code"] for line in logged if line.get("level") == "warning"] == ["RAW_PAYLOAD"]
    organization.ask_for_mfa("activity.kind in ['SIGN_RAW_PAYLOAD', 'SIGN_RAW_PAYLOADS']", order=2)
    assert root.asked("list_policy_warnings") == {"policyWarnings": []}


@pytest.mark.parametrize(
    "condition",
    [
        "eth.eip_712.message['amount'] == '03'",
        "eth.eip_712.message['amount'] == '3'",
        "eth.eip_712.message['amount'] != '4'",
        "!(eth.eip_712.message['amount'] == '3')",
        "'3' == eth.eip_712.message['amount']",
        "eth.eip_712.message['amount'] in ['3', '4']",
        "eth.eip_712.message['amount'] == eth.eip_712.domain.name",
        "eth.eip_712.message['amount'].count() == 1",
        "eth.eip_712.message['amount'][0] == 3",
    ],
)
def test_a_number_is_no_string(condition: str, organization: Signing) -> None:
    """tkhq/docs#706: in the public service, the outcome of such a comparison is OUTCOME_ERROR."""
    signed = answered(organization.sign("sign_raw_payload", claim(3)))["activity"]
    asked: dict[str, Any] = {
        "effect": "EFFECT_ALLOW",
        "condition": condition,
        "consensus": "",
        "time": "",
        "activityIds": [signed["id"]],
        "policyId": None,
    }
    tried = organization.root.asked("try_policy", **asked)["triedActivities"][0]
    assert tried["outcome"] == "OUTCOME_ERROR"
    organization.deny(condition)
    assert refusal(organization.sign("sign_raw_payload", claim(3)))[0] == 403
