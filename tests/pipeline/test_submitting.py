"""A submission with denials, conflicts, failures and the same bytes at once: executed once, or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from keystead.api.enums import ActivityStatus
from keystead.api.errors import Conflict, InvalidRequest, NotFound, PermissionDenied, Unavailable
from keystead.operations.votes import GetPolicyEvaluationsRequest, get_policy_evaluations
from keystead.pipeline.activity import RecordedActivity
from keystead.pipeline.organization_writer import ATTEMPTS
from keystead.pipeline.store import Commit, CommitResult
from tests.support.approval_flows import ASKED, run_steps
from tests.support.organization_harness import OrganizationHarness

CONFLICT, DUPLICATE = CommitResult.CONFLICT, CommitResult.DUPLICATE


def harness(processes: int = 1) -> OrganizationHarness:
    return OrganizationHarness("Root", "Ana", root=["Root"], processes=processes)


def first(many: int, result: CommitResult | Exception) -> Callable[[Commit], CommitResult | Exception | None]:
    """Interference with the first `many` commits, which have this result."""
    left = [result] * many
    return lambda commit: left.pop() if left else None


def test_a_denial_leaves_an_evaluation_and_no_activity() -> None:
    people = harness()
    policy_id = people.policy(effect="EFFECT_DENY", condition="activity.resource == 'WALLET'")
    before = people.activities()
    with pytest.raises(PermissionDenied) as denied:
        people.submit("Ana", "create_wallet", {"walletName": "w", "accounts": []})
    assert denied.value.details is not None
    (detail,) = denied.value.details
    assert detail["message"] == f"The following policies denied this action: {policy_id}"
    assert detail["policyEvaluations"] == [{"policyId": policy_id, "outcome": "OUTCOME_DENY_EXPLICIT"}]
    request = GetPolicyEvaluationsRequest(organization_id=people.id, activity_id=detail["activityId"])
    (evaluation,) = people.run(get_policy_evaluations(people.reading("Ana"), request)).policy_evaluations
    assert [(one.policy_id, one.outcome) for one in evaluation.policy_evaluations] == [
        (policy_id, "OUTCOME_DENY_EXPLICIT")
    ]
    assert people.activities() == before


def test_each_vote_leaves_an_evaluation() -> None:
    people = OrganizationHarness("Root", "Ana", "Ben", root=["Root"])
    policy_id = people.policy(consensus="approvers.count() >= 2", condition="activity.resource == 'WALLET'")

    def outcomes_of(activity: RecordedActivity) -> list[list[str]]:
        request = GetPolicyEvaluationsRequest(organization_id=people.id, activity_id=activity.id)
        found = people.run(get_policy_evaluations(people.reading("Ben"), request)).policy_evaluations
        assert [one.vote_id for one in found] == [vote.id for vote in people.seen("Ana", activity).votes]
        assert all([each.policy_id for each in one.policy_evaluations] == [policy_id] for one in found)
        return [[each.outcome for each in one.policy_evaluations] for one in found]

    waiting = "OUTCOME_REQUIRES_CONSENSUS"
    approved = run_steps(people, "Ana create_wallet: CONSENSUS_NEEDED\nBen approves: COMPLETED")
    assert approved is not None
    assert outcomes_of(approved) == [[waiting], ["OUTCOME_ALLOW"]]
    rejected = run_steps(people, "Ana create_wallet: CONSENSUS_NEEDED\nBen rejects: REJECTED")
    assert rejected is not None
    assert outcomes_of(rejected) == [[waiting], ["OUTCOME_REJECTED"]]


def test_what_fails_at_once_is_refused_and_leaves_nothing() -> None:
    people = harness()
    people.result("Root", "create_wallet", {"walletName": "w", "accounts": []})
    log = list(people.database.log)
    with pytest.raises(InvalidRequest, match="label must be unique"):
        people.submit("Root", "create_wallet", {"walletName": "w", "accounts": []})
    assert people.database.log == log


@pytest.mark.parametrize("result", [CONFLICT, DUPLICATE])
@pytest.mark.parametrize("many", [1, 2, ATTEMPTS - 1])
def test_a_request_is_decided_again_after_a_conflict(result: CommitResult, many: int) -> None:
    people = harness()
    people.stores[0].interfere = first(many, result)
    done = people.submit("Root", "create_wallet", {"walletName": "w", "accounts": []})
    assert done.status is ActivityStatus.COMPLETED
    assert people.activities() == [done]
    assert len(people.organization.wallets) == 1
    assert people.stores[0].handed_in == many + 1
    assert (people.stores[0].locks > 0) is (result is CONFLICT)


def test_a_request_is_refused_after_the_last_attempt() -> None:
    people = harness()
    people.stores[0].interfere = first(ATTEMPTS, CONFLICT)
    body = people.body("create_wallet", {"walletName": "w", "accounts": []})
    with pytest.raises(Conflict, match="send the same request again"):
        people.send("Root", "create_wallet", body)
    assert people.stores[0].handed_in == ATTEMPTS
    assert people.activities() == []
    assert people.send("Root", "create_wallet", body).status is ActivityStatus.COMPLETED


def test_the_database_does_not_answer() -> None:
    people = harness()
    people.stores[0].interfere = first(1, Unavailable("away"))
    body = people.body("create_wallet", {"walletName": "w", "accounts": []})
    with pytest.raises(Unavailable):
        people.send("Root", "create_wallet", body)
    assert people.send("Root", "create_wallet", body).status is ActivityStatus.COMPLETED
    assert len(people.organization.wallets) == 1


def test_a_commit_is_durable_and_its_result_is_lost() -> None:
    people = harness()
    database = people.database

    def kept(commit: Commit) -> Exception:
        database.write(commit)
        people.stores[0].interfere = lambda commit: None
        return Unavailable("away")

    people.stores[0].interfere = kept
    body = people.body("create_wallet", {"walletName": "w", "accounts": []})
    with pytest.raises(Unavailable):
        people.send("Root", "create_wallet", body)
    assert people.send("Root", "create_wallet", body).status is ActivityStatus.COMPLETED
    assert len(people.organization.wallets) == 1


@pytest.mark.parametrize("processes", [1, 2])
def test_the_same_bytes_at_once(processes: int) -> None:
    people = harness(processes)
    body = people.body("create_wallet", {"walletName": "w", "accounts": []})
    callers = [people.caller("Root")] * 10

    async def all_at_once() -> list[RecordedActivity]:
        return await asyncio.gather(
            *[
                people.sending(caller, "create_wallet", body, number % processes)
                for number, caller in enumerate(callers)
            ]
        )

    answers = asyncio.run(all_at_once())
    assert answers == [answers[0]] * 10
    assert people.activities() == [answers[0]]
    if processes == 1:
        assert people.stores[0].handed_in == 1


def test_many_at_once_share_their_turns() -> None:
    people = harness()
    bodies = [people.body("create_wallet", {"walletName": str(n), "accounts": []}) for n in range(50)]
    caller = people.caller("Root")

    async def all_at_once() -> list[RecordedActivity]:
        return await asyncio.gather(*[people.sending(caller, "create_wallet", body) for body in bodies])

    asyncio.run(all_at_once())
    assert people.organization.version.number == 51
    assert len(people.organization.wallets) == 50
    assert people.stores[0].handed_in == 50, "none lost a race"


def test_a_caller_who_hangs_up() -> None:
    people = harness()
    bodies = [people.body("create_wallet", {"walletName": str(n), "accounts": []}) for n in range(20)]
    caller = people.caller("Root")

    async def some_hang_up() -> None:
        sent = [asyncio.ensure_future(people.sending(caller, "create_wallet", body)) for body in bodies]
        for turn in range(40):
            await asyncio.sleep(0)
            if turn % 4 == 3:
                sent[turn // 4].cancel()
        await asyncio.wait(sent)
        again = await asyncio.gather(*[people.sending(caller, "create_wallet", body) for body in bodies])
        assert {activity.status for activity in again} == {ActivityStatus.COMPLETED}

    asyncio.run(some_hang_up())
    assert people.organization.version.number == 21
    assert sorted(one.wallet_name for one in people.organization.wallets.values()) == sorted(map(str, range(20)))


def test_liveness_and_unknown_organizations() -> None:
    people = harness()
    hour = 3_600_000
    parameters = ASKED["create_wallet"](people)
    for shift, accepted in ((-hour, False), (1 - hour, True), (300_000, True), (300_001, False)):
        people.clock.ms += 10
        now = people.clock.ms + 1
        parameters = ASKED["create_wallet"](people)
        if accepted:
            people.result("Root", "create_wallet", parameters, timestampMs=str(now + shift))
        else:
            with pytest.raises(InvalidRequest, match="too far from the server's time"):
                people.submit("Root", "create_wallet", parameters, timestampMs=str(now + shift))
    elsewhere = people.ids()
    people.database.organizations[elsewhere] = people.organization
    body = people.body("create_wallet", parameters, organizationId=elsewhere)
    caller = people.caller("Root")
    del people.database.organizations[elsewhere]
    with pytest.raises(NotFound, match=elsewhere):
        people.run(people.sending(caller, "create_wallet", body))
