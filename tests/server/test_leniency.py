"""What published clients send besides the documented members: `null`, and `generateAppProofs` in two places."""

from __future__ import annotations

import hashlib
import json
import typing
from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.hazmat.primitives.hashes import SHA256

from keystead.api.catalogue import Operation
from keystead.api.parameters import OneOf
from keystead.pipeline.operation import ActivityOperation
from tests.support.callers import SDK_FORM, Caller, encoded
from tests.support.mutations import struct_in
from tests.support.operation_examples import (
    ANSWERED_WITH_ANOTHER,
    ETHEREUM_ACCOUNT,
    EXAMPLED,
    NEVER_FOUND,
    QUERIES,
    SUBMISSIONS,
    RecordIds,
    interface_params,
    submitter,
)

pytestmark = pytest.mark.one_engine

NEEDED = frozenset(
    {
        "privateKeyId",
        "path",
        "oidcClaims",
        "oidcToken",
        "condition",
        "deleteWithoutExport",
        "configId",
        "clientSignature",
    }
)
"""Optional members of which some are needed, or without which the request means much more."""

NEEDED_OF = frozenset(
    {
        ("SetIpAllowlistIntent", "publicKey"),
        ("SetIpAllowlistIntent", "enabled"),
        ("RemoveIpAllowlistIntent", "publicKey"),
    }
)
"""Likewise, in one type of parameters only."""


def with_nulls(struct: type[msgspec.Struct], valid: dict[str, Any]) -> dict[str, Any]:
    """The value with null for every optional member, at any depth."""
    hints = typing.get_type_hints(struct)
    value = dict(valid)
    for field in msgspec.structs.fields(struct):
        name, hint = field.encode_name, hints[field.name]
        inner = struct_in(hint)
        is_the_one = issubclass(struct, OneOf) and name in valid
        if type(None) in typing.get_args(hint) and not (is_the_one or _is_needed(struct, name)):
            value[name] = None
        elif inner is not None and isinstance(value.get(name), list):
            value[name] = [with_nulls(inner, item) for item in value[name]]
        elif inner is not None and name in value:
            value[name] = with_nulls(inner, value[name])
    return value


def _is_needed(struct: type[msgspec.Struct], name: str) -> bool:
    return name in NEEDED or (struct.__name__, name) in NEEDED_OF


@pytest.mark.parametrize("operation", [one for one in EXAMPLED if one.kind == "query"], ids=lambda one: one.name)
def test_null_in_queries(operation: Operation, caller: Caller, record_ids: RecordIds) -> None:
    request = {"organizationId": caller.organization_id} | QUERIES[operation.name](record_ids)
    response = caller.post(operation.path, encoded(with_nulls(operation.request_structs[0], request)))
    assert response.status_code == (404 if operation.name in NEVER_FOUND else 200), response.text


TYPES = [
    (operation, version)
    for operation in EXAMPLED
    if isinstance(operation, ActivityOperation)
    for version in operation.versions
]


@pytest.mark.parametrize(("operation", "version"), TYPES, ids=[version.activity_type for _, version in TYPES])
def test_null_in_submissions(operation: Any, version: Any, caller: Caller, record_ids: RecordIds) -> None:
    activity_type = version.activity_type
    parameters = with_nulls(version.intent, SUBMISSIONS[activity_type](record_ids))
    by = submitter(activity_type, caller)
    response = by.submit(operation.name, parameters, type=activity_type, generateAppProofs=None)
    assert response.status_code == 200, response.text


@pytest.mark.parametrize("wish", [False, True, None])
@pytest.mark.parametrize(("operation", "version"), TYPES, ids=[version.activity_type for _, version in TYPES])
def test_proofs_wished_for(
    operation: Any, version: Any, wish: bool | None, caller: Caller, record_ids: RecordIds
) -> None:
    activity_type = version.activity_type
    parameters = SUBMISSIONS[activity_type](record_ids)
    by = submitter(activity_type, caller)
    response = by.submit(operation.name, parameters, SDK_FORM, type=activity_type, generateAppProofs=wish)
    if activity_type not in ANSWERED_WITH_ANOTHER:
        assert ("appProofs" in response.json()["activity"]) == bool(wish)


@pytest.mark.parametrize("wish", [False, True, None])
def test_wish_for_proofs_among_the_parameters_is_passed_over(wish: bool | None, caller: Caller) -> None:
    activity = caller.submitted(
        "create_smart_contract_interface", interface_params(generateAppProofs=wish), SDK_FORM
    )
    assert "appProofs" not in activity
    assert "generateAppProofs" not in activity["intent"]["createSmartContractInterfaceIntent"]


def test_proofs_can_be_verified(caller: Caller) -> None:
    accounts = [ETHEREUM_ACCOUNT, ETHEREUM_ACCOUNT | {"path": "m/44'/60'/0'/0/1"}]
    parameters = {"walletName": "proven", "accounts": accounts}
    activity = caller.submitted("create_wallet", parameters, generateAppProofs=True)
    result = activity["result"]["createWalletResult"]
    decision, *derivations = (verified(proof) for proof in activity["appProofs"])
    assert decision["type"] == "APP_PROOF_TYPE_POLICY_OUTCOME"
    approvals = decision["policyOutcomeProof"]["userRequestApprovals"]
    assert [approval["message"] for approval in approvals] == [activity["votes"][0]["message"]]
    stated = [derivation["addressDerivationProof"] for derivation in derivations]
    assert [one["address"] for one in stated] == result["addresses"]
    assert {(one["organizationId"], one["walletId"]) for one in stated} == {
        (caller.organization_id, result["walletId"])
    }
    assert [one["derivationPath"] for one in stated] == [account["path"] for account in accounts]


def verified(proof: dict[str, str]) -> Any:
    """The statement of a proof whose signature holds: r and s over SHA-256, by the second of its two points."""
    assert proof["scheme"] == "SIGNATURE_SCHEME_EPHEMERAL_KEY_P256"
    points, raw = bytes.fromhex(proof["publicKey"]), bytes.fromhex(proof["signature"])
    assert (len(points), len(raw)) == (130, 64)
    key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), points[65:])
    ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), points[:65])
    signature = utils.encode_dss_signature(int.from_bytes(raw[:32]), int.from_bytes(raw[32:]))
    digest = hashlib.sha256(proof["proofPayload"].encode()).digest()
    key.verify(signature, digest, ec.ECDSA(utils.Prehashed(SHA256())))
    return json.loads(proof["proofPayload"])


def test_proofs_are_kept(caller: Caller) -> None:
    activity = caller.submitted("create_user_tag", {"userTagName": "proven", "userIds": []}, generateAppProofs=True)
    assert caller.asked("list_app_proofs", activityId=activity["id"])["appProofs"] == activity["appProofs"]
    without = caller.submitted("create_user_tag", {"userTagName": "unproven", "userIds": []})
    assert caller.asked("list_app_proofs", activityId=without["id"])["appProofs"] == []


def test_no_boot_proof_for_the_key_of_an_app_proof(caller: Caller) -> None:
    activity = caller.submitted("create_user_tag", {"userTagName": "booted", "userIds": []}, generateAppProofs=True)
    response = caller.ask("get_boot_proof", ephemeralKey=activity["appProofs"][0]["publicKey"])
    assert (response.status_code, "enclave" in response.text) == (404, True)
