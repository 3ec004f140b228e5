"""Everything that was committed is read back: records, activities with votes, pages, texts, accounts, look-ups."""

from __future__ import annotations

import asyncio
import json
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from keystead.api.enums import ActivityStatus
from keystead.organizations.attachments import InterfaceText
from keystead.organizations.lookups import LookupKind, user_lookups
from keystead.organizations.organization import Put, apply
from keystead.pipeline.store import CommitResult, Page
from keystead.storage.open import sqlite_path
from keystead.storage.rows import Rows as WrittenRows
from keystead.storage.sqlite import database as sqlite_database
from keystead.storage.store import FIRST_ORGANIZATION_ID
from tests.conftest import MakeDatabase
from tests.storage.conftest import opened
from tests.support.commit_history import new_history, of
from tests.support.commit_samples import (
    A_FAILURE,
    AN_APP_PROOF,
    TYPE,
    a_secret,
    a_user,
    a_vote,
    a_wallet,
    an_account,
    an_activity,
    an_organization,
)
from tests.support.databases import PostgresDatabase, Rows, SqliteDatabase

COMMITTED = CommitResult.COMMITTED


def test_bootstrap_is_read_back_by_another_process(database: str) -> None:
    async def run() -> None:
        organization = an_organization(users=(a_user(), a_user("Grace")))
        interface_id = next(iter(organization.contract_interfaces))
        user = organization.users.in_order()[0]
        async with opened(database) as store, opened(database) as other:
            assert await store.organization(organization.id) is None
            assert await store.installation.value("mode") is None
            text = InterfaceText(interface_id, '[{"name": "\u0000 ü 🔑"}]')
            assert await store.bootstrap(
                organization, (text, a_secret(organization.id)), user_lookups(user), {"mode": b"dev\x00"}
            )
            assert await other.organization(organization.id) == organization
            assert await store.organization(organization.id) == organization
            assert await other.attached.get(InterfaceText, organization.id, interface_id) == text
            assert await other.attached.interface_texts(organization.id) == {interface_id: text.text}
            assert await other.installation.value("mode") == b"dev\x00"
            assert await other.installation.value(FIRST_ORGANIZATION_ID) == organization.id.encode()

    asyncio.run(run())


def test_an_instance_is_bootstrapped_once(database: str) -> None:
    async def run() -> None:
        candidates = [an_organization() for _ in range(4)]
        async with opened(database) as store, opened(database) as other:
            written = await asyncio.gather(
                *[
                    place.bootstrap(candidate, (), (), {"mode": candidate.id.encode()})
                    for place, candidate in zip([store, other] * 2, candidates, strict=True)
                ]
            )
            assert sorted(written) == [False, False, False, True]
            winner = candidates[written.index(True)]
            assert await other.installation.value("mode") == winner.id.encode()
            for candidate in candidates:
                assert await other.organization(candidate.id) == (candidate if candidate is winner else None)

    asyncio.run(run())


def test_activity_with_all_its_parts(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store:
            history = await new_history(store)
            other_user = a_user("Grace")
            bare = an_activity(history.head)
            full = an_activity(history.head)
            full = replace(
                full,
                status=ActivityStatus.FAILED,
                votes=(*full.votes, a_vote(full.id, other_user, b'{"another": "message"}')),
                app_proofs=(AN_APP_PROOF,),
                failure=A_FAILURE,
                updated_at_ms=full.updated_at_ms + 5,
            )
            unvoted = replace(an_activity(history.head), votes=(), result={})
            for activity in (bare, full, unvoted):
                assert await store.commit(of(activity, history.head)) is COMMITTED
                assert await store.activities.get(history.head.id, activity.id) == activity
                assert await store.activities.with_fingerprint(history.head.id, activity.fingerprint) == activity
            assert await store.activities.get("another organization", full.id) is None
            assert await store.activities.get(history.head.id, "no\x00id") is None
            assert await store.activities.with_fingerprint(history.head.id, "sha256:unknown") is None
            assert await store.organization(history.head.id) == history.head

    asyncio.run(run())


class PageCase(NamedTuple):
    """A page of the activities 0…9. Every third is of another type, and every second awaits consensus. Cursors are
    numbers of activities."""

    name: str
    statuses: tuple[ActivityStatus, ...]
    types: tuple[str, ...]
    limit: int
    before: int | None
    after: int | None
    expected: tuple[int, ...] | None


DONE, OPEN, ODD_TYPE = ActivityStatus.COMPLETED, ActivityStatus.CONSENSUS_NEEDED, "ACTIVITY_TYPE_ODD"
PAGES = [
    PageCase("newest first", (), (), 3, None, None, (9, 8, 7)),
    PageCase("all", (), (), 100, None, None, (9, 8, 7, 6, 5, 4, 3, 2, 1, 0)),
    PageCase("beyond a cursor", (), (), 3, None, 7, (6, 5, 4)),
    PageCase("beyond the last", (), (), 3, None, 0, ()),
    PageCase("ahead of a cursor: the nearest, newest first", (), (), 3, 4, None, (7, 6, 5)),
    PageCase("ahead of the first", (), (), 3, 9, None, ()),
    PageCase("one status", (OPEN,), (), 3, None, None, (9, 7, 5)),
    PageCase("one status ahead of a cursor of another", (OPEN,), (), 2, 2, None, (5, 3)),
    PageCase("two statuses, one named twice", (OPEN, DONE, OPEN), (), 3, None, 8, (7, 6, 5)),
    PageCase("a status that none has", (ActivityStatus.REJECTED,), (), 3, None, None, ()),
    PageCase("one type", (), (ODD_TYPE,), 3, None, None, (9, 6, 3)),
    PageCase("one type beyond a cursor", (), (ODD_TYPE,), 3, None, 6, (3, 0)),
    PageCase("type and status", (OPEN,), (ODD_TYPE,), 3, None, None, (9, 3)),
    PageCase("two types, named twice", (DONE,), (ODD_TYPE, TYPE, TYPE), 3, None, None, (8, 6, 4)),
    PageCase("two types ahead of a cursor", (DONE,), (ODD_TYPE, TYPE), 2, 1, None, (4, 2)),
    PageCase("an unknown cursor", (), (), 3, None, -1, None),
    PageCase("an unknown cursor, backwards", (OPEN,), (), 3, -1, None, None),
]


def test_pages_of_activities(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store:
            history = await new_history(store)
            activities = []
            for number in range(10):
                activity = replace(
                    an_activity(history.head),
                    type=TYPE if number % 3 else ODD_TYPE,
                    status=OPEN if number % 2 else DONE,
                )
                activities.append(activity)
                assert await store.commit(of(activity, history.head)) is COMMITTED
            ids = {number: activity.id for number, activity in enumerate(activities)} | {-1: "unknown", None: None}
            for case in PAGES:
                page = Page(limit=case.limit, before=ids[case.before], after=ids[case.after])
                found = await store.activities.page(history.head.id, case.statuses, case.types, page)
                expected = None if case.expected is None else [activities[number] for number in case.expected]
                assert found == expected, case.name
            assert await store.activities.page("another organization", (), (), Page(limit=3)) == []
            assert await store.activities.page("another organization", (), (), Page(limit=3, after=ids[3])) is None

    asyncio.run(run())


def test_wallet_accounts(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store:
            history = await new_history(store)
            organization_id = history.head.id
            wallets = [a_wallet(), a_wallet()]
            accounts = [an_account(organization_id, wallets[number % 2].wallet_id, number) for number in range(6)]
            assert await store.commit(history.step(*wallets, attachments=tuple(accounts))) is COMMITTED
            ids = [account.account.wallet_account_id for account in accounts]

            async def page(wallet_id: str | None, **page: object) -> list[int] | None:
                found = await store.accounts.page(organization_id, wallet_id, Page(**page))  # type: ignore[arg-type]
                return None if found is None else [ids.index(account.wallet_account_id) for account in found]

            even, odd = wallets[0].wallet_id, wallets[1].wallet_id
            assert await store.accounts.page(organization_id, even, Page(limit=1)) == [accounts[0].account]
            assert await page(None, limit=4) == [0, 1, 2, 3]
            assert await page(None, limit=4, after=ids[3]) == [4, 5]
            assert await page(None, limit=2, before=ids[3]) == [1, 2]
            assert await page(even, limit=4) == [0, 2, 4]
            assert await page(even, limit=4, after=ids[0]) == [2, 4]
            assert await page(even, limit=1, before=ids[4]) == [2]
            assert await page(odd, limit=4, after=ids[0]) is None
            assert await page(None, limit=4, after="unknown") is None
            assert await page("unknown", limit=4) == []

            found = accounts[3]
            for address, path in [
                (found.account.address, None),
                (None, found.normalized_path),
                (found.account.address, found.normalized_path),
            ]:
                assert await store.accounts.find(organization_id, odd, address, path) == found.account
                assert await store.accounts.find(organization_id, even, address, path) is None
            assert (
                await store.accounts.find(organization_id, odd, found.account.address, accounts[1].normalized_path)
                is None
            )

    asyncio.run(run())


def test_suborganizations_are_found_by_their_users(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store:
            history = await new_history(store)
            shared = "03" + "ab" * 32
            children = [
                an_organization(parent_id=history.head.id, users=(a_user(public_key=shared),)) for _ in range(3)
            ]
            for child in children:
                assert await store.commit(history.suborganization(child)) is COMMITTED
                found = await store.organization(child.id)
                assert found is not None
                assert found.profile == child.profile
            credential_id = children[1].users.in_order()[0].authenticators[0].credential_id

            async def found_by(parent_id: str, kind: LookupKind, value: str) -> list[str]:
                return await store.suborganizations.with_value(parent_id, kind, value)

            both = [child.id for child in children[:2]]
            assert await found_by(history.head.id, LookupKind.PUBLIC_KEY, shared) == both
            assert await found_by(history.head.id, LookupKind.CREDENTIAL_ID, credential_id) == [both[1]]
            assert await found_by(history.head.id, LookupKind.CREDENTIAL_ID, shared) == []
            assert await found_by("another organization", LookupKind.PUBLIC_KEY, shared) == []

    asyncio.run(run())


@pytest.mark.parametrize("known", [False, True], ids=["loaded whole", "loaded from what changed"])
def test_another_process_sees_each_version(database: str, known: bool) -> None:
    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            history = await new_history(store)
            for name in ("Ada", "Grace"):
                if known:
                    await other.organization(history.head.id)
                user = history.head.users.in_order()[0]
                renamed = replace(user, user_name=name, api_keys=())
                before = history.head
                assert await store.commit(history.step(renamed)) is COMMITTED
                found = await other.organization(history.head.id)
                assert found == apply(before, [Put(renamed)], history.head.version)
                assert found == await store.organization(history.head.id)

    asyncio.run(run())


def test_who_asks_in_one_turn_shares_an_answer(make_sqlite: MakeDatabase) -> None:
    """SQLite. The next turn asks anew, and so does each read after a commit or another read of this process."""
    url = make_sqlite().url

    async def run() -> None:
        async with opened(url) as store, opened(url) as other:
            history = await new_history(store)
            user = history.head.users.in_order()[0]
            id_ = history.head.id
            assert await other.organization(id_) == history.head
            first = [await other.version(id_), await other.version(id_)]
            assert first[0] is first[1]
            await asyncio.sleep(0)
            again = await other.version(id_)
            assert again == first[0]
            assert again is not first[0]
            await asyncio.sleep(0)
            stale = await store.version(id_)
            assert await store.commit(history.step(replace(user, user_name="Ada"))) is COMMITTED
            assert await store.version(id_) == await other.version(id_) == history.head.version != stale
            # In the turn in which a commit settles, or another read finds a newer version, none before it is told.
            assert isinstance(store.database, sqlite_database.SqliteDatabase)
            stored = store.database
            for newer in (stored.write(WrittenRows()), stored.rows(stored.reads.schema_version, [])):
                await store.version(id_)
                assert id_ in stored._versions
                await newer
                assert id_ not in stored._versions

    asyncio.run(run())


def test_long_texts_are_read_back_by_another_process(database: str) -> None:
    """An activity's request, what another voter signed, a contract's interface; and with plain SQL beside the
    store."""

    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            history = await new_history(store)
            step = history.step(padding=10_000)
            assert step.activity is not None and step.changes is not None
            vote = a_vote(step.activity.id, a_user("Eda"), json.dumps(["so"] * 5_000).encode())
            activity = replace(step.activity, votes=(*step.activity.votes, vote))
            assert len(activity.request) > 10_000
            assert await store.commit(replace(step, activity=activity, new_votes=activity.votes)) is COMMITTED
            assert await other.activities.get(history.head.id, activity.id) == activity
            (text,) = [one for one in step.changes.attachments if isinstance(one, InterfaceText)]
            assert len(text.text) > 10_000
            assert await other.attached.get(InterfaceText, history.head.id, text.contract_interface_id) == text
            assert (await other.attached.interface_texts(history.head.id))[text.contract_interface_id] == text.text
            found = await other.attached.interface_texts_of(history.head.id, [text.contract_interface_id])
            assert found == {text.contract_interface_id: text.text}
            found_rows = await asyncio.to_thread(rows, database, "SELECT request FROM activity")
            assert (activity.request,) in found_rows

    asyncio.run(run())


def rows(url: str, sql: str) -> Rows:
    path = sqlite_path(url)
    handle = PostgresDatabase(url) if path is None else SqliteDatabase(path)
    try:
        return handle.rows(sql)
    finally:
        handle.close()
