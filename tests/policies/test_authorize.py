"""The order of the rules, and the recorded outcome of each policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from keystead.api.errors import InvalidRequest
from keystead.api.records import Policy
from keystead.policies.authorize import Authorizer, Rule, Verdict, authorize
from keystead.policies.language.expression import Expression
from keystead.policies.language.namespaces import Clause
from keystead.policies.policy import check_policy, scope_source
from keystead.policies.policy_evaluation import EvaluationOutcome
from keystead.policies.policy_set import PolicySet
from keystead.policies.request import AuthorizationRequest
from tests.support.hanging import not_hanging
from tests.support.policy_fixtures import ONE_ROOT, TWO_OF_THREE, USERS, allow, deny, is_user, request, voters

ALLOW, CN = Verdict.ALLOW, Verdict.NEEDS_CONSENSUS
IMPLICIT, EXPLICIT = Verdict.DENY_IMPLICIT, Verdict.DENY_EXPLICIT
OPEN, SHUT = "CronSpan('* * * * *', '1m', 'UTC')", "CronSpan('0 0 1 1 *', '1m', 'UTC')"
ABSENT, UNKNOWN = "wallet.id == 'W1'", "activity.params.user_ids[0] == 'A'"
"""About a keyword that no activity here has; about a user whom the activities here do not name."""
WHO_IS_UNKNOWN = "approvers[9].id == 'A'"
TWO = "approvers.count() >= 2"


@pytest.mark.parametrize(
    ("policies", "verdict", "rule", "decided"),
    [
        ([], IMPLICIT, Rule.NONE, ()),
        ([allow()], ALLOW, Rule.ALLOW_POLICY, ("P0",)),
        ([deny()], EXPLICIT, Rule.DENY_POLICY, ("P0",)),
        ([allow(), deny(), allow(), deny()], EXPLICIT, Rule.DENY_POLICY, ("P1", "P3")),
        ([allow("false"), allow(), allow()], ALLOW, Rule.ALLOW_POLICY, ("P1", "P2")),
        ([allow(consensus=TWO), allow()], ALLOW, Rule.ALLOW_POLICY, ("P1",)),
        ([allow(consensus=TWO), deny()], EXPLICIT, Rule.DENY_POLICY, ("P1",)),
        ([allow(consensus=TWO), deny(consensus=TWO)], CN, Rule.CONSENSUS, ("P0",)),
        ([allow(), deny(consensus=TWO)], ALLOW, Rule.ALLOW_POLICY, ("P0",)),
        ([allow(), deny("false")], ALLOW, Rule.ALLOW_POLICY, ("P0",)),
        ([allow(), deny(ABSENT)], ALLOW, Rule.ALLOW_POLICY, ("P0",)),
        ([allow(ABSENT), allow()], ALLOW, Rule.ALLOW_POLICY, ("P1",)),
        ([allow(consensus=is_user("B"))], IMPLICIT, Rule.NONE, ()),
        ([allow(time=SHUT)], IMPLICIT, Rule.NONE, ()),
        ([allow(), deny(time=SHUT)], ALLOW, Rule.ALLOW_POLICY, ("P0",)),
        ([allow(), deny(time=OPEN)], EXPLICIT, Rule.DENY_POLICY, ("P1",)),
        ([allow(consensus=TWO, time=SHUT)], IMPLICIT, Rule.NONE, ()),
    ],
)
def test_policies(policies: list, verdict: Verdict, rule: Rule, decided: tuple[str, ...]) -> None:  # type: ignore[type-arg]
    decision = authorize(*request("A", "DELETE_USERS", policies))
    assert (decision.verdict, decision.rule, decision.policy_ids) == (verdict, rule, decided)


@pytest.mark.parametrize(
    ("policy", "outcome", "clause"),
    [
        (allow(), EvaluationOutcome.ALLOW, None),
        (deny(), EvaluationOutcome.DENY_EXPLICIT, None),
        (allow("false"), EvaluationOutcome.DENY_IMPLICIT, Clause.CONDITION),
        (deny("false"), EvaluationOutcome.DENY_IMPLICIT, Clause.CONDITION),
        (allow("false", "false"), EvaluationOutcome.DENY_IMPLICIT, Clause.CONDITION),
        (allow("true", "false"), EvaluationOutcome.DENY_IMPLICIT, Clause.CONSENSUS),
        (deny("true", TWO), EvaluationOutcome.DENY_IMPLICIT, Clause.CONSENSUS),
        (allow("true", TWO), EvaluationOutcome.REQUIRES_CONSENSUS, Clause.CONSENSUS),
        (allow("false", TWO), EvaluationOutcome.DENY_IMPLICIT, Clause.CONDITION),
        (allow("true", "true", SHUT), EvaluationOutcome.TIME_INACTIVE, Clause.TIME),
        (deny("true", "true", SHUT), EvaluationOutcome.TIME_INACTIVE, Clause.TIME),
        (allow("true", TWO, SHUT), EvaluationOutcome.TIME_INACTIVE, Clause.TIME),
        (allow("false", "true", SHUT), EvaluationOutcome.DENY_IMPLICIT, Clause.CONDITION),
        # a keyword that the activity does not have, whatever else the policy says
        (allow(ABSENT), EvaluationOutcome.ERROR, Clause.CONDITION),
        (deny(ABSENT), EvaluationOutcome.ERROR, Clause.CONDITION),
        (allow(ABSENT, "false"), EvaluationOutcome.ERROR, Clause.CONDITION),
        (deny(ABSENT, "true", SHUT), EvaluationOutcome.ERROR, Clause.CONDITION),
        (allow(f"true || {ABSENT}"), EvaluationOutcome.ERROR, Clause.CONDITION),
        (deny(f"false && {ABSENT}"), EvaluationOutcome.ERROR, Clause.CONDITION),
        (deny(f"{UNKNOWN} || {ABSENT}"), EvaluationOutcome.ERROR, Clause.CONDITION),
        # what is unknown allows nothing
        (allow(UNKNOWN), EvaluationOutcome.ERROR, Clause.CONDITION),
        (allow("true", WHO_IS_UNKNOWN), EvaluationOutcome.ERROR, Clause.CONSENSUS),
        (allow("true", WHO_IS_UNKNOWN, SHUT), EvaluationOutcome.ERROR, Clause.CONSENSUS),
        (allow("false", WHO_IS_UNKNOWN), EvaluationOutcome.DENY_IMPLICIT, Clause.CONDITION),
        (allow(f"true || {UNKNOWN}"), EvaluationOutcome.ALLOW, None),
        (allow(f"!({UNKNOWN})"), EvaluationOutcome.ERROR, Clause.CONDITION),
        (allow("true", f"{WHO_IS_UNKNOWN} || {is_user('A')}"), EvaluationOutcome.ALLOW, None),
        # and denies, unless a clause is false
        (deny(UNKNOWN), EvaluationOutcome.DENY_EXPLICIT, Clause.CONDITION),
        (deny(f"!({UNKNOWN})"), EvaluationOutcome.DENY_EXPLICIT, Clause.CONDITION),
        (deny(f"false || {UNKNOWN}"), EvaluationOutcome.DENY_EXPLICIT, Clause.CONDITION),
        (deny(f"activity.action == 'SIGN' && {UNKNOWN}"), EvaluationOutcome.DENY_IMPLICIT, Clause.CONDITION),
        (deny(UNKNOWN, "false"), EvaluationOutcome.DENY_IMPLICIT, Clause.CONSENSUS),
        (deny(UNKNOWN, TWO), EvaluationOutcome.DENY_IMPLICIT, Clause.CONSENSUS),
        (deny(UNKNOWN, time=SHUT), EvaluationOutcome.TIME_INACTIVE, Clause.TIME),
        (deny(UNKNOWN, time=OPEN), EvaluationOutcome.DENY_EXPLICIT, Clause.CONDITION),
        (deny("false", WHO_IS_UNKNOWN), EvaluationOutcome.DENY_IMPLICIT, Clause.CONDITION),
        (deny("true", WHO_IS_UNKNOWN), EvaluationOutcome.DENY_EXPLICIT, Clause.CONSENSUS),
        (deny(UNKNOWN, WHO_IS_UNKNOWN), EvaluationOutcome.DENY_EXPLICIT, Clause.CONDITION),
    ],
)
def test_outcome(policy, outcome: EvaluationOutcome, clause: Clause | None) -> None:  # type: ignore[no-untyped-def]
    asked = request("A", "DELETE_USERS", [policy, allow()], params={"user_ids": []})
    decision = authorize(*asked)
    evaluation = decision.evaluations[0]
    assert (evaluation.policy_id, evaluation.outcome, evaluation.clause) == ("P0", outcome, clause)
    is_denied = outcome is EvaluationOutcome.DENY_EXPLICIT
    assert decision.verdict is (EXPLICIT if is_denied else ALLOW)
    if outcome is EvaluationOutcome.ERROR or (is_denied and clause is not None):
        named = {ABSENT: "wallet is absent", UNKNOWN: "activity.params.user_ids[0] is out of range"}
        reasons = [reason for part, reason in named.items() if part in policy.condition]
        assert evaluation.reason is not None
        assert evaluation.reason.startswith(tuple(reasons[:1]) or "approvers[9] is out of range")
    else:
        assert evaluation.reason is None


def test_a_denial_by_what_is_unknown_keeps_voters_out() -> None:
    for condition, may in ((ABSENT, True), (UNKNOWN, False)):
        asked = request("A", "DELETE_USERS", [deny(condition), allow(consensus=TWO)], params={"user_ids": []})
        assert Authorizer(*asked).may_vote("B") is may


@pytest.mark.parametrize(
    ("activity", "owner", "policies", "verdict", "rule"),
    [
        ("CREATE_API_KEYS_V2", "A", [], ALLOW, Rule.OWN_RIGHT),
        ("DELETE_AUTHENTICATORS", "A", [], ALLOW, Rule.OWN_RIGHT),
        ("STAMP_LOGIN", "A", [], ALLOW, Rule.OWN_RIGHT),
        ("CREATE_READ_WRITE_SESSION_V2", "A", [], ALLOW, Rule.OWN_RIGHT),
        ("CREATE_READ_ONLY_SESSION", "A", [], ALLOW, Rule.OWN_RIGHT),
        ("RECOVER_USER", "A", [], ALLOW, Rule.OWN_RIGHT),
        ("CREATE_API_KEYS_V2", "B", [], IMPLICIT, Rule.NONE),
        ("CREATE_API_KEYS_V2", None, [], IMPLICIT, Rule.NONE),
        # not a right over oneself, even if somebody is named as owner
        ("UPDATE_USER_EMAIL", "A", [], IMPLICIT, Rule.NONE),
        ("DELETE_USERS", "A", [], IMPLICIT, Rule.NONE),
        ("UPDATE_ROOT_QUORUM", "A", [], IMPLICIT, Rule.ROOT_ONLY),
        # policies that speak of it decide alone; those that speak of others do not
        ("CREATE_API_KEYS_V2", "A", [deny()], EXPLICIT, Rule.DENY_POLICY),
        ("CREATE_API_KEYS_V2", "A", [allow()], ALLOW, Rule.ALLOW_POLICY),
        ("CREATE_API_KEYS_V2", "A", [allow(consensus=TWO)], CN, Rule.CONSENSUS),
        ("CREATE_API_KEYS_V2", "A", [deny(consensus=is_user("B"))], ALLOW, Rule.OWN_RIGHT),
        ("CREATE_API_KEYS_V2", "A", [allow(consensus=is_user("B"))], ALLOW, Rule.OWN_RIGHT),
        ("CREATE_API_KEYS_V2", "A", [deny(ABSENT)], ALLOW, Rule.OWN_RIGHT),
        ("CREATE_API_KEYS_V2", "A", [deny(time=SHUT)], ALLOW, Rule.OWN_RIGHT),
    ],
)
def test_own_rights(activity: str, owner: str | None, policies: list, verdict: Verdict, rule: Rule) -> None:  # type: ignore[type-arg]
    decision = authorize(*request("A", activity, policies, owner=owner))
    assert (decision.verdict, decision.rule) == (verdict, rule)


@pytest.mark.parametrize(
    ("by", "activity", "owner", "policies", "verdict", "rule"),
    [
        ("R1", "DELETE_USERS", None, [], CN, Rule.ROOT_QUORUM_BELOW_THRESHOLD),
        (("R1", "R1"), "DELETE_USERS", None, [], CN, Rule.ROOT_QUORUM_BELOW_THRESHOLD),
        (("R1", "A"), "DELETE_USERS", None, [], CN, Rule.ROOT_QUORUM_BELOW_THRESHOLD),
        (("R1", "R3"), "DELETE_USERS", None, [deny()], ALLOW, Rule.ROOT_QUORUM),
        (("A", "R1", "R2"), "DELETE_USERS", None, [deny()], ALLOW, Rule.ROOT_QUORUM),
        (("A", "R1"), "DELETE_USERS", None, [], CN, Rule.ROOT_QUORUM_BELOW_THRESHOLD),
        ("R1", "DELETE_USERS", None, [deny()], CN, Rule.ROOT_QUORUM_BELOW_THRESHOLD),
        ("R1", "DELETE_USERS", None, [allow()], ALLOW, Rule.ALLOW_POLICY),
        ("R1", "DELETE_USERS", None, [allow(consensus=TWO)], CN, Rule.CONSENSUS),
        ("R1", "CREATE_API_KEYS_V2", "R1", [], ALLOW, Rule.OWN_RIGHT),
        ("R1", "CREATE_API_KEYS_V2", "A", [], CN, Rule.ROOT_QUORUM_BELOW_THRESHOLD),
        ("R1", "UPDATE_ROOT_QUORUM", None, [allow()], CN, Rule.ROOT_ONLY),
        (("R1", "R2"), "UPDATE_ROOT_QUORUM", None, [], ALLOW, Rule.ROOT_QUORUM),
        *(
            ("A", activity, None, [allow()], IMPLICIT, Rule.ROOT_ONLY)
            for activity in (
                "UPDATE_ROOT_QUORUM",
                "SET_ORGANIZATION_FEATURE",
                "REMOVE_ORGANIZATION_FEATURE",
                "UPDATE_ORGANIZATION_NAME",
            )
        ),
    ],
)
def test_root_quorum(by, activity: str, owner, policies, verdict: Verdict, rule: Rule) -> None:  # type: ignore[no-untyped-def]
    decision = authorize(*request(by, activity, policies, owner=owner, quorum=TWO_OF_THREE))
    assert (decision.verdict, decision.rule) == (verdict, rule)
    if rule in (Rule.ROOT_QUORUM, Rule.ROOT_ONLY):
        assert decision.evaluations == ()


def test_who_may_vote_where_the_root_quorum_decides() -> None:
    roots = {"R1", "R2", "R3"}
    for activity, policies in (
        ("DELETE_USERS", []),
        ("DELETE_USERS", [deny(), allow(consensus=TWO)]),
        ("UPDATE_ROOT_QUORUM", [allow(consensus=TWO)]),
    ):
        asked = request("R1", activity, policies, quorum=TWO_OF_THREE)
        assert voters(asked) == roots
        assert [Authorizer(*asked).may_vote(each) for each in ("R1", "R3", "A", "unknown")] == [
            True,
            True,
            False,
            False,
        ]


def test_every_counted_user_may_reject() -> None:
    asked = request("C", "CREATE_POLICY_V3", [allow("activity.kind == 'CREATE_POLICY'", TWO)])
    assert authorize(*asked).verdict is CN
    assert voters(asked) == set(USERS)


def test_a_deleted_approver_no_longer_counts() -> None:
    left = {user_id: each for user_id, each in USERS.items() if user_id != "B"}
    policies = [allow(consensus=TWO)]
    assert authorize(*request(("A", "B"), "DELETE_USERS", policies)).verdict is ALLOW
    assert authorize(*request(("A", "B"), "DELETE_USERS", policies, users=left)).verdict is CN
    assert authorize(*request("B", "DELETE_USERS", policies, users=left)).verdict is IMPLICIT


CARD, PIN = ({"secret": {"static_properties": {"kind": kind}}} for kind in ("card", "pin"))
FOR_CARDS, FOR_PINS = (f"secret.static_properties['kind'] == '{kind}'" for kind in ("card", "pin"))

BATCHES = {
    "all allowed": ([allow(FOR_CARDS), allow(FOR_PINS)], ALLOW),
    "one not allowed": ([allow(FOR_CARDS)], IMPLICIT),
    "one denied": ([allow(), deny(FOR_PINS)], EXPLICIT),
    "one waits": ([allow(FOR_CARDS), allow(FOR_PINS, TWO)], CN),
    "one waits, another is not allowed": ([allow(FOR_CARDS, TWO)], IMPLICIT),
}


def batch(policies: Sequence[Policy], *items: Mapping[str, Any]) -> tuple[AuthorizationRequest, PolicySet]:
    asked, compiled = request("B", "EXPORT_SECRETS", policies, resources=items[0])
    return replace(asked, others=items[1:]), compiled


@pytest.mark.parametrize(("policies", "verdict"), BATCHES.values(), ids=BATCHES)
def test_each_item_of_a_batch_is_decided(policies: list, verdict: Verdict) -> None:  # type: ignore[type-arg]
    for items in ((CARD, PIN), (PIN, CARD), (CARD, PIN, CARD)):
        asked = batch(policies, *items)
        assert authorize(*asked).verdict is verdict
        assert "C" in voters(asked) or verdict is not CN
        assert "C" not in voters(asked) or verdict is not EXPLICIT


def test_an_item_outside_the_scope_of_a_session_decides_a_batch_that_is_denied_anyway() -> None:
    """A vote with the session is then refused for its scope, whatever the policies say of the other items."""
    for items in ((CARD, PIN), (PIN, CARD)):
        asked, policies = batch([deny(FOR_CARDS), deny(FOR_PINS)], *items)
        asked = replace(asked, scope=Expression(scope_source(FOR_CARDS)))
        assert authorize(asked, policies).rule is Rule.SESSION_SCOPE


def test_items_of_a_batch_share_the_steps_of_a_decision() -> None:
    wallets = {"wallets": [{"id": str(number)} for number in range(200)]}
    policies = [allow("wallets.any(a, wallets.any(b, a.id == 'x' && b.id == 'x'))"), allow("true")]
    assert authorize(*batch(policies, wallets)).verdict is ALLOW
    many = authorize(*batch(policies, *[wallets] * 10))
    assert (many.verdict, many.rule) == (IMPLICIT, Rule.COST)


def test_policies_that_cost_too_much_deny() -> None:
    wallets = [{"id": str(number)} for number in range(200)]
    costly = [allow(f"wallets.any(a, wallets.any(b, a.id == 'x{number}' && b.id == 'x'))") for number in range(12)]
    policies = [*costly, allow(), deny("activity.action == 'DELETE'")]
    with not_hanging():
        decision = authorize(*request("A", "DELETE_USERS", policies, resources={"wallets": wallets}))
    assert (decision.verdict, decision.rule) == (IMPLICIT, Rule.COST)
    assert decision.evaluations[-1].outcome is EvaluationOutcome.ERROR
    root = authorize(*request("R", "DELETE_USERS", policies, resources={"wallets": wallets}, quorum=ONE_ROOT))
    assert root.verdict is ALLOW


def test_one_costly_policy_fails_alone() -> None:
    wallets = [{"id": str(number)} for number in range(50_000)]
    policies = [allow("wallets.all(a, a.id != 'x' && a.id != 'y' && a.id != 'z')"), allow()]
    decision = authorize(*request("A", "DELETE_USERS", policies, resources={"wallets": wallets}))
    assert decision.verdict is ALLOW
    assert decision.evaluations[0].outcome is EvaluationOutcome.ERROR


def test_a_denial_that_costs_too_much_to_evaluate_denies() -> None:
    wallets = [{"id": str(number)} for number in range(50_000)]
    policies = [deny("wallets.all(a, a.id != 'x' && a.id != 'y' && a.id != 'z')"), allow()]
    decision = authorize(*request("A", "DELETE_USERS", policies, resources={"wallets": wallets}))
    assert (decision.verdict, decision.policy_ids) == (EXPLICIT, ("P0",))
    assert decision.evaluations[0].outcome is EvaluationOutcome.DENY_EXPLICIT
    assert "steps" in (decision.evaluations[0].reason or "")


def test_a_stored_policy_that_no_longer_compiles_is_unknown() -> None:
    broken = deny("eth.tx.gone == 1")
    with pytest.raises(InvalidRequest):
        check_policy(broken, None)
    decision = authorize(*request("A", "DELETE_USERS", [broken, allow()]))
    assert decision.verdict is EXPLICIT
    assert decision.evaluations[0].outcome is EvaluationOutcome.DENY_EXPLICIT
    elsewhere = deny("eth.tx.gone == 1", time=SHUT)
    assert authorize(*request("A", "DELETE_USERS", [elsewhere, allow()])).verdict is ALLOW
    zone = allow(time="CronSpan('* * * * *', '1m', 'Gone/Zone')")
    assert authorize(*request("A", "DELETE_USERS", [zone])).evaluations[0].clause is Clause.TIME
    waiting = allow(consensus="gone.count() >= 2")
    assert authorize(*request("A", "DELETE_USERS", [waiting])).verdict is IMPLICIT
    assert voters(request("A", "DELETE_USERS", [waiting])) == {"R"}
