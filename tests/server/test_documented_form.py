"""The four documented operations, field by field: exactly the members of the API's tables, each of its type."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Callable
from typing import Any

import pytest
from solders.pubkey import Pubkey

from keystead.operations import CATALOGUE
from tests.compatibility.test_python_client import unique
from tests.support.callers import SDK_FORM, Caller
from tests.support.operation_examples import SUBMISSIONS
from tests.support.organization_fixtures import ERC20_TRANSFER, IDL, RecordIds, interface_params
from tests.support.servers import Installation, Server

pytestmark = pytest.mark.one_engine

SECONDS, NANOS, UUID = (
    re.compile(r"\d+"),
    re.compile(r"\d{1,9}"),
    re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
)
RFC3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
FINGERPRINT = re.compile(r"sha256:[0-9a-f]{64}")

TIMESTAMP = {"seconds": SECONDS, "nanos": NANOS}
TIMES = {"createdAt": TIMESTAMP, "updatedAt": TIMESTAMP}
WALLET = {"walletId": UUID, "walletName": str, "exported": bool, "imported": bool, **TIMES}
CREDENTIAL = {"publicKey": str, "type": re.compile("CREDENTIAL_TYPE_[A-Z0-9_]+"), "sessionProfileId": str}
AUTHENTICATOR = {
    "authenticatorId": UUID,
    "authenticatorName": str,
    "transports": [re.compile("AUTHENTICATOR_TRANSPORT_[A-Z]+")],
    "attestationType": str,
    "aaguid": str,
    "credentialId": str,
    "model": str,
    "credential": CREDENTIAL,
    **TIMES,
}
API_KEY = {"apiKeyId": UUID, "apiKeyName": str, "credential": CREDENTIAL, "expirationSeconds": str, **TIMES}
OAUTH_PROVIDER = {"providerId": UUID, "providerName": str, "issuer": str, "audience": str, "subject": str, **TIMES}
WALLET_AUTHENTICATOR = {
    "walletAuthenticatorId": UUID,
    "type": re.compile("WALLET_AUTHENTICATOR_TYPE_[A-Z]+"),
    "address": str,
    "domain": str,
    **TIMES,
}
METHOD = {"type": re.compile("AUTHENTICATION_TYPE_[A-Z_]+"), "id": str}
MFA_POLICY = {
    "mfaPolicyId": UUID,
    "mfaPolicyName": str,
    "condition": str,
    "requiredAuthenticationMethods": [{"any": [METHOD]}],
    "order": int,
    "notes": str,
    **TIMES,
}
USER = {
    "userId": UUID,
    "userName": str,
    "userEmail": str,
    "userPhoneNumber": str,
    "authenticators": [AUTHENTICATOR],
    "apiKeys": [API_KEY],
    "userTags": [UUID],
    "oauthProviders": [OAUTH_PROVIDER],
    "mfaPolicies": [MFA_POLICY],
    "walletAuthenticators": [WALLET_AUTHENTICATOR],
    **TIMES,
}
VOTE = {
    "id": UUID,
    "userId": UUID,
    "user": USER,
    "activityId": UUID,
    "selection": re.compile("VOTE_SELECTION_(APPROVED|REJECTED)"),
    "message": str,
    "publicKey": str,
    "signature": str,
    "scheme": re.compile("SIGNATURE_SCHEME_TK_[A-Z0-9_]+"),
    "createdAt": TIMESTAMP,
}
INTENT = {
    "smartContractAddress": str,
    "smartContractInterface": str,
    "type": re.compile("SMART_CONTRACT_INTERFACE_TYPE_(ETHEREUM|SOLANA)"),
    "label": str,
    "notes": str,
}
RESULT = {"createSmartContractInterfaceResult": {"smartContractInterfaceId": UUID}}
ACTIVITY = {
    "id": UUID,
    "organizationId": UUID,
    "status": re.compile("ACTIVITY_STATUS_COMPLETED"),
    "type": re.compile("ACTIVITY_TYPE_CREATE_SMART_CONTRACT_INTERFACE"),
    "timestampMs": SECONDS,
    "intent": {"createSmartContractInterfaceIntent": INTENT},
    "result": RESULT,
    "votes": [VOTE],
    "fingerprint": FINGERPRINT,
    "canApprove": bool,
    "canReject": bool,
    "createdAt": RFC3339,
    "updatedAt": RFC3339,
}


def mismatches(shape: Any, value: Any, place: str = "$") -> list[str]:
    """Where the value differs from the shape: an object of exactly these members, a list, a type or a pattern."""
    if isinstance(shape, dict):
        if not isinstance(value, dict) or set(shape) != set(value):
            return [f"{place}: expected the members {sorted(shape)}, got {value!r}"]
        return [found for name in shape for found in mismatches(shape[name], value[name], f"{place}.{name}")]
    if isinstance(shape, list):
        if not isinstance(value, list):
            return [f"{place}: expected a list, got {value!r}"]
        return [found for i, item in enumerate(value) for found in mismatches(shape[0], item, f"{place}[{i}]")]
    if isinstance(shape, re.Pattern):
        fits = isinstance(value, str) and shape.fullmatch(value) is not None
    else:
        fits = type(value) is shape
    return [] if fits else [f"{place}: expected {shape}, got {value!r}"]


@pytest.fixture
def full_user(caller: Caller, record_ids: RecordIds) -> Any:
    """A user with one of everything, as list_users shows it."""
    made = caller.result("create_users", SUBMISSIONS["ACTIVITY_TYPE_CREATE_USERS_V4"](record_ids))
    user_id = made["userIds"][0]
    policy = SUBMISSIONS["ACTIVITY_TYPE_CREATE_MFA_POLICY"](record_ids)
    without_notes = {name: value for name, value in policy.items() if name != "notes"}
    any_passkey = [{"any": [{"type": "AUTHENTICATION_TYPE_PASSKEY"}]}]
    for params in (policy, without_notes | {"order": 1, "requiredAuthenticationMethods": any_passkey}):
        caller.submitted("create_mfa_policy", params | {"userId": user_id})
    wallets = SUBMISSIONS["ACTIVITY_TYPE_CREATE_WALLET_AUTHENTICATORS"](record_ids)
    caller.submitted("create_wallet_authenticators", wallets | {"userId": user_id})
    return listed_user(caller, user_id)


def listed_user(caller: Caller, user_id: str) -> Any:
    (user,) = (user for user in caller.asked("list_users")["users"] if user["userId"] == user_id)
    return user


def test_list_wallets(caller: Caller) -> None:
    made = caller.result("create_wallet", {"walletName": unique("wallet"), "accounts": []})
    answer = caller.asked("list_wallets")
    assert mismatches({"wallets": [WALLET]}, answer) == []
    (wallet,) = (wallet for wallet in answer["wallets"] if wallet["walletId"] == made["walletId"])
    assert (wallet["exported"], wallet["imported"], wallet["createdAt"]) == (False, False, wallet["updatedAt"])


def test_list_users(caller: Caller, full_user: Any, record_ids: RecordIds) -> None:
    assert mismatches({"users": [USER]}, caller.asked("list_users")) == []
    assert all(full_user.values())
    assert full_user["userTags"] == [record_ids.user_tag_id]
    assert [key["expirationSeconds"] for key in full_user["apiKeys"]] == ["", "3600"]
    assert [policy["notes"] for policy in full_user["mfaPolicies"]] == ["for exports", ""]
    method, any_passkey = (
        policy["requiredAuthenticationMethods"][0]["any"][0] for policy in full_user["mfaPolicies"]
    )
    assert (method["id"], any_passkey["id"]) == (record_ids.authenticator_id, "")


def test_absent_members_of_a_user_are_there_and_empty(caller: Caller) -> None:
    user = listed_user(caller, caller.new_user().user_id)
    empty = ("userEmail", "userPhoneNumber", "authenticators", "userTags", "oauthProviders", "mfaPolicies")
    assert [user[name] for name in empty] == ["", "", [], [], [], []]


def test_get_authenticator(caller: Caller, record_ids: RecordIds) -> None:
    answer = caller.asked("get_authenticator", authenticatorId=record_ids.authenticator_id)
    authenticator = answer["authenticator"]
    assert mismatches({"authenticator": AUTHENTICATOR}, answer) == []
    assert authenticator["authenticatorId"] == record_ids.authenticator_id
    assert authenticator["credential"]["type"] == "CREDENTIAL_TYPE_WEBAUTHN_AUTHENTICATOR"
    assert (authenticator["attestationType"], authenticator["aaguid"], authenticator["model"]) == (
        "none",
        "AAAAAAAAAAAAAAAAAAAAAA",
        "Security key",
    )


def test_create_smart_contract_interface(caller: Caller) -> None:
    parameters = interface_params()
    body = caller.submit_body("create_smart_contract_interface", parameters)
    answer = caller.post("/public/v1/submit/create_smart_contract_interface", body).json()
    activity = answer["activity"]
    nested = activity["result"].pop("activity")
    assert mismatches({"activity": ACTIVITY}, answer) == []
    assert nested == activity
    assert activity["intent"] == {"createSmartContractInterfaceIntent": parameters}
    assert activity["timestampMs"] == json.loads(body)["timestampMs"]
    assert activity["fingerprint"] == f"sha256:{hashlib.sha256(body).hexdigest()}"
    assert activity["organizationId"] == caller.organization_id
    assert [(vote["userId"], vote["message"]) for vote in activity["votes"]] == [(caller.user_id, body.decode())]
    assert (activity["canApprove"], activity["canReject"]) == (False, False)


def test_created_interface_can_be_read(caller: Caller) -> None:
    parameters = interface_params()
    made = caller.result("create_smart_contract_interface", parameters)
    got = caller.asked("get_smart_contract_interface", **made)["smartContractInterface"]
    assert {name: got[name] for name in parameters} == parameters
    assert mismatches(INTENT | {"smartContractInterfaceId": UUID, "organizationId": UUID, **TIMES}, got) == []
    assert got in caller.asked("list_smart_contract_interfaces")["smartContractInterfaces"]


NOTES: list[dict[str, Any]] = [{}, {"notes": None}, {"notes": ""}]


@pytest.mark.parametrize("notes", NOTES, ids=str)
def test_absent_notes_are_echoed_as_empty(notes: dict[str, Any], caller: Caller) -> None:
    parameters = {name: value for name, value in interface_params().items() if name != "notes"} | notes
    activity = caller.submitted("create_smart_contract_interface", parameters)
    assert activity["intent"]["createSmartContractInterfaceIntent"]["notes"] == ""


def test_created_interface_of_a_solana_program(caller: Caller) -> None:
    address = str(Pubkey.from_bytes(secrets.token_bytes(32)))
    parameters = interface_params(
        type="SMART_CONTRACT_INTERFACE_TYPE_SOLANA", smartContractAddress=address, smartContractInterface=IDL
    )
    activity = caller.submitted("create_smart_contract_interface", parameters)
    assert activity["intent"] == {"createSmartContractInterfaceIntent": parameters}


def test_an_interface_of_exactly_the_limit(caller: Caller) -> None:
    text = ERC20_TRANSFER + " " * (409_600 - len(ERC20_TRANSFER))
    made = caller.result("create_smart_contract_interface", interface_params(smartContractInterface=text))
    got = caller.asked("get_smart_contract_interface", **made)["smartContractInterface"]
    assert got["smartContractInterface"] == text


@pytest.mark.parametrize("query", ["get_activity", "list_activities"])
def test_the_activity_reads_the_same_later(query: str, caller: Caller) -> None:
    for headers in ({}, SDK_FORM):
        made = caller.submitted("create_smart_contract_interface", interface_params(), headers)
        if query == "get_activity":
            read = caller.asked("get_activity", headers, activityId=made["id"])["activity"]
        else:
            read = caller.asked("list_activities", headers)["activities"][0]
        assert read == made


def test_answers_without_the_documented_extras_in_sdk_form(caller: Caller, full_user: Any) -> None:
    """Absent optional members are left out, and lists are there even if they are empty."""
    bare = caller.asked("get_user", SDK_FORM, userId=caller.new_user().user_id)["user"]
    assert set(bare) == set(USER) - {"userEmail", "userPhoneNumber"}
    assert set(bare["apiKeys"][0]) == set(API_KEY) - {"expirationSeconds"}
    assert set(bare["apiKeys"][0]["credential"]) == {"publicKey", "type"}
    full = caller.asked("get_user", SDK_FORM, userId=full_user["userId"])["user"]
    assert set(full) == set(USER)


def test_an_activity_in_sdk_form(caller: Caller) -> None:
    activity = caller.submitted("create_smart_contract_interface", interface_params(), SDK_FORM)
    assert set(activity) == set(ACTIVITY) - {"timestampMs"}
    assert mismatches(TIMES, {name: activity[name] for name in TIMES}) == []
    assert set(activity["result"]) == set(RESULT)


@pytest.mark.parametrize("form", ["documented", "sdk"])
def test_the_setting_forces_a_form(form: str, installation: Installation, start: Callable[..., Server]) -> None:
    caller = start(installation, answer_form=form).caller
    for headers in ({}, SDK_FORM):
        activity = caller.submitted("create_user_tag", {"userTagName": str(headers), "userIds": []}, headers)
        assert isinstance(activity["createdAt"], str) == (form == "documented")


UNSUPPORTED = {
    "ACTIVITY_TYPE_CREATE_PRIVATE_KEYS_V2": ("externalSignerPubkey", "externalSignerWrappingKeyId"),
    "ACTIVITY_TYPE_SIGN_RAW_PAYLOAD_V2": ("externalSignerPubkey",),
    "ACTIVITY_TYPE_SIGN_RAW_PAYLOADS": ("externalSignerPubkey",),
    "ACTIVITY_TYPE_SIGN_TRANSACTION_V2": ("externalSignerPubkey",),
}


@pytest.mark.parametrize("headers", [{}, SDK_FORM], ids=["documented", "sdk"])
@pytest.mark.parametrize("activity_type", UNSUPPORTED)
def test_no_answer_has_a_member_that_is_not_supported(
    activity_type: str, headers: dict[str, str], caller: Caller, record_ids: RecordIds
) -> None:
    """Also not as "", as published clients may send it. Only a vote has it, in what the caller signed."""
    operation = CATALOGUE.of_type(activity_type)
    assert operation is not None
    sent = SUBMISSIONS[activity_type](record_ids) | dict.fromkeys(UNSUPPORTED[activity_type], "")
    response = caller.submit(operation.name, sent, headers)
    assert response.status_code == 200, response.text
    activity = response.json()["activity"]
    result, again = dict(activity["result"]), activity["result"].get("activity", activity)
    result.pop("activity", None)  # the documented form repeats the activity here
    assert "externalSigner" not in json.dumps([activity["intent"], again["intent"], result])
