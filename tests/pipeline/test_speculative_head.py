"""Decisions on the speculative head: they count only if the commits that lead to the head succeed.

In each story a first request is handed in and then loses its race for good; a second one, decided on top of it,
must not keep anything that only the first one's change would have led to.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from keystead.api.enums import ActivityStatus
from keystead.api.errors import InvalidRequest, PermissionDenied, Unavailable
from keystead.pipeline.activity import RecordedActivity
from keystead.pipeline.store import Commit, CommitResult
from tests.support.memory_store import MemoryStore
from tests.support.organization_harness import OrganizationHarness

Told = RecordedActivity | BaseException
Send = Callable[[], Awaitable[RecordedActivity]]


def harness() -> OrganizationHarness:
    people = OrganizationHarness("Root", "Ana", "Ben", root=["Root"])
    people.policy(consensus="approvers.count() >= 2", condition="activity.kind == 'CREATE_USER_TAG'")
    return people


async def handed_in_by(store: MemoryStore, many: int) -> None:
    for _ in range(100):
        if store.handed_in < many:
            await asyncio.sleep(0)


def on_top_of(people: OrganizationHarness, lost: Send, second: Send) -> Told:
    """The second request's answer, where the first is under way, loses, and is given up when it has lost again."""
    store, doomed = people.stores[0], set[str]()

    def interfere(commit: Commit) -> CommitResult | None:
        if commit.activity is not None and commit.activity.fingerprint in doomed:
            return CommitResult.CONFLICT
        return None

    async def run() -> Told:
        store.interfere = interfere
        before = store.handed_in
        losing = asyncio.ensure_future(lost())
        await handed_in_by(store, before + 1)
        assert store.newest is not None
        assert store.newest.activity is not None
        doomed.add(store.newest.activity.fingerprint)
        answering = asyncio.ensure_future(second())
        await asyncio.sleep(0)
        while not losing.done():
            if store.handed_in > before + 2:
                losing.cancel()
            await asyncio.sleep(0)
        (answer,) = await asyncio.gather(answering, return_exceptions=True)
        return answer

    return asyncio.run(run())


def sending(people: OrganizationHarness, who: str, name: str, parameters: dict[str, Any]) -> Send:
    body, caller = people.body(name, parameters), people.caller(who)
    return lambda: people.sending(caller, name, body)


def test_an_activity_that_fails_only_on_the_speculative_head() -> None:
    people = harness()
    tag = {"userTagName": "x", "userIds": []}
    waiting = people.submit("Ana", "create_user_tag", tag)
    approval = {"fingerprint": waiting.fingerprint}
    answer = on_top_of(
        people,
        sending(people, "Root", "create_user_tag", tag),
        sending(people, "Ben", "approve_activity", approval),
    )
    assert isinstance(answer, RecordedActivity)
    assert answer.status is ActivityStatus.COMPLETED, "no tag of this name ever was"


def test_a_permission_that_exists_only_on_the_speculative_head() -> None:
    people = harness()
    policy = {"policyName": "p", "effect": "EFFECT_ALLOW", "consensus": "approvers.count() >= 2"}
    answer = on_top_of(
        people,
        sending(people, "Root", "create_policy", policy),
        sending(people, "Ben", "create_wallet", {"walletName": "w", "accounts": []}),
    )
    assert isinstance(answer, PermissionDenied), answer


def test_a_denial_that_exists_only_on_the_speculative_head() -> None:
    people = harness()
    policy = {"policyName": "p", "effect": "EFFECT_DENY"}
    answer = on_top_of(
        people,
        sending(people, "Root", "create_policy", policy),
        sending(people, "Ben", "create_user_tag", {"userTagName": "x", "userIds": []}),
    )
    assert isinstance(answer, RecordedActivity), answer
    assert answer.status is ActivityStatus.CONSENSUS_NEEDED


def test_a_refusal_that_holds_only_on_the_speculative_head() -> None:
    people = harness()
    tag = {"userTagName": "x", "userIds": []}
    answer = on_top_of(
        people,
        sending(people, "Root", "create_user_tag", tag),
        sending(people, "Root", "create_user_tag", tag),
    )
    assert isinstance(answer, RecordedActivity), answer


def test_a_caller_who_was_deleted_only_on_the_speculative_head() -> None:
    people = harness()
    answer = on_top_of(
        people,
        sending(people, "Root", "delete_users", {"userIds": [people.user_ids["Ben"]]}),
        sending(people, "Ben", "create_user_tag", {"userTagName": "x", "userIds": []}),
    )
    assert isinstance(answer, RecordedActivity), answer


def test_commits_that_succeed_count() -> None:
    people = harness()
    policy = {"policyName": "p", "effect": "EFFECT_DENY"}
    first = sending(people, "Root", "create_policy", policy)
    second = sending(people, "Ben", "create_user_tag", {"userTagName": "x", "userIds": []})
    before = people.stores[0].handed_in

    async def both() -> Told:
        leading = asyncio.ensure_future(first())
        await handed_in_by(people.stores[0], before + 1)
        _, answer = await asyncio.gather(leading, second(), return_exceptions=True)
        return answer

    answer = asyncio.run(both())
    assert isinstance(answer, PermissionDenied), answer


def test_two_servers_execute_one_activity_and_one_of_them_builds_on_its_own() -> None:
    people = OrganizationHarness("Root", "Ana", "Ben", "Cy", root=["Root"], processes=2)
    people.policy(consensus="approvers.count() >= 2", condition="activity.kind == 'CREATE_USER_TAG'")
    waiting = people.submit("Ana", "create_user_tag", {"userTagName": "x", "userIds": []})
    approval = {"fingerprint": waiting.fingerprint}
    here, there = people.stores
    theirs: list[Commit] = []

    def kept_back(commit: Commit) -> Unavailable:
        theirs.append(commit)
        return Unavailable("on its way")

    there.interfere = kept_back
    body = people.body("approve_activity", approval)
    with pytest.raises(Unavailable):
        people.run(people.sending(people.caller("Cy"), "approve_activity", body, process=1))

    def theirs_first(commit: Commit) -> None:
        if theirs:
            assert here.handed_in == before + 2, "the second is handed in already, on top of the first"
            people.database.write(theirs.pop())

    here.interfere = theirs_first
    before = here.handed_in
    sends = [
        sending(people, "Ben", "approve_activity", approval),
        sending(people, "Root", "create_user_tag", {"userTagName": "y", "userIds": []}),
    ]

    async def both() -> list[Told]:
        return await asyncio.gather(*[send() for send in sends], return_exceptions=True)

    refused, made = asyncio.run(both())
    assert isinstance(refused, InvalidRequest), refused
    assert isinstance(made, RecordedActivity), made
    assert sorted(tag.tag_name for tag in people.organization.tags.values()) == ["x", "y"]
