"""The state of an installation, as its database knows it: what `keystead status` shows.

Here: what is read, and what counts as a problem. Not here: how it is printed (`cli.operator.status`), what the
processes measure (`metrics`)."""

from __future__ import annotations

import time
from importlib.metadata import version
from typing import Final

import msgspec

from keystead.organizations.kinds.data_key import Sealed
from keystead.server.installation.dates import last_backup_ms, master_key_since
from keystead.server.installation.processes import ServingProcess, serving_processes
from keystead.signer.installation_keys import PROOF_KEY
from keystead.storage.migrations import newest
from keystead.storage.schema_objects import schema_problems
from keystead.storage.store import DatabaseStore

MESSAGE_LATE_MS: Final = 300_000
"""A message that has been due for longer than this is a problem."""

CERTIFICATE_ENDS_MS: Final = 14 * 86_400_000
"""A certificate that ends within this time is a problem."""

ORGANIZATIONS_COUNTED_MAX: Final = 1_000_000
"""Organizations are counted up to this number, so that the count is fast."""


class InstallationStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Times are milliseconds since the epoch, sizes bytes.

    `tables`: the version of the database's tables; `newest_tables`: the one that this program knows.
    `answered_in_ms`: how long the database took for one query. `master_key_id`: of the key that seals, "" before
    `keystead init`.
    `organizations`: counted up to ORGANIZATIONS_COUNTED_MAX. `problems`: one line each, for a person.
    """

    version: str
    tables: int
    newest_tables: int
    database: str
    database_size: int
    answered_in_ms: float
    organizations: int
    master_key_id: str
    master_key_since_ms: int | None
    processes: list[ServingProcess]
    due_messages: int
    oldest_due_ms: int | None
    last_backup_ms: int | None
    problems: list[str]


async def status_of(store: DatabaseStore, now_ms: int) -> InstallationStatus:
    """Read the state of a database. Raises Unavailable."""
    began_s = time.perf_counter()
    tables = await store.installation.schema_version()
    answered_in_ms = (time.perf_counter() - began_s) * 1000
    facts = await store.installation.database_facts()
    status = InstallationStatus(
        version=version("keystead"),
        tables=tables,
        newest_tables=newest(),
        database=facts.software,
        database_size=facts.size,
        answered_in_ms=round(answered_in_ms, 1),
        organizations=0,
        master_key_id="",
        master_key_since_ms=None,
        processes=[],
        due_messages=0,
        oldest_due_ms=None,
        last_backup_ms=None,
        problems=[],
    )
    if tables < newest():  # the statements below need the newest tables
        needed = newest() - tables
        return msgspec.structs.replace(
            status, problems=[f"{needed} migration(s) are missing: run keystead migrate"]
        )
    proof_key = await store.installation.value(PROOF_KEY.name)
    master_key_id = "" if proof_key is None else msgspec.json.decode(proof_key, type=Sealed).key_id
    since = await master_key_since(store)
    status = msgspec.structs.replace(
        status,
        organizations=await store.installation.organization_count(ORGANIZATIONS_COUNTED_MAX),
        master_key_id=master_key_id,
        master_key_since_ms=since.since_ms if since is not None and since.key_id == master_key_id else None,
        processes=await serving_processes(store, now_ms),
        due_messages=await store.deliveries.due_message_count(),
        oldest_due_ms=await store.deliveries.oldest_due_message_ms(),
        last_backup_ms=await last_backup_ms(store),
    )
    # A newer database may have another function of the same name.
    of_schema = await schema_problems(store) if tables == newest() else []
    return msgspec.structs.replace(status, problems=[*of_schema, *problems_of(status, now_ms)])


def problems_of(status: InstallationStatus, now_ms: int) -> list[str]:
    """What the operator should look at, one line each, for a database with the newest tables or newer ones."""
    problems = []
    if status.tables > status.newest_tables:
        problems.append("the database is newer than this program: use the keystead of the newer version")
    if not status.master_key_id:
        problems.append("the database holds no organization yet: run keystead init")
    if status.oldest_due_ms is not None and now_ms - status.oldest_due_ms > MESSAGE_LATE_MS:
        late_min = (now_ms - status.oldest_due_ms) // 60_000
        problems.append(
            f"a message has been due for {late_min} minutes: the mail server or hook does not accept it"
        )
    for process in status.processes:
        name = f"process {process.pid} on {process.host}"
        if status.master_key_id and status.master_key_id not in process.master_key_ids:
            problems.append(f"{name} does not have the master key {status.master_key_id}: restart it with that key")
        if process.tables < status.tables:
            problems.append(f"{name} is of version {process.version}, older than the database: replace it")
        if process.certificate_ends_ms is not None and process.certificate_ends_ms - now_ms < CERTIFICATE_ENDS_MS:
            days = (process.certificate_ends_ms - now_ms) // 86_400_000
            problems.append(f"the TLS certificate of {name} ends in {days} days: renew it")
    return problems
