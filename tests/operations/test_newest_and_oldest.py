"""What only the newest or only the oldest published clients send."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.authorization_scenario import new_sub_organization
from tests.support.callers import Caller, refusal, unique
from tests.support.example_users import older_api_key, oldest_root_user
from tests.support.operation_examples import HASHED_TEXT, TRANSACTION, RecordIds
from tests.support.organization_fixtures import invitation_params, policy_params, private_key_params
from tests.support.passkeys import SoftPasskey

SIGNED: list[tuple[str, dict[str, Any]]] = [
    ("sign_raw_payload", {"payload": "ada", **HASHED_TEXT}),
    ("sign_transaction", TRANSACTION),
]


@pytest.mark.parametrize(("operation", "what"), SIGNED, ids=[operation for operation, _ in SIGNED])
def test_first_versions_sign_with_an_id_or_with_an_address(
    operation: str, what: dict[str, Any], caller: Caller, record_ids: RecordIds
) -> None:
    first = f"ACTIVITY_TYPE_{operation.upper()}"
    named = {"signWith": record_ids.private_key_id}
    current = caller.result(operation, what | named)
    for way in (named, {"privateKeyId": record_ids.private_key_id}):
        assert caller.result(operation, what | way, type=first) == current
    for way in ({}, {"privateKeyId": record_ids.private_key_id, **named}):
        status, message = refusal(caller.submit(operation, what | way, type=first))
        assert (status, "expected one of `privateKeyId` and `signWith`" in message) == (400, True), message


PUBKEY, WRAPPING_KEY = "externalSignerPubkey", "externalSignerWrappingKeyId"
EXTERNALLY_SIGNED: list[tuple[str, dict[str, Any], str]] = [
    *((operation, what, PUBKEY) for operation, what in SIGNED),
    ("sign_raw_payloads", {"payloads": ["ada"], **HASHED_TEXT}, PUBKEY),
    ("create_private_keys", {"privateKeys": [private_key_params()]}, PUBKEY),
    ("create_private_keys", {"privateKeys": [private_key_params()]}, WRAPPING_KEY),
]


@pytest.mark.parametrize(
    ("operation", "what", "field"),
    EXTERNALLY_SIGNED,
    ids=[f"{name}-{field}" for name, _, field in EXTERNALLY_SIGNED],
)
def test_an_external_signer_is_refused_by_name(
    operation: str, what: dict[str, Any], field: str, caller: Caller, record_ids: RecordIds
) -> None:
    named = {"signWith": record_ids.private_key_id} if operation.startswith("sign") else {}
    status, message = refusal(caller.submit(operation, what | named | {field: "04" * 65}))
    assert (status, f"field `parameters.{field}`: this server has no such feature" in message) == (400, True), (
        message
    )
    made = {"privateKeys": [private_key_params()]} if operation == "create_private_keys" else {}
    caller.submitted(operation, what | named | made | {field: ""})


def test_users_with_api_keys_only(caller: Caller) -> None:
    key = older_api_key()
    user = {"userName": "Ada", "userEmail": "ada@example.com", "userTags": [], "apiKeys": [key]}
    (user_id,) = caller.result("create_api_only_users", {"apiOnlyUsers": [user]})["userIds"]
    made = caller.asked("get_user", userId=user_id)["user"]
    assert (made["userName"], made["userEmail"], len(made["apiKeys"])) == ("Ada", "ada@example.com", 1)
    nobody = {"userName": "Ada", "userTags": [], "apiKeys": []}
    status, message = refusal(caller.submit("create_api_only_users", {"apiOnlyUsers": [nobody]}))
    assert (status, "user missing valid credential" in message) == (400, True), message


@pytest.mark.parametrize("version", ["", "_V2", "_V3", "_V4"])
def test_sub_organizations_of_the_first_versions(version: str, caller: Caller) -> None:
    passkey = SoftPasskey().params()
    named = {"subOrganizationName": "Sub", "rootUsers": [oldest_root_user()], "rootQuorumThreshold": 1}
    parameters: dict[str, dict[str, Any]] = {
        "": {"name": "Sub", "rootAuthenticator": passkey},
        "_V2": named,
        "_V3": named | {"privateKeys": [private_key_params()]},
        "_V4": named | {"wallet": {"walletName": "first", "accounts": []}, "disableEmailAuth": True},
    }
    made = caller.result(
        "create_sub_organization",
        parameters[version],
        type=f"ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION{version}",
    )
    sub = caller.with_key(caller.key, organization_id=made["subOrganizationId"])
    (user,) = sub.asked("list_users")["users"]
    assert made["rootUserIds"] == [user["userId"]]
    keys = sub.asked("list_private_keys")["privateKeys"]
    if version == "_V3":
        (one,), (key,) = made["privateKeys"], keys
        assert one["privateKeyId"] == key["privateKeyId"]
        assert one["addresses"] == key["addresses"]
    else:
        assert ("privateKeys" in made, keys) == (False, [])
    wallets = sub.asked("list_wallets")["wallets"]
    assert [wallet["walletId"] for wallet in wallets] == ([made["wallet"]["walletId"]] if version == "_V4" else [])
    if version == "":
        assert user["userName"] == passkey["authenticatorName"]
        assert [one["credentialId"] for one in user["authenticators"]] == [passkey["attestation"]["credentialId"]]


def test_the_whole_organization(caller: Caller) -> None:
    sub = new_sub_organization(caller, subOrganizationName="Whole")
    tag = sub.result("create_user_tag", {"userTagName": "t", "userIds": []})["userTagId"]
    invitation = sub.result(
        "create_invitations", {"invitations": [invitation_params(sub.user_id, receiverUserEmail="ada@example.com")]}
    )["invitationIds"]
    policy = sub.result("create_policy", policy_params())["policyId"]
    whole = sub.asked("get_organization")["organizationData"]
    assert (whole["organizationId"], whole["name"]) == (sub.organization_id, "Whole")
    assert whole["users"] == sub.asked("list_users")["users"]
    assert [one["policyId"] for one in whole["policies"]] == [policy]
    assert [one["tagId"] for one in whole["tags"]] == [tag]
    assert [one["invitationId"] for one in whole["invitations"]] == invitation
    assert whole["rootQuorum"] == {"threshold": 1, "userIds": [sub.user_id]}
    assert whole["features"] == sub.asked("get_organization_configs")["configs"]["features"]
    assert (whole["privateKeys"], whole["wallets"], whole["smartContractInterfaceReferences"]) == ([], [], [])


WINDOWS: list[tuple[str, str, bool]] = [
    ("no window", "", True),
    ("open", "time.now > Timestamp('2000-01-01T00:00:00Z')", True),
    ("over", "time.now < Timestamp('2000-01-01T00:00:00Z')", False),
]


@pytest.mark.parametrize(("name", "window", "active"), WINDOWS, ids=[name for name, *_ in WINDOWS])
def test_active_policies(name: str, window: str, active: bool, caller: Caller) -> None:
    sub = new_sub_organization(caller)
    timed = {"time": window} if window else {}
    policy_id = sub.result("create_policy", policy_params(policyName=unique("policy")) | timed)["policyId"]
    answer = sub.asked("get_active_policies", {"X-Client-Version": "test"})
    (status,) = answer["statuses"]
    expected = {"organizationId": sub.organization_id, "policyId": policy_id, "active": active}
    assert status == expected | ({"timeExpr": window} if window else {})
    assert int(answer["evaluatedAtMs"]) > 0


def test_features_that_only_the_newest_clients_know(caller: Caller) -> None:
    sub = new_sub_organization(caller)
    for name in ("FEATURE_NAME_SWAP_FIXED_RATE", "FEATURE_NAME_SWAP_FEE_SPONSORSHIP"):
        features = sub.result("set_organization_feature", {"name": name, "value": ""})["features"]
        assert name in [feature["name"] for feature in features]
