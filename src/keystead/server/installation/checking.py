"""Checks the content of an installation's database: what must be there, and that sealed values open.

Here: the installation's own values, and every table asked for organizations that are not on record. It changes
nothing unless `finish` is set. Not here: one organization (`organization_checks`), which rows lack others
(`storage.integrity`), opening values (`signer.seal_checks`), which tables and functions there must be
(`storage.schema_objects`), SQLite's check of its own file (`storage.sqlite.backup`), the command (`cli`).

Servers may run meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from keystead.organizations.kinds.data_key import Sealed
from keystead.server.installation.deletions import finish_deletions
from keystead.server.installation.organization_checks import check_organization
from keystead.server.opening import MODE
from keystead.signer.installation_keys import MADE_AT_START, SEALED_VALUES
from keystead.signer.master_keys import Master, SealBroken
from keystead.signer.seal_checks import check_instance_value
from keystead.storage.integrity import OutOfOrder
from keystead.storage.schema_objects import schema_problems
from keystead.storage.store import FIRST_ORGANIZATION_ID, DatabaseStore


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
    try:
        async for organization_id in store.integrity.organization_ids():
            findings = await check_organization(store, master, organization_id)
            if findings.leftovers and finish:
                await store.purger.begin(organization_id)
                await finish_deletions(store)
                findings = await check_organization(store, master, organization_id)
            checked.organizations += 1
            checked.sealed_values += findings.sealed_values
            for line in findings.problems:
                report(f"organization {organization_id}: {line}")
            progress(checked)
    except OutOfOrder as damage:
        report(str(damage))
    await _check_owners(store, report)
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
    if await store.installation.value(MODE) is None:
        report(f"the installation has no {MODE}")
    first = await store.installation.value(FIRST_ORGANIZATION_ID)
    if first is None:
        report(f"the installation has no {FIRST_ORGANIZATION_ID}")
    elif await store.version(first.decode()) is None:
        report(f"the first organization, {first.decode()}, is not on record")


async def _check_owners(store: DatabaseStore, report: Callable[[str], None]) -> None:
    """Report the organizations that have rows in any table and are not on record."""
    tables_by_id: dict[str, list[str]] = {}
    try:
        async for table, ids in store.integrity.organizations_with_rows():
            for organization_id in await store.installation.ids_not_on_record(ids):
                tables_by_id.setdefault(organization_id, []).append(table)
    except OutOfOrder as problem:
        report(str(problem))
    for organization_id, tables in sorted(tables_by_id.items()):
        report(f"organization {organization_id} is not on record, and has rows in {', '.join(tables)}")
