"""Content-addressed snapshots: a value that many votes or evaluations share is stored once and read with each."""

from __future__ import annotations

import asyncio
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from msgspec.structs import replace

from keystead.api.records import Evaluation, User
from keystead.organizations.organization import Organization
from keystead.pipeline.store import Commit, CommitResult
from keystead.storage.open import sqlite_path
from keystead.storage.row_encoding import rows_of
from keystead.storage.rows import by_table, merge
from keystead.storage.tables import TABLES, merged_key_lengths
from tests.storage.conftest import MakeDatabase, opened
from tests.support.commit_history import new_history
from tests.support.commit_samples import a_user, a_vote, an_activity, an_evaluation, an_organization
from tests.support.databases import PostgresDatabase, SqliteDatabase

COMMITTED = CommitResult.COMMITTED
GRACE, EDA = a_user("Grace"), a_user("Eda")
SAID = an_evaluation("", "")


def asked(organization: Organization, voter: User, said: Evaluation = SAID) -> Commit:
    """An activity with the vote of this user, and what the policies said of it."""
    activity = an_activity(organization)
    vote = a_vote(activity.id, voter, activity.request)
    own = an_evaluation(organization.id, activity.id)
    return Commit(
        organization_id=organization.id,
        decided_on=organization.version,
        activity=replace(activity, votes=(vote,)),
        new_votes=(vote,),
        evaluations=(replace(own, policy_evaluations=said.policy_evaluations, vote_id=vote.id),),
    )


def counts(url: str) -> dict[str, int]:
    """Rows of each table; from a thread, since the handle runs an event loop of its own."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(_counts, url).result()


def _counts(url: str) -> dict[str, int]:
    path = sqlite_path(url)
    database = PostgresDatabase(url) if path is None else SqliteDatabase(path)
    try:
        return database.counts()
    finally:
        database.close()


def test_equal_bodies_are_kept_once_in_each_organization(database: str) -> None:
    """A million signatures under a hundred policies: what each said is not there a million times."""

    async def run() -> None:
        async with opened(database) as store:
            history = await new_history(store)
            beside = an_organization(parent_id=history.head.id)
            assert await store.commit(history.suborganization(beside)) is COMMITTED
            before = counts(database)
            for organization in (history.head, beside):
                commits = [asked(organization, GRACE) for _ in range(6)]
                assert await asyncio.gather(*map(store.commit, commits[:4])) == [COMMITTED] * 4
                for commit in commits[4:]:
                    assert await store.commit(commit) is COMMITTED
                for commit in commits:
                    assert commit.activity is not None
                    assert await store.activities.get(organization.id, commit.activity.id) == commit.activity
                    assert await store.activities.evaluations(organization.id, commit.activity.id) == [
                        *commit.evaluations
                    ]
            grown = {table: count - before[table] for table, count in counts(database).items()}
            assert (grown["vote"], grown["policy_evaluation"], grown["snapshot"]) == (12, 12, 4)

    asyncio.run(run())


def test_a_voter_stays_who_they_were(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store:
            history = await new_history(store)
            renamed = replace(GRACE, user_name="Rear Admiral Grace")
            votes = []
            for voter in (GRACE, renamed, GRACE):
                commit = asked(history.head, voter)
                assert await store.commit(commit) is COMMITTED
                assert commit.activity is not None
                votes.append((commit.activity.id, voter))
            for activity_id, voter in votes:
                read = await store.activities.get(history.head.id, activity_id)
                assert read is not None
                assert [vote.user for vote in read.votes] == [voter]

    asyncio.run(run())


def test_what_has_lost_its_body_is_not_passed_over(new_sqlite: MakeDatabase) -> None:
    """A vote or an evaluation less would read as if it had never been cast."""
    database = new_sqlite()

    async def run() -> None:
        async with opened(database) as store:
            history = await new_history(store)
            commit = asked(history.head, GRACE)
            assert await store.commit(commit) is COMMITTED
            assert commit.activity is not None
            with closing(sqlite3.connect(database.removeprefix("sqlite:///"), isolation_level=None)) as beside:
                beside.execute("DELETE FROM snapshot")
            for read in (store.activities.get, store.activities.evaluations):
                with pytest.raises(TypeError):
                    await read(history.head.id, commit.activity.id)

    asyncio.run(run())


def test_two_processes_say_the_same_for_the_first_time(database: str) -> None:
    """In opposite orders, and neither waits for the other for ever."""

    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            history = await new_history(store)
            for _ in range(10):
                said = [an_evaluation(history.head.id, "") for _ in range(12)]
                ours = [asked(history.head, GRACE, each) for each in said]
                theirs = [asked(history.head, EDA, each) for each in reversed(said)]
                commits = [*ours, *theirs]
                results = await asyncio.gather(*map(store.commit, ours), *map(other.commit, theirs))
                assert results == [COMMITTED] * 24
                for commit in commits:
                    assert commit.activity is not None
                    assert await other.activities.evaluations(history.head.id, commit.activity.id) == [
                        *commit.evaluations
                    ]

    asyncio.run(run())


def test_a_group_has_each_once_in_the_order_of_digests() -> None:
    organization = an_organization()
    said = [an_evaluation(organization.id, "") for _ in range(8)]
    commits = [asked(organization, voter, each) for each in said for voter in (GRACE, EDA)]
    group = merge([rows_of(commit) for commit in commits], merged_key_lengths(TABLES))
    assert group is not None
    digests = [row[1] for row in by_table(group.inserted)["snapshot"]]
    assert len(digests) == 2 + len(said)
    assert digests == sorted(set(digests))
