"""Decisions from the submission to the final status: the root quorum, policies of each shape, votes."""

from __future__ import annotations

import json

import pytest

from keystead.api.enums import ActivityStatus
from tests.support.approval_flows import run_steps
from tests.support.organization_harness import OrganizationHarness, Person

KINDS_OF_WALLET = "activity.resource == 'WALLET' && activity.action == 'CREATE'"
OPS = "approvers.filter(u, u.tags.contains('OPS')).count()"
SEC = "approvers.filter(u, u.tags.contains('SEC')).count()"


def harness() -> OrganizationHarness:
    """Root decides alone. Names and tags in expressions stand for ids, see `expression`."""
    return OrganizationHarness(
        "Root",
        Person("Ana", tags=("OPS",)),
        Person("Ben", tags=("OPS", "SEC")),
        "Cy",
        root=["Root"],
    )


def expression(harness: OrganizationHarness, text: str) -> str:
    for name, id_ in (harness.user_ids | harness.tags).items():
        text = text.replace(f"'{name}'", f"'{id_}'")
    return text


ONE_OF_ONE = {
    "a policy for one user and one kind of thing": (
        [{"consensus": "approvers.any(u, u.id == 'Ana')", "condition": KINDS_OF_WALLET}],
        """
        Ana create_wallet: COMPLETED
        Ana create_user_tag: denied
        Ben create_wallet: denied
        Root create_wallet: COMPLETED
        Root create_user_tag: COMPLETED
        """,
    ),
    "a policy for a tag; users and tags of users are one resource": (
        [
            {
                "consensus": "approvers.any(u, u.tags.contains('OPS'))",
                "condition": "activity.resource == 'USER' && activity.action == 'CREATE'",
            }
        ],
        """
        Ben create_users: COMPLETED
        Ben create_user_tag: COMPLETED
        Cy create_users: denied
        """,
    ),
    "two of a tag": (
        [
            {
                "consensus": f"{OPS} >= 2",
                "condition": "activity.resource == 'POLICY' && activity.action == 'CREATE'",
            }
        ],
        """
        Ana create_policy: CONSENSUS_NEEDED
        Ana approves: CONSENSUS_NEEDED
        Cy approves: denied
        Cy rejects: denied
        Ben approves: COMPLETED
        Cy create_policy: denied
        """,
    ),
    "one user counts for both tags": (
        [{"consensus": f"{SEC} >= 1 && {OPS} >= 2", "condition": "activity.resource == 'POLICY'"}],
        """
        Ana create_policy: CONSENSUS_NEEDED
        Ben approves: COMPLETED
        """,
    ),
    "any two": (
        [{"consensus": "approvers.count() >= 2", "condition": "activity.kind == 'CREATE_POLICY'"}],
        """
        Cy create_policy: CONSENSUS_NEEDED
        Ana approves: COMPLETED
        Cy create_policy: CONSENSUS_NEEDED
        Root rejects: REJECTED
        Ana approves: 400
        """,
    ),
    "an approver whose approval a policy denies; others may follow": (
        [
            {"consensus": "approvers.count() >= 2", "condition": KINDS_OF_WALLET},
            {"effect": "EFFECT_DENY", "consensus": "approvers.any(u, u.id == 'Cy')"},
        ],
        """
        Ana create_wallet: CONSENSUS_NEEDED
        Cy approves: denied by policy
        Ben approves: COMPLETED
        """,
    ),
    "a denial beats the right over one's own credentials": (
        [
            {
                "effect": "EFFECT_DENY",
                "consensus": "approvers.any(u, u.tags.contains('OPS'))",
                "condition": "activity.action == 'DELETE'",
            }
        ],
        """
        Ana adds own key: COMPLETED
        Ana deletes own key: denied by policy
        Cy adds own key: COMPLETED
        Cy deletes own key: COMPLETED
        Root adds own key: COMPLETED
        Root deletes own key: COMPLETED
        """,
    ),
    "a denial of everything": (
        [{"effect": "EFFECT_DENY"}],
        """
        Ana create_wallet: denied by policy
        Cy adds own key: denied by policy
        Root create_wallet: COMPLETED
        """,
    ),
    "sub-organizations by policy, the organization's name never": (
        [
            {
                "consensus": "approvers.any(u, u.id == 'Ana')",
                "condition": "activity.resource == 'ORGANIZATION' && activity.action == 'CREATE'",
            }
        ],
        """
        Ana create_sub_organization: COMPLETED
        Ana update_organization_name: denied
        Root update_organization_name: COMPLETED
        """,
    ),
    "the right over one's own credentials ends at others'": (
        [
            {
                "consensus": "approvers.any(u, u.id == 'Ana')",
                "condition": "activity.resource in ['AUTH', 'OTP'] && activity.action in ['CREATE', 'VERIFY']",
            }
        ],
        """
        Ana adds a key of Ben: denied
        Ana adds own key: COMPLETED
        """,
    ),
    "two named users": (
        [
            {
                "consensus": "approvers.any(u, u.id == 'Ana') && approvers.any(u, u.id == 'Ben')",
                "condition": KINDS_OF_WALLET,
            }
        ],
        """
        Ana create_wallet: CONSENSUS_NEEDED
        Ben approves: COMPLETED
        Ben create_wallet: CONSENSUS_NEEDED
        Cy approves: denied
        Ana approves: COMPLETED
        Cy create_wallet: denied
        """,
    ),
    "one's own credentials wait where a policy speaks of them": (
        [{"consensus": "approvers.count() >= 2", "condition": "activity.resource == 'CREDENTIAL'"}],
        """
        Ana adds own key: CONSENSUS_NEEDED
        Cy approves: COMPLETED
        """,
    ),
    "a policy without consensus": (
        [{"condition": KINDS_OF_WALLET}],
        """
        Cy create_wallet: COMPLETED
        Cy create_user_tag: denied
        """,
    ),
    "a policy that fails spoils no other": (
        [
            {"condition": "activity.params.user_ids.count() > 0"},
            {"effect": "EFFECT_DENY", "condition": "eth.tx.value > 5"},
            {"condition": KINDS_OF_WALLET},
        ],
        """
        Cy create_wallet: COMPLETED
        Cy create_user_tag: denied
        """,
    ),
}


@pytest.mark.parametrize(("policies", "story"), ONE_OF_ONE.values(), ids=ONE_OF_ONE.keys())
def test_with_one_root_user(policies: list[dict[str, str]], story: str) -> None:
    people = harness()
    for policy in policies:
        people.policy(**{name: expression(people, text) for name, text in policy.items()})
    run_steps(people, story)


TWO_OF_THREE: dict[str, tuple[list[dict[str, str]], str]] = {
    "no policy": (
        [],
        """
        R1 create_wallet: CONSENSUS_NEEDED
        R1 approves: CONSENSUS_NEEDED
        Dan approves: denied
        R2 approves: COMPLETED
        R1 create_wallet: CONSENSUS_NEEDED
        R2 rejects: REJECTED
        R3 approves: 400
        R3 create_wallet: CONSENSUS_NEEDED
        R3 rejects: REJECTED
        Dan create_wallet: denied
        R1 update_organization_name: CONSENSUS_NEEDED
        R3 approves: COMPLETED
        Dan update_organization_name: denied
        """,
    ),
    "a member with a policy acts alone": (
        [{"consensus": "approvers.any(u, u.id == 'R1')", "condition": KINDS_OF_WALLET}],
        """
        R1 create_wallet: COMPLETED
        R2 create_wallet: CONSENSUS_NEEDED
        R3 approves: COMPLETED
        R2 create_wallet: CONSENSUS_NEEDED
        R1 approves: COMPLETED
        """,
    ),
    "denied to all, but members wait for each other": (
        [{"effect": "EFFECT_DENY"}],
        """
        R1 create_wallet: CONSENSUS_NEEDED
        Dan approves: denied
        R2 approves: COMPLETED
        Dan adds own key: denied by policy
        """,
    ),
    "a user's request that members approve": (
        [
            {
                "consensus": "approvers.any(u, u.id == 'Dan') && approvers.any(u, u.id == 'R3')",
                "condition": KINDS_OF_WALLET,
            }
        ],
        """
        Dan create_wallet: CONSENSUS_NEEDED
        R1 approves: CONSENSUS_NEEDED
        R2 approves: COMPLETED
        Dan create_wallet: CONSENSUS_NEEDED
        R3 approves: COMPLETED
        """,
    ),
}


@pytest.mark.parametrize(("policies", "story"), TWO_OF_THREE.values(), ids=TWO_OF_THREE.keys())
def test_with_a_quorum_of_two(policies: list[dict[str, str]], story: str) -> None:
    people = OrganizationHarness("R1", "R2", "R3", "Dan", root=["R1", "R2", "R3"], threshold=2)
    for policy in policies:
        named = {"policyName": "policy", "effect": "EFFECT_ALLOW"} | policy
        asked = people.submit(
            "R1", "create_policy", {name: expression(people, text) for name, text in named.items()}
        )
        assert people.approve("R2", asked).status == "ACTIVITY_STATUS_COMPLETED"
    run_steps(people, story)


def test_an_approval_sent_again_is_decided_by_the_current_rules() -> None:
    people = harness()
    needs_two = {
        "policyName": "two",
        "effect": "EFFECT_ALLOW",
        "consensus": "approvers.count() >= 2",
        "condition": KINDS_OF_WALLET,
    }
    made = people.submit("Root", "create_policy", needs_two)
    policy_id = json.loads(bytes(made.result["createPolicyResult"]))["policyId"]
    waiting = run_steps(people, "Ana create_wallet: CONSENSUS_NEEDED\nAna approves: CONSENSUS_NEEDED")
    assert waiting is not None
    assert waiting.revision == 0  # the second approval changed nothing
    one_is_enough = {"policyId": policy_id, "policyConsensus": "approvers.count() >= 1"}
    people.submit("Root", "update_policy", one_is_enough)
    moved = people.approve("Ana", waiting)
    assert moved.status is ActivityStatus.COMPLETED
    assert [vote.user_id for vote in moved.votes] == [people.user_ids["Ana"]]
