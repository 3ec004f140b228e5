"""Votes and changes at the same time, on two processes over one database, many times with different timing.

KEYSTEAD_TEST_RACES sets how many times each.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from keystead.api.enums import ActivityStatus
from keystead.api.errors import InvalidRequest, NotFound, PermissionDenied, ServiceError, Unauthenticated
from keystead.organizations.attachments import ChangedAccount
from keystead.pipeline.activity import RecordedActivity
from keystead.pipeline.store import CommitResult
from tests.support import bundles
from tests.support.memory_database import by_what_found
from tests.support.organization_harness import OrganizationHarness, public_key

TIMES = int(os.environ.get("KEYSTEAD_TEST_RACES", "60"))
COMPLETED, REJECTED = ActivityStatus.COMPLETED, ActivityStatus.REJECTED
CONSENSUS_NEEDED = ActivityStatus.CONSENSUS_NEEDED
WALLETS = "activity.resource == 'WALLET'"

Send = Callable[[], Awaitable[RecordedActivity]]
seeds = pytest.mark.parametrize("seed", range(TIMES))


def harness(seed: int, consensus: str = "approvers.count() >= 2") -> tuple[OrganizationHarness, random.Random]:
    chance = random.Random(seed)
    people = OrganizationHarness("Root", "Ana", "Ben", "Cy", root=["Root"], processes=2, chance=chance)
    people.policy(name="wallets", consensus=consensus, condition=WALLETS)
    return people, chance


def wallet_asked_for(people: OrganizationHarness) -> RecordedActivity:
    return people.submit("Ana", "create_wallet", {"walletName": "w", "accounts": []})


def request(
    people: OrganizationHarness, who: str, name: str, parameters: dict[str, Any], process: int, key: str = ""
) -> Send:
    body, caller = people.body(name, parameters), people.caller(who, key)
    return lambda: people.sending(caller, name, body, process)


def vote(people: OrganizationHarness, who: str, name: str, activity: RecordedActivity, process: int) -> Send:
    return request(people, who, name, {"fingerprint": activity.fingerprint}, process)


def at_once(chance: random.Random, *sends: Send) -> list[RecordedActivity | BaseException]:
    async def delayed(send: Send) -> RecordedActivity:
        for _ in range(chance.randrange(20)):
            await asyncio.sleep(0)
        return await send()

    async def run() -> list[RecordedActivity | BaseException]:
        return await asyncio.gather(*map(delayed, sends), return_exceptions=True)

    answers = asyncio.run(run())
    for answer in answers:
        if isinstance(answer, BaseException) and not isinstance(answer, ServiceError):
            raise answer
    return answers


def check(people: OrganizationHarness) -> None:
    """What holds whatever the timing was."""
    organization, commits = people.organization, people.database.log
    changes = [one.changes for one in commits if one.changes is not None]
    assert [one.after.version.number for one in changes] == list(range(2, organization.version.number + 1))
    changed_by = [one.after.version.changed_by for one in changes]
    evaluations = people.database.evaluations[people.id]
    changing = [one.activity_id for each in changed_by for one in evaluations if one.id == each]
    assert len(set(changing)) == len(changing) == len(changes), "no activity changed anything twice"
    for activity in people.activities():
        voters = [one.user_id for one in activity.votes]
        assert len(set(voters)) == len(voters)
        assert (activity.id in changing) == (activity.status is COMPLETED)
        assert bool(activity.result) == (activity.status is COMPLETED)
    found = people.database.lookups[people.id]
    assert found == by_what_found(organization, people.database.attached_rows(ChangedAccount, people.id))


def now(people: OrganizationHarness, activity: RecordedActivity) -> RecordedActivity:
    return people.database.activities[people.id][activity.id]


@seeds
def test_two_approvers(seed: int) -> None:
    people, chance = harness(seed)
    activity = wallet_asked_for(people)
    answers = at_once(
        chance,
        vote(people, "Ben", "approve_activity", activity, 0),
        vote(people, "Cy", "approve_activity", activity, chance.randrange(2)),
    )
    check(people)
    assert now(people, activity).status is COMPLETED
    assert len(now(people, activity).votes) == 2
    assert sum(isinstance(answer, RecordedActivity) for answer in answers) == 1, "the other came too late"
    assert any(isinstance(answer, InvalidRequest) for answer in answers)


@seeds
def test_two_approvers_of_three(seed: int) -> None:
    people, chance = harness(seed, "approvers.count() >= 3")
    activity = wallet_asked_for(people)
    approvals = [
        vote(people, who, "approve_activity", activity, chance.randrange(2)) for who in ("Ben", "Cy", "Ben")
    ]
    answers = at_once(chance, *approvals)
    check(people)
    assert now(people, activity).status is COMPLETED
    assert len(now(people, activity).votes) == 3
    assert sum(isinstance(answer, RecordedActivity) and answer.status is COMPLETED for answer in answers) <= 2


@seeds
def test_an_approver_and_a_rejecter(seed: int) -> None:
    people, chance = harness(seed)
    activity = wallet_asked_for(people)
    approved, rejected = at_once(
        chance,
        vote(people, "Ben", "approve_activity", activity, 0),
        vote(people, "Cy", "reject_activity", activity, chance.randrange(2)),
    )
    check(people)
    ended = now(people, activity)
    winner, loser = (approved, rejected) if ended.status is COMPLETED else (rejected, approved)
    assert ended.status in (COMPLETED, REJECTED)
    assert winner == ended
    assert isinstance(loser, InvalidRequest)
    assert len(people.organization.wallets) == (ended.status is COMPLETED)


@seeds
def test_the_policy_is_deleted(seed: int) -> None:
    people, chance = harness(seed)
    activity = wallet_asked_for(people)
    (policy_id,) = people.organization.policies
    approved, deleted = at_once(
        chance,
        vote(people, "Ben", "approve_activity", activity, 0),
        request(people, "Root", "delete_policy", {"policyId": policy_id}, chance.randrange(2)),
    )
    check(people)
    assert isinstance(deleted, RecordedActivity)
    if isinstance(approved, RecordedActivity):
        assert approved.status is COMPLETED
        assert [one.activity for one in people.database.log[-2:]] == [approved, deleted]
    else:
        assert isinstance(approved, PermissionDenied)
        assert now(people, activity) == activity


@seeds
def test_the_submitter_is_deleted(seed: int) -> None:
    people, chance = harness(seed)
    activity = wallet_asked_for(people)
    approved, deleted = at_once(
        chance,
        vote(people, "Ben", "approve_activity", activity, 0),
        request(people, "Root", "delete_users", {"userIds": [people.user_ids["Ana"]]}, chance.randrange(2)),
    )
    check(people)
    assert isinstance(deleted, RecordedActivity)
    assert isinstance(approved, RecordedActivity)
    last = people.database.log[-1].activity
    if approved.status is COMPLETED:
        assert last == deleted, "Ana counted, so Ana was still there"
    else:
        assert approved.status is CONSENSUS_NEEDED


@seeds
def test_a_voter_is_deleted(seed: int) -> None:
    people, chance = harness(seed)
    activity = wallet_asked_for(people)
    approved, deleted = at_once(
        chance,
        vote(people, "Ben", "approve_activity", activity, 0),
        request(people, "Root", "delete_users", {"userIds": [people.user_ids["Ben"]]}, chance.randrange(2)),
    )
    check(people)
    assert isinstance(deleted, RecordedActivity)
    assert isinstance(approved, (RecordedActivity, Unauthenticated))
    assert now(people, activity).status is (
        COMPLETED if isinstance(approved, RecordedActivity) else CONSENSUS_NEEDED
    )


@seeds
def test_a_key_is_deleted_while_it_is_used(seed: int) -> None:
    people, chance = harness(seed)
    key = {"apiKeyName": "2", "publicKey": public_key("2"), "curveType": "API_KEY_CURVE_P256"}
    people.result("Root", "create_api_keys", {"userId": people.user_ids["Root"], "apiKeys": [key]})
    gone = {"userId": people.user_ids["Root"], "apiKeyIds": [people.user("Root").api_keys[-1].api_key_id]}
    used, deleted = at_once(
        chance,
        request(people, "Root", "create_wallet", {"walletName": "w", "accounts": []}, 0, key="2"),
        request(people, "Root", "delete_api_keys", gone, chance.randrange(2)),
    )
    check(people)
    assert isinstance(deleted, RecordedActivity)
    if isinstance(used, RecordedActivity):
        assert people.database.log[-1].activity == deleted
    else:
        assert isinstance(used, Unauthenticated)


@seeds
def test_the_same_request_everywhere(seed: int) -> None:
    people, chance = harness(seed)
    body, caller = people.body("create_wallet", {"walletName": "w", "accounts": []}), people.caller("Root")
    sends = [lambda n=n: people.sending(caller, "create_wallet", body, n % 2) for n in range(6)]
    answers = at_once(chance, *sends)
    check(people)
    assert answers == [answers[0]] * 6
    assert len(people.organization.wallets) == 1


@seeds
def test_two_activities_for_one_name(seed: int) -> None:
    people, chance = harness(seed)
    first, second = wallet_asked_for(people), wallet_asked_for(people)
    answers = at_once(
        chance,
        vote(people, "Ben", "approve_activity", first, 0),
        vote(people, "Cy", "approve_activity", second, chance.randrange(2)),
    )
    check(people)
    ends = sorted(answer.status for answer in answers if isinstance(answer, RecordedActivity))
    assert ends == [COMPLETED, ActivityStatus.FAILED]


@seeds
def test_concurrent_requests_of_all_kinds_while_commits_fail(seed: int) -> None:
    people, chance = harness(seed, "approvers.count() >= 3")
    activities = [wallet_asked_for(people), wallet_asked_for(people)]
    for store in people.stores:
        store.interfere = lambda commit: CommitResult.CONFLICT if chance.random() < 0.3 else None
    key = {"apiKeyName": "2", "publicKey": public_key("2"), "curveType": "API_KEY_CURVE_P256"}
    (policy_id,) = people.organization.policies
    changes: list[tuple[str, dict[str, Any]]] = [
        ("create_user_tag", {"userTagName": "t", "userIds": [people.user_ids["Ben"]]}),
        ("create_api_keys", {"userId": people.user_ids["Cy"], "apiKeys": [key]}),
        ("update_policy", {"policyId": policy_id, "policyConsensus": "approvers.count() >= 2"}),
        ("update_root_quorum", {"threshold": 1, "userIds": [people.user_ids[n] for n in ("Root", "Cy")]}),
        ("delete_users", {"userIds": [people.user_ids["Ana"]]}),
    ]
    sends = [request(people, "Root", *change, chance.randrange(2)) for change in changes]
    sends += [
        vote(people, who, chance.choice(["approve_activity"] * 5 + ["reject_activity"]), one, chance.randrange(2))
        for who in ("Ana", "Ben", "Cy", "Root")
        for one in activities
    ]
    chance.shuffle(sends)
    for answer in at_once(chance, *sends):
        assert isinstance(
            answer, (RecordedActivity, InvalidRequest, PermissionDenied, Unauthenticated, NotFound)
        ), answer
    check(people)
    assert len(people.organization.users) == 3


@seeds
def test_two_imports_with_one_target(seed: int) -> None:
    people, chance = harness(seed)
    user_id = people.user_ids["Root"]
    people.submit("Root", "init_import_wallet", {"userId": user_id})
    bundle = bundles.message(b"whatever", bundles.point(bundles.fresh()))
    asked: list[dict[str, Any]] = [
        {"userId": user_id, "walletName": name, "encryptedBundle": bundle, "accounts": []} for name in ("a", "b")
    ]
    sends = [request(people, "Root", "import_wallet", each, process) for process, each in enumerate(asked)]
    answers = at_once(chance, *sends)
    check(people)
    assert sorted(isinstance(answer, InvalidRequest) for answer in answers) == [False, True]
    assert len(people.organization.wallets) == 1
    assert not people.organization.import_targets
