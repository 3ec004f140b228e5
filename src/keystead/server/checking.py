"""Checks the content of an installation's database: sealed values must open, and tables must agree.

Here: every organization, one after another, read through the store. It changes nothing unless `finish` is
set. Not here: opening values (`signer.seal_checks`), which tables and functions there must be
(`storage.schema_objects`), SQLite's check of its own file (`storage.sqlite.backup`), the command (`cli`).

Servers may run meanwhile. The rows of one organization are read by several statements, so problems count only if
the organization had the same version before and after them; otherwise it is read again.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final, TypeVar

import msgspec

from keystead.organizations.attachments import MNEMONIC_PURPOSE, PRIVATE_KEY_PURPOSE, SECRET_PURPOSE, SealedSecret
from keystead.organizations.kinds.data_key import Sealed
from keystead.organizations.kinds.secrets import Secrets
from keystead.organizations.lookups import Lookup, LookupKind, account_lookups
from keystead.organizations.organization import Organization, records_of
from keystead.organizations.record_kinds import RECORD_KINDS
from keystead.pipeline.store import Page
from keystead.server.deletions import finish_deletions
from keystead.signer.installation_keys import MADE_AT_START, SEALED_VALUES
from keystead.signer.master_keys import Master, SealBroken
from keystead.signer.seal_checks import OrganizationSeals, Owner, check_instance_value
from keystead.storage.row_encoding import WHOLE_ORGANIZATION
from keystead.storage.schema_objects import schema_problems
from keystead.storage.store import DatabaseStore

_ORGANIZATIONS_AT_ONCE: Final = 500
_ROWS_AT_ONCE: Final = 1_000
_ATTEMPTS: Final = 20

RowT = TypeVar("RowT")


class Checked(msgspec.Struct):
    """`sealed_values`: those that open. `problems`: how many were reported."""

    organizations: int = 0
    sealed_values: int = 0
    problems: int = 0


async def check_installation(
    store: DatabaseStore,
    master: Master,
    *,
    problem: Callable[[str], None],
    progress: Callable[[Checked], None],
    finish: bool = False,
) -> Checked:
    """Check everything. `problem` gets a line for each problem, which names records and never a secret; `progress`
    is called after each organization. `finish`: delete the rows that are left of deleted organizations and wallets.

    Raises Unavailable. The largest organization's look-ups are in memory at once.
    """
    checked = Checked()

    def report(line: str) -> None:
        checked.problems += 1
        problem(line)

    for line in await schema_problems(store):
        report(line)
    if finish:
        await finish_deletions(store)
    await _check_instance(store, master, checked, report)
    last = None
    while page := await store.installation.data_keys(Page(_ORGANIZATIONS_AT_ONCE, after=last)):
        for organization_id, _ in page:
            findings = await _check_organization(store, master, organization_id)
            if findings.leftovers and finish:
                await store.purger.begin(organization_id)
                await finish_deletions(store)
                findings = await _check_organization(store, master, organization_id)
            checked.organizations += 1
            checked.sealed_values += findings.sealed_values
            for line in findings.problems:
                report(f"organization {organization_id}: {line}")
            progress(checked)
        last = page[-1][0]
    return checked


async def _check_instance(
    store: DatabaseStore, master: Master, checked: Checked, report: Callable[[str], None]
) -> None:
    for name in SEALED_VALUES:
        value = await store.installation.value(name)
        if value is None:
            if name not in MADE_AT_START:
                report(f"the installation has no {name}")
            continue
        try:
            check_instance_value(master, name, msgspec.json.decode(value, type=Sealed))
            checked.sealed_values += 1
        except (SealBroken, msgspec.MsgspecError) as broken:
            report(str(broken))


class _OrganizationCheck(msgspec.Struct):
    """The result of the check of one organization, at one version. `leftovers`: rows of a deleted organization are
    left."""

    sealed_values: int = 0
    problems: list[str] = []
    leftovers: bool = False


async def _check_organization(store: DatabaseStore, master: Master, organization_id: str) -> _OrganizationCheck:
    for _ in range(_ATTEMPTS):
        before = await store.version(organization_id)
        organization = await store.organization(organization_id)
        if organization is None:
            return _OrganizationCheck(problems=["it has no readable records"])
        findings = _OrganizationCheck()
        await _check_versions(store, organization, findings)
        if organization.profile.deleted:
            await _check_is_empty(store, organization.id, findings)
        else:
            await _check_lookups(store, organization, findings)
        await _check_seals(store, master, organization, findings)
        if not findings.problems or await store.version(organization_id) == before == organization.version:
            return findings
    return _OrganizationCheck(problems=[f"it changed during each of {_ATTEMPTS} checks; run this command again"])


async def _check_versions(store: DatabaseStore, organization: Organization, findings: _OrganizationCheck) -> None:
    stored = await store.installation.stored_versions(organization.id)
    if stored is None:
        findings.problems.append("it has no row")
        return
    newest = stored.newest_record or 0
    if not 1 <= newest <= stored.organization:
        findings.problems.append(
            f"it has version {stored.organization}, and its newest record has version {newest}"
        )
    profile = organization.profile
    expected = None if profile.deleted else profile.parent_id
    if stored.parent_id != expected:
        findings.problems.append(f"its row names the parent {stored.parent_id}, its profile {expected}")


async def _check_is_empty(store: DatabaseStore, organization_id: str, findings: _OrganizationCheck) -> None:
    """Check that a deleted organization has only the rows of its activities. Servers delete the other rows in
    steps. A server of an earlier release does not delete rows of tables that it does not know."""
    if WHOLE_ORGANIZATION not in await store.accounts.unfinished_deletions(organization_id):
        tables = await store.purger.tables_with_rows(organization_id)
        findings.leftovers = bool(tables)
        findings.problems += [
            f"it is deleted, and has rows in {table}; `keystead check --finish-deletions` deletes them"
            for table in tables
        ]


async def _check_lookups(store: DatabaseStore, organization: Organization, findings: _OrganizationCheck) -> None:
    """Check that the look-ups of an organization are exactly those of its records and wallet accounts."""
    stored = await store.installation.lookups_of(organization.id)
    expected: set[Lookup] = set()
    wallet_ids = set(organization.wallets)
    async for account in _pages(
        lambda page: store.accounts.page(organization.id, None, page), lambda account: account.wallet_account_id
    ):
        expected |= account_lookups([account])
        if account.wallet_id not in wallet_ids:
            findings.problems.append(f"wallet account {account.wallet_account_id} belongs to no wallet on record")
    for record in records_of(organization):
        expected |= RECORD_KINDS.by_record_type[type(record)].lookups(record)
    for lookup in expected - stored.keys():
        findings.problems.append(f"the look-up of {_described(lookup)} is missing")
    unexpected = stored.keys() - expected
    if await store.accounts.unfinished_deletions(organization.id):  # look-ups of deleted wallets go in steps
        unexpected = {lookup for lookup in unexpected if lookup.kind is not LookupKind.WALLET_ACCOUNT_ADDRESS}
    for lookup in unexpected:
        findings.problems.append(f"there is a look-up of {_described(lookup)}, which is not on record")
    parent_id = organization.profile.parent_id or ""
    if any(stored_parent_id != parent_id for stored_parent_id in stored.values()):
        findings.problems.append("a look-up is stored under another parent")


def _described(lookup: Lookup) -> str:
    """The look-up without its value, which may be an e-mail address."""
    return f"{lookup.kind} of {lookup.holder_id or 'the organization'}"


async def _check_seals(
    store: DatabaseStore, master: Master, organization: Organization, findings: _OrganizationCheck
) -> None:
    """Check that every sealed value opens, and that each wallet, private key and secret has its sealed value. A
    deleted organization has no data key, so there is nothing to check."""
    if organization.profile.deleted:
        return
    secrets = await store.attached.sealed_secrets(organization.id)
    try:
        seals = OrganizationSeals(master, organization.id, organization.data_key.sealed)
    except SealBroken as broken:
        findings.problems.append(str(broken))
        return
    findings.sealed_values += 1
    stored = {(secret.record_id, secret.purpose) for secret in secrets}
    expected = {(wallet_id, MNEMONIC_PURPOSE) for wallet_id in organization.wallets}
    expected |= {(key_id, PRIVATE_KEY_PURPOSE) for key_id in organization.private_keys}
    expected |= {(secret_id, SECRET_PURPOSE) for secret_id in organization.of(Secrets)}
    findings.problems += [
        f"the secret of {record_id} ({purpose}) is missing" for record_id, purpose in expected - stored
    ]
    findings.problems += [
        f"there is a secret of {record_id}, which is not on record" for record_id, _ in stored - expected
    ]
    async for owner in _owners(store, organization, secrets):
        try:
            findings.sealed_values += seals.check(owner)
        except (SealBroken, msgspec.MsgspecError) as broken:
            findings.problems.append(str(broken))


async def _owners(
    store: DatabaseStore, organization: Organization, secrets: list[SealedSecret]
) -> AsyncIterator[Owner]:
    for secret in secrets:
        yield secret
    for proxy in organization.auth_proxies.in_order():
        yield proxy
    for target in organization.import_targets.in_order():
        yield target
    async for code in _pages(lambda page: store.attached.one_time_codes(organization.id, page), lambda row: row.id):
        yield code
    async for message in _pages(
        lambda page: store.attached.outgoing_messages(organization.id, page), lambda row: row.id
    ):
        yield message


async def _pages(
    read: Callable[[Page], Awaitable[list[RowT] | None]], id_of: Callable[[RowT], str]
) -> AsyncIterator[RowT]:
    """All rows, some at a time, in order of ids."""
    last = None
    while rows := await read(Page(_ROWS_AT_ONCE, after=last)):
        for row in rows:
            yield row
        last = id_of(rows[-1])
