"""Policies, MFA policies and contract interfaces as records: made, changed, deleted, and refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from keystead.api.errors import ServiceError
from keystead.operations.policies.policies import ListPoliciesRequest, list_policies
from keystead.operations.wallets.smart_contract_interfaces import (
    GetSmartContractInterfaceRequest,
    get_smart_contract_interface,
)
from keystead.organizations.attachments import InterfaceText
from keystead.organizations.limits import Limits
from tests.support.operation_examples import ERC20_TRANSFER, IDL
from tests.support.organization_harness import OrganizationHarness

LIMITS = Limits(policies=3, contract_interfaces=2, mfa_policies_per_user=2)
NOBODY = "00000000-0000-7000-8000-ffffffffffff"
ADDRESS = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
PROGRAM = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"


def harness() -> OrganizationHarness:
    """With one policy, "first", one MFA policy of Ana's, order 1, and one contract interface, of ADDRESS."""
    people = OrganizationHarness("Root", "Ana", root=["Root"], limits=LIMITS)
    people.policy(name="first", condition="activity.resource == 'WALLET'", notes="n")
    people.result("Root", "create_mfa_policy", mfa(people))
    people.result("Root", "create_smart_contract_interface", interface())
    people.clock.ms += 1_000
    return people


def policy(name: str = "second", **members: Any) -> dict[str, Any]:
    return {"policyName": name, "effect": "EFFECT_ALLOW"} | members


def mfa(people: OrganizationHarness, **members: Any) -> dict[str, Any]:
    return {
        "userId": people.user_ids["Ana"],
        "mfaPolicyName": "m",
        "condition": "",
        "requiredAuthenticationMethods": [{"any": [{"type": "AUTHENTICATION_TYPE_PASSKEY"}]}],
        "order": 1,
    } | members


def interface(**members: Any) -> dict[str, Any]:
    return {
        "smartContractAddress": ADDRESS,
        "smartContractInterface": ERC20_TRANSFER,
        "type": "SMART_CONTRACT_INTERFACE_TYPE_ETHEREUM",
        "label": "token",
    } | members


def only(people: OrganizationHarness, what: str) -> str:
    (id_,) = getattr(people.organization, what)
    return str(id_)


def of_ana(people: OrganizationHarness) -> dict[str, Any]:
    (held,) = people.user("Ana").mfa_policies
    return {"userId": people.user_ids["Ana"], "mfaPolicyId": held.mfa_policy_id}


Asked = Callable[[OrganizationHarness], dict[str, Any]]
REFUSED: dict[str, tuple[str, Asked, int, str]] = {
    "a name that is taken by another of the request": (
        "create_policies",
        lambda c: {"policies": [policy("one"), policy("one")]},
        400,
        "policies[1].policyName",
    ),
    "a name that is taken": ("create_policy", lambda c: policy("first"), 400, "policy label must be unique"),
    "a field there is not": (
        "create_policy",
        lambda c: policy(condition="eth.tx.foo == 1"),
        400,
        "invalid policy condition",
    ),
    "types that do not fit": (
        "create_policy",
        lambda c: policy(condition="1 == 'a'"),
        400,
        "invalid policy condition",
    ),
    "double quotes": (
        "create_policy",
        lambda c: policy(condition='activity.type == "X"'),
        400,
        "invalid policy condition",
    ),
    "not yes or no": (
        "create_policy",
        lambda c: policy(condition="activity.type"),
        400,
        "invalid policy condition",
    ),
    "a consensus on the activity": (
        "create_policy",
        lambda c: policy(consensus="activity.type == 'X'"),
        400,
        "invalid policy consensus",
    ),
    "a time of another zone": (
        "create_policy",
        lambda c: policy(time="Timestamp('2026-09-01T06:00:00+02:00') <= time.now"),
        400,
        "invalid policy time",
    ),
    "no effect": ("create_policy", lambda c: {"policyName": "x"}, 400, "effect"),
    "two of one name": ("create_policies", lambda c: {"policies": [policy(), policy()]}, 400, "must be unique"),
    "one of several is bad": (
        "create_policies",
        lambda c: {"policies": [policy(), policy("third", condition="x")]},
        400,
        "invalid policy condition",
    ),
    "too many": (
        "create_policies",
        lambda c: {"policies": [policy("1"), policy("2"), policy("3")]},
        429,
        "policies: 1 of 3 are in use, 3 more",
    ),
    "none": ("create_policies", lambda c: {"policies": []}, 400, "policies"),
    "a change of nothing": ("update_policy", lambda c: {"policyId": NOBODY}, 404, "unable to find policy"),
    "a change for the worse": (
        "update_policy",
        lambda c: {"policyId": only(c, "policies"), "policyConsensus": "true || x"},
        400,
        "invalid policy consensus",
    ),
    "a deletion of nothing": ("delete_policy", lambda c: {"policyId": NOBODY}, 404, "unable to find policy"),
    "a deletion of some and nothing": (
        "delete_policies",
        lambda c: {"policyIds": [only(c, "policies"), NOBODY]},
        404,
        "unable to find policy",
    ),
    "an MFA policy for nobody": ("create_mfa_policy", lambda c: mfa(c, userId=NOBODY), 404, "unable to find user"),
    "an order that is taken": ("create_mfa_policy", lambda c: mfa(c), 400, "field `parameters.order`"),
    "an MFA condition that cannot be": (
        "create_mfa_policy",
        lambda c: mfa(c, order=2, condition="approvers.count() > 1"),
        400,
        "invalid mfa policy condition",
    ),
    "no steps": (
        "create_mfa_policy",
        lambda c: mfa(c, order=2, requiredAuthenticationMethods=[]),
        400,
        "requiredAuthenticationMethods",
    ),
    "a step of nothing": (
        "create_mfa_policy",
        lambda c: mfa(c, order=2, requiredAuthenticationMethods=[{"any": []}]),
        400,
        "requiredAuthenticationMethods",
    ),
    "an MFA policy of another user": (
        "update_mfa_policy",
        lambda c: of_ana(c) | {"userId": c.user_ids["Root"]},
        404,
        "unable to find MFA policy",
    ),
    "no such MFA policy": (
        "delete_mfa_policy",
        lambda c: of_ana(c) | {"mfaPolicyId": NOBODY},
        404,
        "unable to find MFA policy",
    ),
    "a second interface": (
        "create_smart_contract_interface",
        lambda c: interface(),
        409,
        "has a contract interface",
    ),
    "a second interface, in other letters": (
        "create_smart_contract_interface",
        lambda c: interface(smartContractAddress=ADDRESS.lower()),
        409,
        "has a contract interface already: 'token'",
    ),
    "a checksum that fails": (
        "create_smart_contract_interface",
        lambda c: interface(smartContractAddress=ADDRESS.replace("aAeb", "aaEb")),
        400,
        "EIP-55",
    ),
    "an address of another chain": (
        "create_smart_contract_interface",
        lambda c: interface(smartContractAddress=PROGRAM),
        400,
        "expected 0x and 40 hex digits",
    ),
    "text that is not an interface": (
        "create_smart_contract_interface",
        lambda c: interface(smartContractAddress="0x" + "1" * 40, smartContractInterface="{}"),
        400,
        "Ethereum ABI",
    ),
    "no such interface": (
        "delete_smart_contract_interface",
        lambda c: {"smartContractInterfaceId": NOBODY},
        404,
        "unable to find smart contract interface",
    ),
}


@pytest.mark.parametrize(("name", "asked", "status", "why"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(name: str, asked: Asked, status: int, why: str) -> None:
    people = harness()
    before, activities = people.organization, people.activities()
    with pytest.raises(ServiceError) as refused:
        people.submit("Root", name, asked(people))
    assert refused.value.http_status == status
    assert why in refused.value.message
    assert people.organization is before
    assert people.activities() == activities


UPDATES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "nothing": ({}, {}),
    "its own name": ({"policyName": "first"}, {}),
    "a name": ({"policyName": "x"}, {"policy_name": "x"}),
    "the effect": ({"policyEffect": "EFFECT_DENY"}, {"effect": "EFFECT_DENY"}),
    "no condition": ({"policyCondition": ""}, {"condition": ""}),
    "a consensus": ({"policyConsensus": "approvers.count() > 1"}, {"consensus": "approvers.count() > 1"}),
    "no notes": ({"policyNotes": ""}, {"notes": ""}),
    "a time": (
        {"time": "Timestamp('2026-09-01T06:00:00Z') <= time.now"},
        {"time": "Timestamp('2026-09-01T06:00:00Z') <= time.now"},
    ),
    "no time": ({"time": ""}, {"time": None}),
}


@pytest.mark.parametrize(("asked", "changed"), UPDATES.values(), ids=UPDATES.keys())
def test_a_policy_changes(asked: dict[str, Any], changed: dict[str, Any]) -> None:
    people = harness()
    policy_id = only(people, "policies")
    before = people.organization.policies[policy_id]
    people.result("Root", "update_policy", {"policyId": policy_id, **asked})
    after = people.organization.policies[policy_id]
    for field in ("policy_name", "effect", "condition", "consensus", "notes", "time"):
        assert getattr(after, field) == changed.get(field, getattr(before, field))
    assert (after.created_at, after.updated_at.epoch_ms) == (before.created_at, people.clock.ms)


def test_policies_are_listed_in_order_of_creation_and_go() -> None:
    people = harness()
    made = people.result("Root", "create_policies", {"policies": [policy("z"), policy("a")]})["policyIds"]
    listed = list_policies(people.reading("Ana"), ListPoliciesRequest(organization_id=people.id)).policies
    assert [one.policy_name for one in listed] == ["first", "z", "a"]
    gone = {"policyIds": [made[1], made[0], made[1]]}
    assert people.result("Root", "delete_policies", gone) == {"policyIds": [made[1], made[0]]}
    people.result("Root", "delete_policy", {"policyId": only(people, "policies")})
    assert not people.organization.policies


def test_an_mfa_policy_changes_and_goes() -> None:
    people = harness()
    people.result("Root", "create_mfa_policy", mfa(people, order=5))
    first, second = people.user("Ana").mfa_policies
    assert first.notes is None
    with pytest.raises(ServiceError, match="MFA policies of one user: 2 of 2"):
        people.submit("Root", "create_mfa_policy", mfa(people, order=6))
    named = {"userId": people.user_ids["Ana"], "mfaPolicyId": second.mfa_policy_id}
    with pytest.raises(ServiceError, match="is the order of"):
        people.submit("Root", "update_mfa_policy", named | {"order": 1})
    people.result("Root", "update_mfa_policy", named | {"order": 5, "condition": "activity.action == 'SIGN'"})
    people.result("Root", "update_mfa_policy", named | {"order": -3, "notes": "n", "mfaPolicyName": "x"})
    changed = people.user("Ana").mfa_policies[1]
    assert (changed.order, changed.notes, changed.mfa_policy_name) == (-3, "n", "x")
    assert (changed.condition, changed.created_at) == ("activity.action == 'SIGN'", second.created_at)
    assert changed.required_authentication_methods == second.required_authentication_methods
    people.result("Root", "delete_mfa_policy", named)
    assert people.user("Ana").mfa_policies == (first,)


def test_interfaces_come_and_go() -> None:
    people = harness()
    solana = {"type": "SMART_CONTRACT_INTERFACE_TYPE_SOLANA", "smartContractInterface": IDL}
    people.result("Root", "create_smart_contract_interface", interface(smartContractAddress=PROGRAM, **solana))
    with pytest.raises(ServiceError, match="smart contract interfaces: 2 of 2 are in use"):
        people.submit("Root", "create_smart_contract_interface", interface(smartContractAddress="0x" + "1" * 40))
    (first, _) = sorted(people.organization.contract_interfaces)
    request = GetSmartContractInterfaceRequest(organization_id=people.id, smart_contract_interface_id=first)
    found = people.run(get_smart_contract_interface(people.reading("Ana"), request)).smart_contract_interface
    assert (found.smart_contract_interface, found.notes) == (ERC20_TRANSFER, "")
    people.result("Root", "delete_smart_contract_interface", {"smartContractInterfaceId": first})
    assert {row.contract_interface_id for row in people.database.attached_rows(InterfaceText, people.id)} == set(
        people.organization.contract_interfaces
    )
    with pytest.raises(ServiceError, match="unable to find smart contract interface"):
        people.run(get_smart_contract_interface(people.reading("Ana"), request))
    people.result("Root", "create_smart_contract_interface", interface())
