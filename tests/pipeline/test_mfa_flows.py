"""MFA: whose proofs an activity waits for, which policy is enforced, and when a waiting activity continues."""

from __future__ import annotations

from typing import Any

import pytest

from keystead.api.enums import ActivityStatus
from keystead.api.errors import InvalidRequest
from keystead.operations.votes import GetMfaStatusRequest, get_mfa_status
from tests.support.approval_flows import own_key, run_steps
from tests.support.organization_harness import DAY_MS, OrganizationHarness, Person, public_key

API_KEY, PASSKEY = {"type": "AUTHENTICATION_TYPE_API_KEY"}, {"type": "AUTHENTICATION_TYPE_PASSKEY"}
BOTH = [{"any": [API_KEY]}, {"any": [PASSKEY]}]
WALLETS = "activity.resource == 'WALLET'"


def harness(**rules: Any) -> OrganizationHarness:
    """Everybody has an API key; Root, Ana and Ben a passkey too. Wallets for all; tags take two; Root decides."""
    people = OrganizationHarness(
        Person("Root", passkey=True),
        Person("Ana", passkey=True),
        Person("Ben", passkey=True),
        "Cy",
        root=["Root"],
        **rules,
    )
    people.policy(condition=WALLETS)
    people.policy(consensus="approvers.count() >= 2", condition="activity.kind == 'CREATE_USER_TAG'")
    return people


def mfa(people: OrganizationHarness, who: str, steps: list[dict[str, Any]] | None = None, **members: Any) -> str:
    """An MFA policy for this person, made by Root."""
    asked = {
        "userId": people.user_ids[who],
        "mfaPolicyName": f"policy {people.ids.next}",
        "condition": "",
        "requiredAuthenticationMethods": BOTH if steps is None else steps,
        "order": len(people.user(who).mfa_policies),
    }
    made: str = people.result("Root", "create_mfa_policy", asked | members)["mfaPolicyId"]
    return made


STORIES = {
    "key, then passkey": "Ana create_wallet: AUTHENTICATORS_NEEDED\nAna/passkey approves: COMPLETED",
    "passkey, then key": "Ana/passkey create_wallet: AUTHENTICATORS_NEEDED\nAna approves: COMPLETED",
    "the same credential twice": """
        Ana create_wallet: AUTHENTICATORS_NEEDED
        Ana approves: AUTHENTICATORS_NEEDED
        Ana/passkey approves: COMPLETED
        """,
    "nobody proves for another": """
        Ana create_wallet: AUTHENTICATORS_NEEDED
        Ben/passkey approves: denied
        Root/passkey approves: AUTHENTICATORS_NEEDED
        Ana/passkey approves: COMPLETED
        """,
    "one's own credentials": """
        Ana adds own key: AUTHENTICATORS_NEEDED
        Ana/passkey approves: COMPLETED
        """,
    "a denial is a denial": "Ana create_users: denied",
    "the submitter's proofs, then consensus": """
        Ana create_user_tag: AUTHENTICATORS_NEEDED
        Ana/passkey approves: CONSENSUS_NEEDED
        Ben approves: COMPLETED
        """,
    "consensus, then the submitter's proofs": """
        Ana create_user_tag: AUTHENTICATORS_NEEDED
        Ben approves: AUTHENTICATORS_NEEDED
        Ana/passkey approves: COMPLETED
        """,
    "an approver's own proofs": """
        Ben create_user_tag: CONSENSUS_NEEDED
        Ana approves: AUTHENTICATORS_NEEDED
        Ana approves: AUTHENTICATORS_NEEDED
        Ana/passkey approves: COMPLETED
        """,
    "an approver's proofs are not waited for when others suffice": """
        Ben create_user_tag: CONSENSUS_NEEDED
        Ana approves: AUTHENTICATORS_NEEDED
        Cy approves: COMPLETED
        """,
    "the submitter cancels": """
        Ana create_wallet: AUTHENTICATORS_NEEDED
        Ana rejects: REJECTED
        """,
    "others without a policy": "Ben create_wallet: COMPLETED",
}


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES.keys())
def test_key_and_passkey(story: str) -> None:
    people = harness()
    mfa(people, "Ana")
    run_steps(people, story)


def test_a_root_user_too() -> None:
    people = harness()
    mfa(people, "Root")
    run_steps(people, "Root create_users: AUTHENTICATORS_NEEDED\nRoot/passkey approves: COMPLETED")


CONDITIONS = {
    "none": ("", True),
    "true": (WALLETS, True),
    "false": ("activity.resource == 'POLICY'", False),
    "failing: a parameter that others have": ("activity.params.session_profile_id == ''", False),
    "failing: a keyword that others have": ("eth.tx.value > 0", False),
    "failing in one operand": (f"{WALLETS} || eth.tx.value > 0", False),
}


@pytest.mark.parametrize(("condition", "applies"), CONDITIONS.values(), ids=CONDITIONS.keys())
def test_condition(condition: str, applies: bool) -> None:
    people = harness()
    mfa(people, "Ana", condition=condition)
    run_steps(people, f"Ana create_wallet: {'AUTHENTICATORS_NEEDED' if applies else 'COMPLETED'}")


METHODS: dict[str, tuple[list[dict[str, Any]], str, bool]] = {
    "an API key": ([{"any": [API_KEY]}], "Ana", True),
    "an API key, by passkey": ([{"any": [API_KEY]}], "Ana/passkey", False),
    "either": ([{"any": [PASSKEY, API_KEY]}], "Ana", True),
    "this API key": ([{"any": [API_KEY | {"id": "own"}]}], "Ana", True),
    "another API key": ([{"any": [API_KEY | {"id": "other"}]}], "Ana", False),
    "a session": ([{"any": [{"type": "AUTHENTICATION_TYPE_SESSION"}]}], "Ana", False),
    "a method of later": ([{"any": [{"type": "AUTHENTICATION_TYPE_EMAIL_OTP"}]}], "Ana/passkey", False),
    "one proof for two steps": ([{"any": [API_KEY]}, {"any": [API_KEY, PASSKEY]}], "Ana", False),
}


@pytest.mark.parametrize(("steps", "who", "met"), METHODS.values(), ids=METHODS.keys())
def test_one_proof(steps: list[dict[str, Any]], who: str, met: bool) -> None:
    people = harness()
    ids = {"own": people.user("Ana").api_keys[0].api_key_id, "other": people.user("Ben").api_keys[0].api_key_id}
    named = [
        {"any": [one | ({"id": ids[one["id"]]} if "id" in one else {}) for one in step["any"]]} for step in steps
    ]
    mfa(people, "Ana", named)
    run_steps(people, f"{who} create_wallet: {'COMPLETED' if met else 'AUTHENTICATORS_NEEDED'}")


def test_the_lowest_order_whose_condition_holds_is_enforced_alone() -> None:
    people = harness()
    mfa(people, "Ana", [{"any": [{"type": "AUTHENTICATION_TYPE_EMAIL_OTP"}]}], order=30)
    easy = mfa(people, "Ana", [{"any": [API_KEY]}], order=20)
    mfa(people, "Ana", BOTH, order=10, condition="activity.resource == 'POLICY'")
    run_steps(people, "Ana create_wallet: COMPLETED")
    people.result("Root", "delete_mfa_policy", {"userId": people.user_ids["Ana"], "mfaPolicyId": easy})
    run_steps(people, "Ana create_wallet: AUTHENTICATORS_NEEDED\nAna/passkey approves: AUTHENTICATORS_NEEDED")


def test_proofs_lapse_with_the_approval() -> None:
    people = harness()
    mfa(people, "Ana")
    activity = people.submit("Ana", "create_wallet", {"walletName": "w", "accounts": []})
    people.clock.ms += DAY_MS
    activity = people.approve("Root", activity)
    assert activity.status is ActivityStatus.AUTHENTICATORS_NEEDED, "it is Ana's wallet, and Ana has proved nothing"
    assert people.approve("Ana", activity, "passkey").status is ActivityStatus.AUTHENTICATORS_NEEDED
    assert people.approve("Ana", activity).status is ActivityStatus.COMPLETED


def test_own_credentials_need_proofs_also_after_proofs_lapse() -> None:
    people = OrganizationHarness("R1", "R2", Person("Ana", passkey=True), root=["R1", "R2"], threshold=2)
    policy = {
        "userId": people.user_ids["Ana"],
        "mfaPolicyName": "both",
        "condition": "",
        "requiredAuthenticationMethods": BOTH,
        "order": 1,
    }
    people.approve("R2", people.submit("R1", "create_mfa_policy", policy))
    activity = people.submit("Ana", "create_api_keys", own_key(people, "Ana"))
    people.clock.ms += DAY_MS
    assert people.approve("R1", activity).status is ActivityStatus.AUTHENTICATORS_NEEDED


def test_what_the_voters_are_told() -> None:
    people = harness()
    policy_id = mfa(people, "Ana")
    activity = people.submit("Ana", "create_wallet", {"walletName": "w", "accounts": []})
    assert people.seen("Ana", activity).can_approve, "with another credential"
    assert people.seen("Ana", activity).can_reject
    request = GetMfaStatusRequest(organization_id=people.id, activity_id=activity.id)
    (mfa_status,) = people.run(get_mfa_status(people.reading("Ben"), request)).mfa_statuses
    assert (mfa_status.mfa_policy_id, mfa_status.user_id, mfa_status.satisfied) == (
        policy_id,
        people.user_ids["Ana"],
        False,
    )
    assert [(one.type, one.id) for one in mfa_status.satisfied_methods] == [
        ("AUTHENTICATION_TYPE_API_KEY", people.user("Ana").api_keys[0].api_key_id)
    ]
    assert len(mfa_status.required_methods) == 2
    people.approve("Ana", activity, "passkey")
    (mfa_status,) = people.run(get_mfa_status(people.reading("Ben"), request)).mfa_statuses
    assert mfa_status.satisfied
    people.clock.ms += 2 * DAY_MS
    (mfa_status,) = people.run(get_mfa_status(people.reading("Ben"), request)).mfa_statuses
    assert mfa_status.satisfied, "what is over does not lapse"


def test_two_policies_of_one_order() -> None:
    people = harness()
    mfa(people, "Ana", order=1)
    with pytest.raises(InvalidRequest, match="is the order of the MFA policy"):
        mfa(people, "Ana", order=1)
    mfa(people, "Ben", order=1)


def test_a_key_of_a_kind_that_a_login_makes_proves_a_session() -> None:
    people = harness()
    mfa(people, "Cy", [{"any": [API_KEY]}, {"any": [API_KEY]}])
    people.result(
        "Root",
        "create_api_keys",
        {
            "userId": people.user_ids["Cy"],
            "apiKeys": [{"apiKeyName": "2", "publicKey": public_key("2"), "curveType": "API_KEY_CURVE_P256"}],
        },
    )
    run_steps(people, "Cy create_wallet: AUTHENTICATORS_NEEDED")
    activity = people.activities()[-1]
    assert people.approve("Cy", activity, "2").status is ActivityStatus.COMPLETED, "two keys are two proofs"
