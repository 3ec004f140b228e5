"""One credential, two sub-organizations of one parent: the first commit that registers it keeps it from the others.

Here: the commits, by two stores on one database. Not here: requests over HTTP
(`tests/server/test_credential_races`).
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import pytest
from msgspec.structs import replace

from keystead.api.records import User
from keystead.organizations.lookups import LookupKind
from keystead.organizations.organization import Organization
from keystead.pipeline.store import CommitResult, Page
from keystead.storage.open import sqlite_path
from keystead.storage.store import DatabaseStore
from tests.storage.conftest import opened
from tests.support.commit_history import CommitHistory, new_history
from tests.support.commit_samples import a_user, an_organization
from tests.support.hanging import PATIENCE_S

COMMITTED, CONFLICT, DUPLICATE, CREDENTIAL_HELD = CommitResult


def with_key_of(other: User) -> User:
    """Somebody else with the same public key."""
    return replace(a_user(), api_keys=other.api_keys)


def with_passkey_of(other: User) -> User:
    """Somebody else with the same credential id."""
    return replace(a_user(), authenticators=other.authenticators)


def with_wallet_of(other: User) -> User:
    """Somebody else who logs in with the same wallet at the same domain."""
    return replace(a_user(), wallet_authenticators=other.wallet_authenticators)


SAME: dict[str, Callable[[User], User]] = {
    "public key": with_key_of,
    "credential id": with_passkey_of,
    "wallet": with_wallet_of,
}


class Family:
    """A parent, and two sub-organizations of it."""

    def __init__(self, parent: CommitHistory, children: list[Organization]) -> None:
        self.parent = parent
        self.first, self.second = [CommitHistory(child) for child in children]

    def child(self, *users: User) -> Organization:
        return an_organization(parent_id=self.parent.head.id, users=users)


async def new_family(store: DatabaseStore) -> Family:
    parent = await new_history(store)
    children = [an_organization(parent_id=parent.head.id) for _ in range(2)]
    results = await asyncio.gather(*[store.commit(parent.suborganization(child)) for child in children])
    assert results == [COMMITTED] * 2
    return Family(parent, children)


@pytest.mark.parametrize("same", SAME.values(), ids=SAME)
def test_of_two_siblings_at_the_same_instant_one_registers_it(same: Callable[[User], User], database: str) -> None:
    """By two stores, and by one store in one transaction; the commits beside them are written."""

    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            family = await new_family(store)
            for stores in ((store, other), (other, store), (store, store)):
                user = a_user()
                rivals = [family.first, family.second]
                before = [history.head for history in rivals]
                commits = [rivals[0].step(user), rivals[1].step(same(user))]
                beside = [stores[0].commit(family.parent.signing()), stores[1].commit(family.parent.signing())]
                results = await asyncio.gather(
                    *[place.commit(commit) for place, commit in zip(stores, commits, strict=True)]
                )
                assert sorted(results, key=str) == sorted([COMMITTED, CREDENTIAL_HELD], key=str)
                assert await asyncio.gather(*beside) == [COMMITTED] * 2
                loser = results.index(CREDENTIAL_HELD)
                rivals[loser].head = before[loser]
                for place in (store, other):
                    assert await place.organization(before[loser].id) == before[loser]
                    assert await place.organization(rivals[1 - loser].head.id) == rivals[1 - loser].head

    asyncio.run(asyncio.wait_for(run(), PATIENCE_S))


def test_who_may_have_a_credential_of_another(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store:
            family, elsewhere = await new_family(store), CommitHistory(an_organization())
            await store.commit(family.parent.suborganization(elsewhere.head))
            user = a_user()
            assert await store.commit(family.first.step(user)) is COMMITTED
            child = family.child(with_key_of(user))
            signed_up = family.parent.suborganization(child, shares_credentials=False)
            assert await store.commit(signed_up) is CREDENTIAL_HELD
            assert await store.commit(family.parent.suborganization(child)) is COMMITTED, (
                "the parent gives it to several"
            )
            assert await store.commit(family.parent.step(with_key_of(user))) is COMMITTED, "the parent itself"
            assert await store.commit(elsewhere.step(with_key_of(user))) is COMMITTED, "of no parent"
            renamed = replace(user, user_name="another name")
            assert await store.commit(family.first.step(renamed)) is COMMITTED, "its holder, changed"
            assert await store.commit(family.first.step(replace(renamed, api_keys=()))) is COMMITTED
            assert await store.commit(family.second.step(with_key_of(user))) is COMMITTED, "it was given up"

    asyncio.run(asyncio.wait_for(run(), PATIENCE_S))


def test_given_up_and_registered_again_in_one_transaction(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store:
            history, user = (await new_family(store)).first, a_user()
            for users in ((user,), (replace(user, api_keys=()), user), (replace(user, api_keys=()), user)):
                results = await asyncio.gather(*[store.commit(history.step(each)) for each in users])
                assert results == [COMMITTED] * len(users)
            key = user.api_keys[0].credential.public_key
            parent_id = history.head.profile.parent_id
            assert parent_id is not None
            found = await store.suborganizations.page(parent_id, (LookupKind.PUBLIC_KEY, key), Page(limit=10))
            assert found == [history.head.id]

    asyncio.run(asyncio.wait_for(run(), PATIENCE_S))


class OpenTransaction:
    """A transaction of another process that has inserted a row and is not committed yet."""

    def __init__(self, end: Callable[[str], Any], is_waited_for: Callable[[], Any]) -> None:
        self.end = end
        self.is_waited_for = is_waited_for


@asynccontextmanager
async def inserting(database: str, row: tuple[Any, ...]) -> AsyncIterator[OpenTransaction]:
    path = sqlite_path(database)
    if path is not None:
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO lookup VALUES (?, ?, ?, ?, ?, ?)", row)

        async def end(how: str) -> None:
            connection.execute(how)

        async def always() -> bool:  # no other transaction writes beside one that writes
            return True

        yield OpenTransaction(end, always)
        connection.close()
        return
    writing: Any = await asyncpg.connect(database)
    looking: Any = await asyncpg.connect(database)
    await writing.execute("BEGIN")
    await writing.execute("INSERT INTO lookup VALUES ($1, $2, $3, $4, $5, $6)", *row)

    async def is_waited_for() -> bool:
        pid = writing.get_server_pid()
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE $1 = ANY(pg_blocking_pids(pid))"
        return bool(await looking.fetchval(waiting, pid))

    yield OpenTransaction(writing.execute, is_waited_for)
    await writing.close()
    await looking.close()


@pytest.mark.parametrize(("end", "expected"), [("COMMIT", CREDENTIAL_HELD), ("ROLLBACK", COMMITTED)])
def test_a_commit_waits_for_the_transaction_that_came_first(
    end: str, expected: CommitResult, database: str
) -> None:
    async def run() -> None:
        async with opened(database) as store:
            family, user = await new_family(store), a_user()
            key, parent_id = user.api_keys[0].credential.public_key, family.parent.head.id
            row = (str(LookupKind.PUBLIC_KEY), key, parent_id, family.first.head.id, "somebody", True)
            async with inserting(database, row) as first:
                second = asyncio.ensure_future(store.commit(family.second.step(user)))
                while not await first.is_waited_for():  # noqa: ASYNC110 (the database tells nobody)
                    await asyncio.sleep(0.005)
                assert not second.done()
                await first.end(end)
                assert await second is expected

    asyncio.run(asyncio.wait_for(run(), PATIENCE_S))
