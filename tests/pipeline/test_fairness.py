"""After a conflict with another process, a submission locks the organization, and then has no further conflict.

Here: the lifecycle over a store in memory. Not here: the lock in a real database (tests/storage).
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from keystead.api.enums import ActivityStatus, TagType
from keystead.api.errors import InvalidRequest, Unavailable
from keystead.api.records import Tag, Timestamp
from keystead.organizations.organization import Put, Version, apply
from keystead.pipeline.activity import RecordedActivity
from keystead.pipeline.signer_values import AccountRequest, NewWallet
from keystead.pipeline.store import Changes, Commit, CommitResult
from tests.support.fake_signer import FakeSigner
from tests.support.organization_harness import OrganizationHarness

TIMES = int(os.environ.get("KEYSTEAD_TEST_RACES", "60")) // 10
COMPLETED = ActivityStatus.COMPLETED


def always_faster(people: OrganizationHarness) -> Callable[[Commit], None]:
    """Interference by a rival who makes a tag just ahead of each commit, unless it is locked."""

    def interfere(_: Commit) -> None:
        if people.id not in people.database.locked:
            make_tag(people)

    return interfere


def make_tag(people: OrganizationHarness) -> None:
    """By another process. The first is called "rival 1"."""
    before, now = people.organization, Timestamp.from_ms(people.clock.ms)
    name = f"rival {len(before.tags) + 1}"
    tag = Tag(tag_id=people.ids(), tag_name=name, tag_type=TagType.USER, created_at=now, updated_at=now)
    after = apply(before, [Put(tag)], Version(before.version.number + 1, name))
    write = Changes(after=after, records=(Put(tag),), attachments=(), lookups_added=frozenset())
    commit = Commit(organization_id=people.id, decided_on=before.version, activity=None, changes=write)
    assert people.database.write(commit) is CommitResult.COMMITTED


def harness() -> OrganizationHarness:
    people = OrganizationHarness("Root", "Ana", "Ben", "Cy", root=["Root"])
    people.policy(consensus="approvers.count() >= 3", condition="activity.resource == 'WALLET'")
    return people


def test_a_submission() -> None:
    people = harness()
    people.stores[0].interfere = always_faster(people)
    before = people.stores[0].handed_in
    tag = people.submit("Root", "create_user_tag", {"userTagName": "x", "userIds": []})
    assert tag.status is COMPLETED
    assert people.stores[0].handed_in == before + 2
    assert people.stores[0].locks == 1
    assert [one.tag_name for one in people.organization.tags.in_order()] == ["rival 1", "x"]
    assert people.database.locked == set()


def test_a_vote_that_executes() -> None:
    people = harness()
    activity = people.submit("Ana", "create_wallet", {"walletName": "w", "accounts": []})
    people.approve("Ben", activity)
    people.stores[0].interfere = always_faster(people)
    assert people.approve("Cy", activity).status is COMPLETED
    assert people.stores[0].locks == 1
    assert len(people.organization.wallets) == 1


def test_the_activity_is_read_again() -> None:
    """Another's vote that came before the lock counts beside this one."""
    people = harness()
    activity = people.submit("Ana", "create_wallet", {"walletName": "w", "accounts": []})
    store, theirs = people.stores[0], list[Commit]()

    def kept_back(commit: Commit) -> Unavailable:
        theirs.append(commit)
        return Unavailable("on its way")

    store.interfere = kept_back
    with pytest.raises(Unavailable):
        people.approve("Cy", activity)

    def lost(_: Commit) -> CommitResult | None:
        if theirs:
            assert people.database.write(theirs.pop()) is CommitResult.COMMITTED
        return None

    store.interfere = lost
    approved = people.approve("Ben", activity)
    assert approved.status is COMPLETED
    assert {vote.user.user_name for vote in approved.votes} == {"Ana", "Ben", "Cy"}
    assert store.locks == 1


def test_a_refusal_unlocks() -> None:
    people = harness()
    people.stores[0].interfere = always_faster(people)
    with pytest.raises(InvalidRequest, match="rival 1"):
        people.submit("Root", "create_user_tag", {"userTagName": "rival 1", "userIds": []})
    assert people.stores[0].locks == 1
    assert people.database.locked == set()


@pytest.mark.parametrize("seed", range(TIMES))
def test_a_steady_load_at_another_process(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Deciding takes longer than committing, and longest here: a process that only reads comes too late."""
    people = OrganizationHarness("Root", root=["Root"], processes=2, chance=random.Random(seed))
    create_wallet = FakeSigner.create_wallet

    async def slow(signer: FakeSigner, *, accounts: Sequence[AccountRequest], **call: Any) -> NewWallet:
        for _ in range(100 if signer is people.signers[0] else 40):
            await asyncio.sleep(0)
        return await create_wallet(signer, accounts=accounts, **call)

    monkeypatch.setattr(FakeSigner, "create_wallet", slow)
    caller = people.caller("Root")

    async def make(process: int) -> RecordedActivity:
        body = people.body("create_wallet", {"walletName": f"wallet {people.ids()}", "accounts": []})
        return await people.sending(caller, "create_wallet", body, process)

    async def run() -> tuple[list[RecordedActivity], list[RecordedActivity]]:
        flooded: list[RecordedActivity] = []

        async def flood() -> None:
            while not over.is_set():
                flooded.append(await make(1))

        over = asyncio.Event()
        flooding = [asyncio.create_task(flood()) for _ in range(8)]
        made = [await make(0) for _ in range(5)]
        over.set()
        await asyncio.gather(*flooding)
        return made, flooded

    made, flooded = asyncio.run(run())
    assert {activity.status for activity in made + flooded} == {COMPLETED}
    assert len(people.organization.wallets) == len({activity.id for activity in made + flooded})
    assert len(flooded) > len(made), "the load went on meanwhile"
    assert people.stores[0].locks
