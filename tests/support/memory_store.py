"""`pipeline.store.Store` in memory: a store for each process, over one database (`memory_database`).

The result of a commit is known in one iteration of the event loop and reported in a later one, so that races are
real.
"""

from __future__ import annotations

import asyncio
import itertools
import random
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

from keystead.api.enums import ActivityStatus
from keystead.api.errors import ServiceError
from keystead.api.records import Evaluation, WalletAccount
from keystead.chains.addresses.stored_forms import possible_forms, stored_form
from keystead.organizations.attached_rows import AttachedRow
from keystead.organizations.attachments import (
    ChangedAccount,
    InterfaceText,
    StoredAccount,
)
from keystead.organizations.contacts.outgoing_messages import EmailEventRow
from keystead.organizations.lookups import (
    LookupKind,
    possible_values,
)
from keystead.organizations.organization import Organization
from keystead.organizations.refused_requests import RefusedRequest
from keystead.organizations.velocity.counters import CounterState
from keystead.pipeline.activity import RecordedActivity
from keystead.pipeline.store import ActivityCount, Commit, CommitResult, Page
from tests.support.memory_counters import counter_in
from tests.support.memory_database import MemoryDatabase

Item = TypeVar("Item")
RowT = TypeVar("RowT", bound=AttachedRow)
Interference = Callable[[Commit], CommitResult | Exception | None]


class MemoryStore:
    """The store of one process over the database. Implements `pipeline.store.Store`.

    `chance` spreads reads and commits over loop turns; without it each takes one. `interfere` may answer a commit
    instead of the database: with a result, with an error that the caller gets, or with None. `newest` is the
    commit last handed in; `locks` is how many locks were taken so far.
    """

    def __init__(self, database: MemoryDatabase, chance: random.Random | None = None) -> None:
        self.database = database
        self.interfere: Interference = lambda commit: None
        self.handed_in = 0
        self.newest: Commit | None = None
        self.locks = 0
        self._chance = chance
        self._waiting: list[tuple[Commit, asyncio.Future[CommitResult]]] = []
        self.activities = MemoryActivities(self)
        self.accounts = MemoryAccounts(self)
        self.attached = MemoryAttached(self)
        self.suborganizations = MemorySuborganizations(self)
        self.refused_requests = NoRefusedRequests()

    async def pause(self) -> None:
        for _ in range(self._turns()):
            await asyncio.sleep(0)

    def _turns(self) -> int:
        return self._chance.randrange(6) if self._chance else 1

    def commit(self, commit: Commit) -> asyncio.Future[CommitResult]:
        future = self._future(commit)
        self._waiting.append((commit, future))
        self._later(self._turns(), self._write)
        return future

    def _future(self, commit: Commit) -> asyncio.Future[CommitResult]:
        self.handed_in += 1
        self.newest = commit
        return asyncio.get_running_loop().create_future()

    @asynccontextmanager
    async def locked(self, organization_id: str) -> AsyncIterator[MemoryLock]:
        await self.pause()
        while organization_id in self.database.locked:
            await self.pause()
        self.locks += 1
        self.database.locked.add(organization_id)
        try:
            yield MemoryLock(self, organization_id)
        finally:
            self.database.locked.discard(organization_id)

    def _later(self, turns: int, what: Callable[[], None]) -> None:
        loop = asyncio.get_running_loop()
        if turns:
            loop.call_soon(self._later, turns - 1, what)
        else:
            loop.call_soon(what)

    def _write(self) -> None:
        """Write all waiting commits, in their order."""
        waiting, self._waiting = self._waiting, []
        self._settle(waiting, is_locked=False)

    def _settle(self, batch: Sequence[tuple[Commit, asyncio.Future[CommitResult]]], *, is_locked: bool) -> None:
        """Report the outcomes after all are written. `is_locked`: this store has locked the organization for this
        batch."""
        settled = [
            (future, self._outcome(commit))
            if is_locked or commit.organization_id not in self.database.locked
            else (future, CommitResult.CONFLICT)
            for commit, future in batch
        ]

        def tell() -> None:
            for future, result in settled:
                if future.done():
                    continue
                if isinstance(result, Exception):
                    future.set_exception(result)
                else:
                    future.set_result(result)

        self._later(self._turns(), tell)

    def _outcome(self, commit: Commit) -> CommitResult | Exception:
        try:
            return self.interfere(commit) or self.database.write(commit)
        except (
            AssertionError,
            ServiceError,
        ) as broken:  # given to the caller that waits, since nobody catches it here
            return broken

    async def organization(self, organization_id: str) -> Organization | None:
        await self.pause()
        found = self.database.organizations.get(organization_id)
        await self.pause()
        return found

    async def organizations_with(self, kind: LookupKind, value: str, limit: int) -> list[str]:
        await self.pause()
        found = [
            id_
            for id_, lookups in self.database.lookups.items()
            if any(one.kind is kind and one.value == value for one in lookups)
        ]
        return sorted(found)[:limit]


class NoRefusedRequests:
    """Implements `pipeline.store.RefusedRequestReads`. No test of the pipeline records refusals."""

    async def page(self, organization_id: str, page: Page, now_ms: int) -> list[RefusedRequest]:
        return []

    async def counts(self, organization_id: str, bounds_ms: Sequence[int]) -> list[int]:
        return [0 for _ in bounds_ms[1:]]


class MemoryActivities:
    """Implements `pipeline.store.ActivityReads`."""

    def __init__(self, store: MemoryStore) -> None:
        self._database = store.database
        self._pause = store.pause

    async def get(self, organization_id: str, activity_id: str) -> RecordedActivity | None:
        await self._pause()
        return self._database.activities.get(organization_id, {}).get(activity_id)

    async def with_fingerprint(self, organization_id: str, fingerprint: str) -> RecordedActivity | None:
        await self._pause()
        activities = self._database.activities.get(organization_id, {}).values()
        found = next((one for one in activities if one.fingerprint == fingerprint), None)
        await self._pause()
        return found

    async def page(
        self, organization_id: str, statuses: Sequence[ActivityStatus], types: Sequence[str], page: Page
    ) -> list[RecordedActivity] | None:
        await self._pause()
        fitting = [
            one
            for one in self._database.activities.get(organization_id, {}).values()
            if (not statuses or one.status in statuses) and (not types or one.type in types)
        ]
        return paged(sorted(fitting, key=lambda one: one.id, reverse=True), lambda one: one.id, page)

    async def evaluations(self, organization_id: str, activity_id: str) -> list[Evaluation]:
        every = self._database.evaluations.get(organization_id, [])
        return [one for one in every if one.activity_id == activity_id]

    async def counts(
        self, organization_id: str, statuses: Sequence[ActivityStatus], bounds_ms: Sequence[int]
    ) -> list[ActivityCount]:
        await self._pause()
        counted = Counter(
            (period, one.type, one.status)
            for one in self._database.activities.get(organization_id, {}).values()
            for period, (start, end) in enumerate(itertools.pairwise(bounds_ms))
            if one.status in statuses and start <= one.created_at_ms < end
        )
        return [ActivityCount(*key, count) for key, count in counted.items()]


class MemoryAttached:
    """Implements `pipeline.store.AttachedReads`."""

    def __init__(self, store: MemoryStore) -> None:
        self._database = store.database
        self._pause = store.pause

    async def get(self, kind: type[RowT], organization_id: str, *key: str) -> RowT | None:
        await self._pause()
        row = self._database.attached.get(organization_id, {}).get((kind.table.name, *key))
        return row if isinstance(row, kind) else None

    async def interface_texts(self, organization_id: str) -> dict[str, str]:
        rows = self._database.attached_rows(InterfaceText, organization_id)
        return {row.contract_interface_id: row.text for row in rows}

    async def interface_texts_of(self, organization_id: str, interface_ids: Sequence[str]) -> dict[str, str]:
        await self._pause()
        texts = await self.interface_texts(organization_id)
        return {interface_id: texts[interface_id] for interface_id in interface_ids if interface_id in texts}

    async def counters(
        self, organization_id: str, counter_ids: Sequence[str], now_ms: int
    ) -> dict[str, CounterState]:
        await self._pause()
        rows = self._database.attached.get(organization_id, {})
        read = {id_: counter_in(rows, id_, now_ms) for id_ in counter_ids}
        return {id_: state for id_, state in read.items() if state is not None}

    async def is_token_used(self, token_id: str) -> bool:
        raise NotImplementedError  # no test of the pipeline uses such a token

    async def email_events(
        self, organization_id: str, recipient: str, event_type: str, page: Page
    ) -> list[EmailEventRow] | None:
        return None if page.before or page.after else []  # nothing is sent from memory


class MemoryAccounts:
    """Implements `pipeline.store.AccountReads`."""

    def __init__(self, store: MemoryStore) -> None:
        self._database = store.database
        self._pause = store.pause

    async def with_address(self, organization_id: str, address: str) -> StoredAccount | None:
        await self._pause()
        for one in self._database.attached_rows(ChangedAccount, organization_id):
            if stored_form(one.account.address_format, one.account.address) in possible_forms(address):
                return _stored(one)
        return None

    async def at(
        self, organization_id: str, wallet_id: str, normalized_paths: Sequence[str]
    ) -> list[StoredAccount]:
        return await self._accounts(
            organization_id,
            lambda one: one.account.wallet_id == wallet_id and one.normalized_path in normalized_paths,
        )

    async def called(self, organization_id: str, names: Sequence[str]) -> list[StoredAccount]:
        return await self._accounts(organization_id, lambda one: one.account.name in names)

    async def of_ids(self, organization_id: str, account_ids: Sequence[str]) -> list[StoredAccount]:
        return await self._accounts(organization_id, lambda one: one.account.wallet_account_id in account_ids)

    async def _accounts(
        self, organization_id: str, wanted: Callable[[ChangedAccount], bool]
    ) -> list[StoredAccount]:
        await self._pause()
        found = [one for one in self._database.attached_rows(ChangedAccount, organization_id) if wanted(one)]
        return [_stored(one) for one in found]

    async def page(self, organization_id: str, wallet_id: str | None, page: Page) -> list[WalletAccount] | None:
        accounts = [one.account for one in self._database.attached_rows(ChangedAccount, organization_id)]
        fitting = [one for one in accounts if wallet_id in (None, one.wallet_id)]
        return paged(fitting, lambda one: one.wallet_account_id, page)

    async def find(
        self, organization_id: str, wallet_id: str, address: str | None, path: str | None
    ) -> WalletAccount | None:
        for one in self._database.attached_rows(ChangedAccount, organization_id):
            spelling = stored_form(one.account.address_format, one.account.address)
            fits = (address is None or spelling in possible_forms(address)) and path in (None, one.normalized_path)
            if one.account.wallet_id == wallet_id and fits:
                return one.account
        return None


class MemorySuborganizations:
    """Implements `pipeline.store.SuborganizationReads`."""

    def __init__(self, store: MemoryStore) -> None:
        self._database = store.database
        self._pause = store.pause

    async def with_value(self, parent_id: str, kind: LookupKind, value: str) -> list[str]:
        return (await self.page(parent_id, (kind, value), Page(2))) or []

    async def held_by_siblings(
        self, parent_id: str, organization_id: str, kind: LookupKind, values: Sequence[str]
    ) -> list[str]:
        await self._pause()
        return [
            value
            for value in values
            if any(
                child != organization_id for child in await self.page(parent_id, (kind, value), Page(1_000)) or []
            )
        ]

    async def page(self, parent_id: str, lookup: tuple[LookupKind, str] | None, page: Page) -> list[str] | None:
        await self._pause()
        children = [
            one.id
            for one in self._database.organizations.values()
            if one.profile.parent_id == parent_id and not one.profile.deleted
        ]
        if lookup is not None:
            children = [
                child
                for child in children
                if any(
                    one.kind is lookup[0] and one.value in possible_values(*lookup)
                    for one in self._database.lookups[child]
                )
            ]
        return paged(sorted(children), lambda one: one, page)


class MemoryLock:
    """Implements `pipeline.store.LockedOrganization`."""

    def __init__(self, store: MemoryStore, organization_id: str) -> None:
        self._store = store
        self._organization_id = organization_id
        self.organization = store.database.organizations.get(organization_id)

    async def write(self, commits: Sequence[Commit]) -> Sequence[CommitResult | ServiceError]:
        assert self._organization_id in self._store.database.locked
        assert {commit.organization_id for commit in commits} <= {self._organization_id}
        batch = [(commit, self._store._future(commit)) for commit in commits]
        self._store._later(self._store._turns(), lambda: self._store._settle(batch, is_locked=True))
        results: list[CommitResult | ServiceError] = []
        for _, future in batch:
            try:
                results.append(await future)
            except ServiceError as error:
                results.append(error)
        return results


def _stored(one: ChangedAccount) -> StoredAccount:
    return StoredAccount(one.account, one.exported)


def paged(items: list[Item], id_of: Callable[[Item], str], page: Page) -> list[Item] | None:
    """The page's part of a list in its order; None if the cursor is not of the list."""
    cursor = page.after or page.before
    if cursor is None:
        return items[: page.limit]
    ids = [id_of(item) for item in items]
    if cursor not in ids:
        return None
    at = ids.index(cursor)
    return items[at + 1 :][: page.limit] if page.after else items[max(0, at - page.limit) : at]
