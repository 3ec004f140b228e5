"""canApprove and canReject, for every kind of reader, in every status."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from keystead.operations.activities import shown_activity
from keystead.pipeline.activity import RecordedActivity
from tests.support.approval_flows import run_steps
from tests.support.organization_harness import OrganizationHarness, Person

BOTH, REJECT, NONE = "approve reject", "reject", ""

TABLE: dict[str, tuple[str, dict[str, str]]] = {
    "waiting for consensus": (
        "Ana create_wallet: CONSENSUS_NEEDED",
        {"Ana": REJECT, "Ben": BOTH, "Cy": NONE, "R1": BOTH, "R2": BOTH},
    ),
    "one more approved": (
        "Ana create_wallet: CONSENSUS_NEEDED\nR1 approves: CONSENSUS_NEEDED",
        {"Ana": REJECT, "Ben": BOTH, "Cy": NONE, "R1": REJECT, "R2": BOTH},
    ),
    "a member's request": (
        "R1 create_wallet: CONSENSUS_NEEDED",
        {"R1": REJECT, "R2": BOTH, "Ana": BOTH, "Ben": BOTH, "Cy": NONE},
    ),
    "what only the root quorum may do": (
        "R1 update_organization_name: CONSENSUS_NEEDED",
        {"R1": REJECT, "R2": BOTH, "Ana": NONE, "Cy": NONE},
    ),
    "waiting for the submitter's passkey": (
        "Dee create_wallet: AUTHENTICATORS_NEEDED",
        {"Dee": BOTH, "Ana": BOTH, "Cy": NONE, "R1": BOTH},
    ),
    "the submitter's passkey was there": (
        "Dee create_wallet: AUTHENTICATORS_NEEDED\nDee/passkey approves: CONSENSUS_NEEDED",
        {"Dee": REJECT, "Ana": BOTH, "Cy": NONE},
    ),
    "waiting for an approver's passkey": (
        "Ana create_wallet: CONSENSUS_NEEDED\nDee approves: AUTHENTICATORS_NEEDED",
        {"Ana": REJECT, "Dee": BOTH, "Ben": BOTH},
    ),
    "completed": (
        "Ana create_wallet: CONSENSUS_NEEDED\nBen approves: COMPLETED",
        dict.fromkeys(["Ana", "Ben", "Cy", "R1"], NONE),
    ),
    "rejected": (
        "Ana create_wallet: CONSENSUS_NEEDED\nBen rejects: REJECTED",
        dict.fromkeys(["Ana", "Ben", "Cy", "R1"], NONE),
    ),
}


def harness() -> OrganizationHarness:
    """R1 and R2 decide together; two of the tag make wallets; Dee, who has the tag, proves key and passkey."""
    tagged = [Person(name, tags=("OPS",), passkey=True) for name in ("Ana", "Ben", "Dee")]
    people = OrganizationHarness("R1", "R2", *tagged, "Cy", root=["R1", "R2"], threshold=2)
    consensus = f"approvers.filter(u, u.tags.contains('{people.tags['OPS']}')).count() >= 2"
    policy = {"policyName": "wallets", "effect": "EFFECT_ALLOW", "consensus": consensus}
    people.approve(
        "R2", people.submit("R1", "create_policy", policy | {"condition": "activity.resource == 'WALLET'"})
    )
    steps = [{"any": [{"type": f"AUTHENTICATION_TYPE_{kind}"}]} for kind in ("API_KEY", "PASSKEY")]
    mfa = {"mfaPolicyName": "both", "condition": "", "requiredAuthenticationMethods": steps, "order": 1}
    asked = people.submit("R1", "create_mfa_policy", {"userId": people.user_ids["Dee"], **mfa})
    people.approve("R2", asked)
    return people


def may(people: OrganizationHarness, who: str, activity: RecordedActivity) -> str:
    seen = people.seen(who, activity)
    return " ".join(word for word, can in (("approve", seen.can_approve), ("reject", seen.can_reject)) if can)


@pytest.mark.parametrize(("story", "viewers"), TABLE.values(), ids=TABLE.keys())
def test_viewer(story: str, viewers: dict[str, str]) -> None:
    people = harness()
    activity = run_steps(people, story)
    assert activity is not None
    assert {who: may(people, who, activity) for who in viewers} == viewers


@pytest.mark.parametrize(("story", "viewers"), TABLE.values(), ids=TABLE.keys())
def test_every_user_who_may_vote_can_reject(story: str, viewers: dict[str, str]) -> None:
    for who, can in viewers.items():
        refused = "400" if story.endswith(("COMPLETED", "REJECTED")) else "denied"
        run_steps(harness(), f"{story}\n{who} rejects: {'REJECTED' if can else refused}")


def test_a_parents_user_reads_and_does_not_vote() -> None:
    people = harness()
    asked = run_steps(people, "R1 create_sub_organization: CONSENSUS_NEEDED\nR2 approves: COMPLETED")
    assert asked is not None
    activity = run_steps(people, "R1 create_wallet: CONSENSUS_NEEDED")
    assert activity is not None
    (child,) = [one for one in people.database.organizations.values() if one.profile.parent_id == people.id]
    reading = people.reading("R2")
    below = replace(reading, organization=child)
    seen = asyncio.run(shown_activity(below, activity))
    assert (seen.can_approve, seen.can_reject) == (False, False)
