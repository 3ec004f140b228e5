"""The database of the pipeline's tests, in memory: what is durable, and whether a commit can be written.

Not here: a store over it (`memory_store`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar, assert_never

from keystead.api.errors import AlreadyExists
from keystead.api.records import Evaluation
from keystead.organizations.attached_rows import AttachedRow, RemovedRow, VersionedRow
from keystead.organizations.attachments import (
    ChangedAccount,
    RemovedOrganizationContents,
    RemovedWalletAccounts,
)
from keystead.organizations.kinds.account_contacts import AccountContactsMap
from keystead.organizations.lookups import (
    CREDENTIALS,
    Lookup,
    account_lookups,
    name_lookup,
    user_lookups,
)
from keystead.organizations.organization import Organization, apply
from keystead.pipeline.activity import RecordedActivity
from keystead.pipeline.store import Changes, Commit, CommitResult
from tests.support.memory_counters import after

Item = TypeVar("Item")
RowT = TypeVar("RowT", bound=AttachedRow)
Interference = Callable[[Commit], CommitResult | Exception | None]


class MemoryDatabase:
    """What is durable. `attached`: by organization, then by table and key. `log` holds every commit, in order;
    `locked` the organizations that a store has locked."""

    def __init__(self) -> None:
        self.organizations: dict[str, Organization] = {}
        self.activities: dict[str, dict[str, RecordedActivity]] = {}
        self.evaluations: dict[str, list[Evaluation]] = {}
        self.lookups: dict[str, set[Lookup]] = {}
        self.attached: dict[str, dict[tuple[str, ...], AttachedRow]] = {}
        self.log: list[Commit] = []
        self.locked: set[str] = set()

    def insert(self, organization: Organization) -> None:
        """Insert an organization without an activity."""
        self.organizations[organization.id] = organization
        self.lookups[organization.id] = by_what_found(organization, ())

    def attached_rows(self, kind: type[RowT], organization_id: str) -> list[RowT]:
        """The rows of a kind, the oldest first."""
        return [row for row in self.attached.get(organization_id, {}).values() if isinstance(row, kind)]

    def write(self, commit: Commit) -> CommitResult:
        """Write a commit completely or not at all."""
        result = self._checked(commit)
        if result is not CommitResult.COMMITTED:
            return result
        for write in (commit.changes, commit.new_organization):
            if write is not None:
                self.write_organization(write)
        if commit.activity is not None:
            self.activities.setdefault(commit.organization_id, {})[commit.activity.id] = commit.activity
        self.evaluations.setdefault(commit.organization_id, []).extend(commit.evaluations)
        for row in commit.rows:
            self.write_row(row.owner_id or commit.organization_id, row)
        for each in commit.counted:
            for counter_row in after(self.attached.get(each.organization_id, {}), each) or ():
                self.attached.setdefault(each.organization_id, {})[_key(counter_row)] = counter_row
        self.log.append(commit)
        return result

    def _checked(self, commit: Commit) -> CommitResult:
        organization = self.organizations[commit.organization_id]
        known = self.activities.get(commit.organization_id, {})
        if commit.decided_on != organization.version:
            return CommitResult.CONFLICT
        if commit.authorized_by is not None:
            authority_id, version = commit.authorized_by
            if self.organizations[authority_id].version != version:
                return CommitResult.CONFLICT
        for row in commit.rows:
            stored = self.attached.get(row.owner_id or commit.organization_id, {}).get(_key(row))
            if row.revision != (stored.revision if isinstance(stored, VersionedRow) else 0) + 1:
                return CommitResult.CONFLICT
        if any(after(self.attached.get(each.organization_id, {}), each) is None for each in commit.counted):
            return CommitResult.CONFLICT
        if commit.new_organization is not None and commit.new_organization.after.id in self.organizations:
            return CommitResult.CONFLICT
        if commit.changes is not None:
            self._check_accounts(commit.changes)
        if any(self._is_held(write) for write in (commit.changes, commit.new_organization) if write is not None):
            return CommitResult.CREDENTIAL_HELD
        if (activity := commit.activity) is None:
            return CommitResult.COMMITTED
        if activity.revision == 0:
            taken = activity.id in known or any(one.fingerprint == activity.fingerprint for one in known.values())
            return CommitResult.DUPLICATE if taken else CommitResult.COMMITTED
        before = known.get(activity.id)
        follows = before is not None and before.revision == activity.revision - 1
        return CommitResult.COMMITTED if follows else CommitResult.CONFLICT

    def _is_held(self, write: Changes) -> bool:
        """Whether a sub-organization of the same parent has a credential that the write registers."""
        after = write.after
        if after.profile.parent_id is None or write.shares_credentials:
            return False
        registered = {(one.kind, one.value) for one in write.lookups_added if one.kind in CREDENTIALS}
        return any(
            (held.kind, held.value) in registered
            for organization_id, organization in self.organizations.items()
            if organization_id != after.id and organization.profile.parent_id == after.profile.parent_id
            for held in self.lookups[organization_id]
        )

    def _check_accounts(self, write: Changes) -> None:
        """Check the unique indexes of accounts: a name once in an organization, a path once in a wallet."""
        held = self.attached_rows(ChangedAccount, write.after.id)
        for one in write.attachments:
            if isinstance(one, ChangedAccount):
                others = [each for each in held if each.account.wallet_account_id != one.account.wallet_account_id]
                if one.account.name is not None and one.account.name in [each.account.name for each in others]:
                    raise AlreadyExists("an account already has this name")
                if _place(one) in [_place(each) for each in others]:
                    raise AlreadyExists("the wallet already has an account of this path")

    def write_organization(self, write: Changes) -> None:
        after = write.after
        if (before := self.organizations.get(after.id)) is not None:
            assert after.version.number == before.version.number + 1, "versions have no gaps"
            assert apply(before, write.records, after.version) == after, "the changes lead to `after`"
        self.organizations[after.id] = after
        found = self.lookups.setdefault(after.id, set())
        assert write.lookups_removed <= found, "only what could be found can be forgotten"
        found.difference_update(write.lookups_removed)
        found.update(write.lookups_added)
        attached = self.attached.setdefault(after.id, {})
        for attachment in write.attachments:
            match attachment:
                case AttachedRow():
                    self.write_row(after.id, attachment)
                case RemovedRow(table, key):
                    del attached[table.name, *key]
                case RemovedWalletAccounts(wallet_id):
                    for row in self.attached_rows(ChangedAccount, after.id):
                        if row.account.wallet_id == wallet_id:
                            found.difference_update(account_lookups([row.account]))
                            del attached[_key(row)]
                case RemovedOrganizationContents():
                    found.clear()
                    self.attached[after.id] = {
                        key: row for key, row in attached.items() if row.table.outlives_organization
                    }
                case _:
                    assert_never(attachment)

    def write_row(self, organization_id: str, row: AttachedRow) -> None:
        attached = self.attached.setdefault(organization_id, {})
        table = row.table
        assert table.is_replaced or table.has_revision or _key(row) not in attached, f"{row} exists already"
        attached[_key(row)] = row


def _place(one: ChangedAccount) -> tuple[str, ...]:
    return one.account.wallet_id, one.normalized_path, one.account.curve, one.account.address_format


def _key(row: AttachedRow) -> tuple[str, ...]:
    return row.table.name, *row.row()[: len(row.table.key)]


def by_what_found(organization: Organization, accounts: Sequence[ChangedAccount]) -> set[Lookup]:
    """The expected contents of the index, computed from the organizations."""
    users = {lookup for user in organization.users.values() for lookup in user_lookups(user)}
    of_accounts = account_lookups(one.account for one in accounts)
    contacts = organization.of(AccountContactsMap).values()
    of_contacts = {lookup for record in contacts for lookup in AccountContactsMap.lookups(record)}
    return users | of_accounts | of_contacts | {name_lookup(organization.profile.name)}
