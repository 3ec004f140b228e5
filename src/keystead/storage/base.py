"""What both engines have in common: every read, the cache, and what becomes of a commit's outcome.

Here: `DatabaseStore`, the store as the rooms above use it. Not here: connections and transactions, which each
engine adds (`sqlite`, `postgres`).
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from keystead.api.enums import ActivityStatus
from keystead.api.errors import AlreadyExists, DatabaseUnavailable, Internal, ServiceError, Unavailable
from keystead.api.records import Evaluation, WalletAccount
from keystead.chains.addresses.stored_forms import possible_forms
from keystead.organizations.attachments import Attachment, StoredAccount
from keystead.organizations.kinds.data_key import DataKey, Sealed
from keystead.organizations.lookups import Lookup, LookupKind, possible_values
from keystead.organizations.organization import Organization, Version
from keystead.organizations.record_kinds import RecordKinds
from keystead.pipeline.activity import Activity
from keystead.pipeline.store import Commit, CommitOutcome, OrganizationLock, Page
from keystead.storage import rows
from keystead.storage.batch import Batch
from keystead.storage.cache import Answers, CacheLimits, ChangedSince, OrganizationCache
from keystead.storage.group_commit import GroupCommit
from keystead.storage.pending import HeldLock, LockRequest, PendingCommit, Settled, pending_commit, pending_write
from keystead.storage.statements import Reads, Statement
from keystead.storage.write_set import SettingSwap, WriteSet

FIRST_ORGANIZATION_ID = "first_organization_id"
"""The instance value that names the organization the instance was founded with."""

_LOWEST, _HIGHEST = "", "~"
"""Cursors below and above every id, which is a UUID."""


class NotMigrated(Unavailable):
    """The database answers, but the tables are not there."""

    def __init__(self) -> None:
        super().__init__("the database has no tables yet; run `keystead migrate`")


class DatabaseStore(ABC):
    """A `Store`, and what starting and running a server needs beside it. Belongs to one event loop.

    Every method raises Unavailable while the database does not answer, and works again once it does.
    """

    def __init__(self, reads: Reads, limits: CacheLimits, kinds: RecordKinds) -> None:
        self._reads = reads
        self._records = rows.RecordReader(kinds)
        self._cache = OrganizationCache(self, limits, kinds)
        self._is_closed = False
        self._group_commit = GroupCommit(self._write, self._settle)

    # What an engine adds.

    @abstractmethod
    async def version(self, organization_id: str) -> Version | None:
        """The newest version of an organization, with everything that was committed before this turn of the event
        loop began."""

    @abstractmethod
    async def ready(self) -> None:
        """Raises Unavailable unless the database answers now."""

    @abstractmethod
    async def close(self) -> None:
        """Finish what has been handed in, then let go of the database. Commits after that raise Unavailable."""

    @abstractmethod
    async def _rows(self, statement: Statement, arguments: Sequence[Any]) -> Sequence[Sequence[Any]]:
        """Run a statement that reads."""

    @abstractmethod
    def _listed(self, values: Sequence[str]) -> Any:
        """The values as one argument of a statement."""

    @abstractmethod
    async def _write(self, batch: Batch) -> CommitOutcome | Exception:
        """Run a transaction: its outcome, or the error for those who wait for it."""

    @abstractmethod
    def _request_lock(self, organization_id: str) -> LockRequest:
        """Begin to lock an organization."""

    # Organizations.

    async def organization(self, organization_id: str) -> Organization | None:
        return await self._cache.newest(organization_id)

    def cached_answers(self, organization: Organization) -> Answers:
        """A place for encoded answers about this very version; it is dropped with it."""
        return self._cache.answers(organization)

    async def changed_since(self, organization_id: str, version_number: int | None) -> ChangedSince | None:
        """What is newer than this version, or every record, as of one moment. None: no such organization."""
        statement = self._reads.whole if version_number is None else self._reads.changed_since
        found = await self._select(statement, id=organization_id, version=version_number)
        if not found:
            return None
        number, changed_by = found[0][:2]
        changes = [self._records.change(kind, id_, body) for _, _, kind, id_, body in found if kind is not None]
        return ChangedSince(Version(number, changed_by), changes)

    # Commits.

    def commit(self, commit: Commit) -> asyncio.Future[CommitOutcome]:
        return self._add(pending_commit(commit))

    async def lock(self, organization_id: str) -> OrganizationLock:
        if self._is_closed:
            raise unavailable("is being closed")
        request = self._request_lock(organization_id)
        try:
            version = await request.granted
            organization = await self._cache.at(organization_id, version)
        except BaseException:
            request.release()
            raise
        return HeldLock(request, organization, self._add)

    async def found(
        self,
        organization: Organization,
        attachments: Iterable[Attachment],
        lookups: Iterable[Lookup],
        instance: Mapping[str, bytes],
    ) -> bool:
        """Write the first organization and the instance's values, all or nothing.

        False, changing nothing, if the instance was founded before, by whichever process.
        """
        named = {FIRST_ORGANIZATION_ID: organization.id.encode(), **instance}
        founding = rows.of_bootstrap(organization, attachments, lookups, named)
        outcome = await self._add(pending_write(organization.id, founding, (organization,)))
        return outcome is CommitOutcome.COMMITTED

    def _add(self, pending: PendingCommit) -> asyncio.Future[CommitOutcome]:
        if self._is_closed:
            pending.future.set_exception(unavailable("is being closed"))
        else:
            self._group_commit.add(pending)
        return pending.future

    def _settle(self, settled: Settled) -> None:
        """Report the outcomes to those who wait for them."""
        for pending, outcome in settled:
            if outcome is CommitOutcome.COMMITTED:
                for organization in pending.organizations:
                    self._cache.keep(organization)
            if pending.future.done():  # its caller gave up
                continue
            if isinstance(outcome, CommitOutcome):
                pending.future.set_result(outcome)
            else:
                pending.future.set_exception(outcome)

    # Activities.

    async def activity(self, organization_id: str, activity_id: str) -> Activity | None:
        found = await self._select(self._reads.activity, organization_id=organization_id, id=activity_id)
        return rows.activities_from(found)[0] if found else None

    async def activity_with_fingerprint(self, organization_id: str, fingerprint: str) -> Activity | None:
        found = await self._select(
            self._reads.activity_with_fingerprint, organization_id=organization_id, fingerprint=fingerprint
        )
        return rows.activities_from(found)[0] if found else None

    async def activities(
        self,
        organization_id: str,
        statuses: Sequence[ActivityStatus],
        types: Sequence[str],
        page: Page,
    ) -> list[Activity] | None:
        cursor = page.before or page.after
        if cursor is not None and not await self._select(
            self._reads.has_activity, organization_id=organization_id, id=cursor
        ):
            return None
        if types:
            pages = self._reads.activities_by_type_and_status
        else:
            pages = self._reads.activities_by_status if statuses else self._reads.activities
        found = await self._select(
            pages.above if page.before else pages.below,
            organization_id=organization_id,
            statuses=self._listed([status.value for status in dict.fromkeys(statuses or ActivityStatus)]),
            types=self._listed(list(dict.fromkeys(types))),
            cursor=cursor or _HIGHEST,
            limit=page.limit,
        )
        return rows.activities_from(found)

    async def evaluations(self, organization_id: str, activity_id: str) -> list[Evaluation]:
        found = await self._select(
            self._reads.evaluations, organization_id=organization_id, activity_id=activity_id
        )
        return [rows.evaluation_from(row) for row in found]

    # What belongs to an organization and is read by page.

    async def interface_texts(self, organization_id: str) -> dict[str, str]:
        found = await self._select(self._reads.interface_texts, organization_id=organization_id)
        return {interface_id: text.decode() for interface_id, text in found}

    async def interface_text(self, organization_id: str, contract_interface_id: str) -> str | None:
        found = await self._select(
            self._reads.interface_text, organization_id=organization_id, id=contract_interface_id
        )
        return str(found[0][0], "utf-8") if found else None

    async def interface_texts_of(self, organization_id: str, interface_ids: Sequence[str]) -> dict[str, str]:
        found = await self._select(
            self._reads.interface_texts_of, organization_id=organization_id, ids=self._listed(interface_ids)
        )
        return {interface_id: text.decode() for interface_id, text in found}

    async def account_with_address(self, organization_id: str, address: str) -> StoredAccount | None:
        found = await self._accounts_with_address(organization_id, address)
        return min((stored for stored, _ in found), key=_account_id, default=None)

    async def _accounts_with_address(self, organization_id: str, address: str) -> list[tuple[StoredAccount, str]]:
        """With their normalized paths."""
        found = await self._select(
            self._reads.accounts_with_address,
            organization_id=organization_id,
            addresses=self._listed(possible_forms(address)),
        )
        return [(rows.stored_account_from(row), row[2]) for row in found]

    async def accounts_at(
        self, organization_id: str, wallet_id: str, normalized_paths: Sequence[str]
    ) -> list[StoredAccount]:
        found = await self._select(
            self._reads.accounts_at,
            organization_id=organization_id,
            wallet_id=wallet_id,
            paths=self._listed(normalized_paths),
        )
        return [rows.stored_account_from(row) for row in found]

    async def accounts_called(self, organization_id: str, names: Sequence[str]) -> list[StoredAccount]:
        found = await self._select(
            self._reads.accounts_called, organization_id=organization_id, names=self._listed(names)
        )
        return [rows.stored_account_from(row) for row in found]

    async def accounts_of_ids(self, organization_id: str, account_ids: Sequence[str]) -> list[StoredAccount]:
        found = await self._select(
            self._reads.accounts_of_ids, organization_id=organization_id, ids=self._listed(account_ids)
        )
        return [rows.stored_account_from(row) for row in found]

    async def sealed_secret(self, organization_id: str, record_id: str, purpose: str) -> Sealed | None:
        found = await self._select(
            self._reads.sealed_secret, organization_id=organization_id, record_id=record_id, purpose=purpose
        )
        return Sealed(*found[0]) if found else None

    async def wallet_accounts(
        self, organization_id: str, wallet_id: str | None, page: Page
    ) -> list[WalletAccount] | None:
        place = {"organization_id": organization_id}
        if wallet_id is not None:
            place["wallet_id"] = wallet_id
        cursor = page.before or page.after
        if cursor is not None:
            question = self._reads.has_account if wallet_id is None else self._reads.has_account_of_wallet
            if not await self._select(question, id=cursor, **place):
                return None
        pages = self._reads.accounts if wallet_id is None else self._reads.accounts_of_wallet
        statement = pages.below if page.before else pages.above
        found = await self._select(statement, cursor=cursor or _LOWEST, limit=page.limit, **place)
        accounts = [rows.account_from(row) for row in found]
        return accounts[::-1] if page.before else accounts

    async def wallet_account(
        self, organization_id: str, wallet_id: str, address: str | None, path: str | None
    ) -> WalletAccount | None:
        if address is not None:
            fitting = [
                stored
                for stored, normalized_path in await self._accounts_with_address(organization_id, address)
                if stored.account.wallet_id == wallet_id and path in (None, normalized_path)
            ]
        else:
            assert path is not None, "an account is found by its address, its path, or both"
            fitting = await self.accounts_at(organization_id, wallet_id, [path])
        return min(fitting, key=_account_id).account if fitting else None

    async def suborganizations_with(self, parent_id: str, kind: LookupKind, value: str) -> list[str]:
        return await self.suborganizations(parent_id, (kind, value), Page(limit=2)) or []

    async def held_by_siblings(
        self, parent_id: str, organization_id: str, kind: LookupKind, values: Sequence[str]
    ) -> list[str]:
        found = await self._select(
            self._reads.held_by_siblings,
            parent_id=parent_id,
            organization_id=organization_id,
            kind=kind.value,
            values=self._listed(values),
        )
        return [value for (value,) in found]

    async def suborganizations(
        self, parent_id: str, found_by: tuple[LookupKind, str] | None, page: Page
    ) -> list[str] | None:
        cursor = page.before or page.after
        # Any of the parent's will do: by when the next page is asked for, the value may have led elsewhere.
        if cursor is not None and not await self._select(
            self._reads.has_suborganization, parent_id=parent_id, id=cursor
        ):
            return None
        pages = self._reads.suborganizations if found_by is None else self._reads.suborganizations_with_value
        statement = pages.below if page.before else pages.above
        place = {"parent_id": parent_id, "cursor": cursor or _LOWEST, "limit": page.limit}
        if found_by is None:
            found = {row[0] for row in await self._select(statement, **place)}
        else:
            kind, asked = found_by
            found = {
                row[0]
                for value in possible_values(kind, asked)
                for row in await self._select(statement, kind=kind.value, value=value, **place)
            }
        ids = sorted(found)
        return ids[-page.limit :] if page.before else ids[: page.limit]

    # The instance.

    async def instance_value(self, name: str) -> bytes | None:
        """A fact about the whole instance, written when it was founded."""
        found = await self._select(self._reads.instance_value, name=name)
        return found[0][0] if found else None

    async def replace_instance_value(self, name: str, before: bytes, after: bytes) -> bool:
        """Put a fact in the place of another; False, with nothing changed, if that is no longer the fact."""
        swap = SettingSwap(name, before, after)
        written = WriteSet(setting_swap=swap)
        return await self._add(pending_write("", written, ())) is CommitOutcome.COMMITTED

    async def data_keys(self, page: Page) -> list[tuple[str, DataKey]]:
        """The data key of every organization, by its id, in their order; `page.after` need not be one of them."""
        found = await self._select(self._reads.data_keys_above, cursor=page.after or _LOWEST, limit=page.limit)
        return [(organization_id, rows.data_key_from(body)) for organization_id, body in found]

    async def schema_version(self) -> int:
        """The number of the last migration that the tables had; 0 if there are no tables."""
        try:
            found = await self._select(self._reads.schema_version)
        except NotMigrated:
            return 0
        return int(found[0][0]) if found else 0

    async def _select(self, statement: Statement, **values: Any) -> Sequence[Sequence[Any]]:
        return await self._rows(statement, statement.arguments(values))


def _account_id(stored: StoredAccount) -> str:
    return stored.account.wallet_account_id


def unavailable(cause: str) -> DatabaseUnavailable:
    """For any operation that the database did not carry out, or may not have."""
    return DatabaseUnavailable(f"the database {cause}; sending the same request again is safe")


def already_there(error: Exception) -> ServiceError:
    """For a row that had to be new and was not."""
    refusal: ServiceError = Internal("the commit contradicts what is stored")
    if "wallet_account.name" in str(error) or "wallet_account_by_name" in str(error):
        refusal = AlreadyExists("a wallet account of this organization already has this name")
    elif "wallet_account" in str(error):
        refusal = AlreadyExists("the wallet already has an account of this path, curve and address format")
    refusal.__cause__ = error
    return refusal


def unwritten(error: Exception) -> ServiceError:
    """For a commit that could not be written through no fault of the database."""
    refusal = Internal("the commit could not be written")
    refusal.__cause__ = error
    return refusal
