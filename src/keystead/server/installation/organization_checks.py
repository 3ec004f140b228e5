"""Checks one organization of a database: its rows must agree, and its sealed values must open.

Here: records, versions, look-ups, secrets, attached rows, and the rows that lack others. Not here: the installation
(`checking`).

The rows are read by several statements, so problems count only if the organization had the same version before and
after them; otherwise it is read again.
"""

from __future__ import annotations

from typing import Final

import msgspec

from keystead.api.errors import DatabaseUnavailable, Unavailable
from keystead.api.records import WalletAccount
from keystead.organizations import attachments
from keystead.organizations.attached_rows import AttachedRow
from keystead.organizations.contacts.one_time_codes import OneTimeCode
from keystead.organizations.contacts.outgoing_messages import OutgoingMessage
from keystead.organizations.kinds.secrets import Secrets
from keystead.organizations.lookups import Lookup, LookupKind, account_lookups
from keystead.organizations.organization import Organization, records_of
from keystead.organizations.record_kinds import RECORD_KINDS
from keystead.signer.master_keys import Master, SealBroken
from keystead.signer.seal_checks import OrganizationSeals, Owner
from keystead.storage.integrity import DamagedRow, OutOfOrder
from keystead.storage.row_encoding import WHOLE_ORGANIZATION
from keystead.storage.store import DatabaseStore

_ATTEMPTS: Final = 20


class OrganizationFindings(msgspec.Struct):
    """The result of the check of one organization, at one version. `leftovers`: rows of a deleted organization are
    left."""

    sealed_values: int = 0
    problems: list[str] = []
    leftovers: bool = False


async def check_organization(store: DatabaseStore, master: Master, organization_id: str) -> OrganizationFindings:
    """Check an organization whose row is on record. Raises Unavailable."""
    for _ in range(_ATTEMPTS):
        before = await store.version(organization_id)
        findings = OrganizationFindings()
        await _check_versions(store, organization_id, findings)
        await _check_lacking_rows(store, organization_id, findings)
        organization = await _read(store, organization_id, findings)
        if organization is not None:
            await _check_contents(store, master, organization, findings)
        if not findings.problems or await store.version(organization_id) == before:
            return findings
    return OrganizationFindings(problems=[f"it changed during each of {_ATTEMPTS} checks; run this command again"])


async def _check_versions(store: DatabaseStore, organization_id: str, findings: OrganizationFindings) -> None:
    stored = await store.installation.stored_versions(organization_id)
    if stored is None:
        findings.problems.append("it has no row")
        return
    newest, version = stored.newest_record or 0, stored.version
    # A server of an earlier release does not count the records, and may write a version without a record.
    is_counted = stored.counted_version == version
    if not (newest == version if is_counted else 1 <= newest <= version):
        findings.problems.append(f"it has version {version}, and its newest record has version {newest}")
    if is_counted and stored.record_count != stored.records:
        findings.problems.append(
            f"it has {stored.records} records, and had {stored.record_count} when it was changed"
        )
    if stored.parent_id is not None and await store.installation.ids_not_on_record([stored.parent_id]):
        findings.problems.append(f"its parent {stored.parent_id} is not on record")


async def _check_lacking_rows(store: DatabaseStore, organization_id: str, findings: OrganizationFindings) -> None:
    try:
        async for row in store.integrity.lacking_rows(organization_id):
            findings.problems.append(f"the {row.table} {' '.join(map(str, row.key))} lacks the {row.lacks}")
    except OutOfOrder as problem:
        findings.problems.append(str(problem))


async def _read(store: DatabaseStore, organization_id: str, findings: OrganizationFindings) -> Organization | None:
    """The organization; None if its records cannot be read."""
    try:
        return await store.organization(organization_id)
    except DatabaseUnavailable:
        raise
    except Unavailable as refused:
        findings.problems.append(refused.message)
    except (msgspec.MsgspecError, ValueError, KeyError) as error:
        findings.problems.append(f"its records cannot be read: {error}")
    return None


async def _check_contents(
    store: DatabaseStore, master: Master, organization: Organization, findings: OrganizationFindings
) -> None:
    profile = organization.profile
    stored = await store.installation.stored_versions(organization.id)
    expected = None if profile.deleted else profile.parent_id
    if stored is not None and stored.parent_id != expected:
        findings.problems.append(f"its row names the parent {stored.parent_id}, its profile {expected}")
    if profile.deleted:
        await _check_is_empty(store, organization.id, findings)
        return
    contents = _Contents(organization, master, findings, await store.accounts.unfinished_deletions(organization.id))
    for kind in attachments.ATTACHED_ROWS:
        try:
            async for row in store.integrity.attached_rows(kind, organization.id):
                contents.add(row)
        except OutOfOrder as problem:
            findings.problems.append(str(problem))
    try:
        lookups = await store.installation.lookups_of(organization.id)
    except ValueError as error:
        findings.problems.append(f"its look-ups cannot be read: {error}")
    else:
        contents.compare(lookups)


async def _check_is_empty(store: DatabaseStore, organization_id: str, findings: OrganizationFindings) -> None:
    """Check that a deleted organization has only the rows of its activities. Servers delete the other rows in
    steps. A server of an earlier release does not delete rows of tables that it does not know."""
    if WHOLE_ORGANIZATION not in await store.accounts.unfinished_deletions(organization_id):
        tables = await store.purger.tables_with_rows(organization_id)
        findings.leftovers = bool(tables)
        findings.problems += [
            f"it is deleted, and has rows in {table}; `keystead check --finish-deletions` deletes them"
            for table in tables
        ]


class _Contents:
    """The attached rows and the records of an organization, which must agree.

    `deleted_wallets`: wallets whose rows are deleted in steps.
    """

    def __init__(
        self, organization: Organization, master: Master, findings: OrganizationFindings, deleted_wallets: set[str]
    ) -> None:
        self._organization = organization
        self._findings = findings
        self._deleted_wallets = deleted_wallets
        self._lookups: set[Lookup] = set()
        self._texts: set[str] = set()
        self._secrets: set[tuple[str, str]] = set()
        try:
            self._seals: OrganizationSeals | None = OrganizationSeals(
                master, organization.id, organization.data_key.sealed
            )
            findings.sealed_values += 1
        except SealBroken as broken:
            self._seals = None
            findings.problems.append(str(broken))

    def add(self, row: AttachedRow | DamagedRow) -> None:
        """Check a row, and note what it stands for."""
        if isinstance(row, DamagedRow):
            self._report(
                f"the {row.table} {' '.join(map(str, row.key))} is damaged: its columns and its body differ"
            )
        elif isinstance(row, attachments.ChangedAccount):
            self._add_account(row.account)
        elif isinstance(row, attachments.InterfaceText):
            self._texts.add(row.contract_interface_id)
        elif isinstance(row, attachments.SealedSecret):
            self._secrets.add((row.record_id, row.purpose))
            self._open(row)
        elif isinstance(row, OneTimeCode | OutgoingMessage):
            self._open(row)

    def _add_account(self, account: WalletAccount) -> None:
        if account.wallet_id in self._deleted_wallets:
            return
        self._lookups |= account_lookups([account])
        if account.wallet_id not in self._organization.wallets:
            self._report(f"wallet account {account.wallet_account_id} belongs to no wallet on record")

    def compare(self, stored_lookups: dict[Lookup, str]) -> None:
        """Check that the rows are those of the records. `stored_lookups`: each with the parent under which it is
        stored."""
        organization = self._organization
        for proxy in organization.auth_proxies.in_order():
            self._open(proxy)
        for target in organization.import_targets.in_order():
            self._open(target)
        secrets = {(wallet_id, attachments.MNEMONIC_PURPOSE) for wallet_id in organization.wallets}
        secrets |= {(key_id, attachments.PRIVATE_KEY_PURPOSE) for key_id in organization.private_keys}
        secrets |= {(secret_id, attachments.SECRET_PURPOSE) for secret_id in organization.of(Secrets)}
        for record_id, purpose in sorted(secrets - self._secrets):
            self._report(f"the secret of {record_id} ({purpose}) is missing")
        for record_id, _ in sorted(self._secrets - secrets):
            self._report(f"there is a secret of {record_id}, which is not on record")
        interfaces = set(organization.contract_interfaces)
        for id_ in sorted(interfaces - self._texts):
            self._report(f"the text of contract interface {id_} is missing")
        for id_ in sorted(self._texts - interfaces):
            self._report(f"there is a text of contract interface {id_}, which is not on record")
        self._compare_lookups(stored_lookups)

    def _compare_lookups(self, stored: dict[Lookup, str]) -> None:
        organization = self._organization
        expected = set(self._lookups)
        for record in records_of(organization):
            expected |= RECORD_KINDS.by_record_type[type(record)].lookups(record)
        for lookup in expected - stored.keys():
            self._report(f"the look-up of {_described(lookup)} is missing")
        unexpected = stored.keys() - expected
        if self._deleted_wallets:  # look-ups of deleted wallets go in steps
            unexpected = {lookup for lookup in unexpected if lookup.kind is not LookupKind.WALLET_ACCOUNT_ADDRESS}
        for lookup in unexpected:
            self._report(f"there is a look-up of {_described(lookup)}, which is not on record")
        parent_id = organization.profile.parent_id or ""
        if any(stored_parent_id != parent_id for stored_parent_id in stored.values()):
            self._report("a look-up is stored under another parent")

    def _open(self, owner: Owner) -> None:
        """Check that the sealed value of a row or record opens, if it has one."""
        if self._seals is None:
            return
        try:
            self._findings.sealed_values += self._seals.check(owner)
        except (SealBroken, msgspec.MsgspecError) as broken:
            self._report(str(broken))

    def _report(self, line: str) -> None:
        self._findings.problems.append(line)


def _described(lookup: Lookup) -> str:
    """The look-up without its value, which may be an e-mail address."""
    return f"{lookup.kind} of {lookup.holder_id or 'the organization'}"
