"""`keystead status`: one screen about an installation, for the operator.

Here: flags and the output. Not here: what is read, and what is a problem (`server.status`).
"""

from __future__ import annotations

import asyncio
import datetime
import sys
import time
from typing import Annotated

import msgspec
import typer

from keystead.cli.columns import Column, Record, table, terminal_width
from keystead.cli.database_failure import database_failures
from keystead.cli.database_url import DatabaseUrl
from keystead.cli.failure import Failure
from keystead.cli.texts import counted
from keystead.server.processes import LATE_AFTER_MS
from keystead.server.status import ORGANIZATIONS_COUNTED_MAX, InstallationStatus, status_of
from keystead.storage.open import open_store, sqlite_path

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def status(
    database_url: DatabaseUrl, as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False
) -> None:
    """Show the state of an installation on one screen: servers, database, keys, messages, backup.

    Needs the database alone, and changes nothing. Exit code 1 if there is a problem.
    """
    now_ms = time.time_ns() // 1_000_000
    with database_failures(database_url):
        path = sqlite_path(database_url)
        if path is not None and not path.exists():
            raise Failure(f"there is no database file {path}")
        found = asyncio.run(_read(database_url, now_ms))
    if as_json:
        print(msgspec.json.format(msgspec.json.encode(found)).decode())
    else:
        for line in screen(found, now_ms):
            print(line)
    sys.exit(1 if found.problems else 0)


async def _read(database_url: str, now_ms: int) -> InstallationStatus:
    store = await open_store(database_url)
    try:
        return await status_of(store, now_ms)
    finally:
        await store.close()


def screen(found: InstallationStatus, now_ms: int) -> list[str]:
    """The lines for a person. The same for the same status and moment (milliseconds since the epoch)."""

    def ago(then_ms: int | None) -> str:
        return "unknown" if then_ms is None else f"{_moment(then_ms)}, {span(now_ms - then_ms)} ago"

    backup = "none on record" if found.last_backup_ms is None else ago(found.last_backup_ms)
    oldest = "" if found.oldest_due_ms is None else f", the oldest due {ago(found.oldest_due_ms)}"
    lines = [
        f"version      {found.version}",
        f"database     {found.database}, {found.database_size / 1_000_000:.1f} MB",
        f"answers in   {found.answered_in_ms} ms",
        f"tables       version {found.tables}" + _compared(found),
        f"contents     {_organizations(found.organizations)}",
        f"master key   {found.master_key_id or 'none'}, in use since {ago(found.master_key_since_ms)}",
        f"messages     {found.due_messages} wait{oldest}",
        f"last backup  {backup}",
        f"servers      {counted(len(found.processes), 'process', 'processes')}" + _late(found, now_ms),
        "",
    ]
    if found.processes:
        lines += [
            *table(
                [msgspec.structs.asdict(one) for one in found.processes], _columns(found, now_ms), terminal_width()
            )
        ]
        lines.append("")
    lines += [f"problem: {problem}" for problem in found.problems] or ["No problem found."]
    return lines


def _organizations(number: int) -> str:
    if number >= ORGANIZATIONS_COUNTED_MAX:
        return f"{number} or more organizations"
    return counted(number, "organization", "organizations")


def _compared(found: InstallationStatus) -> str:
    return "" if found.tables == found.newest_tables else f"; this program knows version {found.newest_tables}"


def _late(found: InstallationStatus, now_ms: int) -> str:
    late = sum(_unseen_ms(one.seen_at_ms, now_ms) > 0 for one in found.processes)
    return f", {late} of them late: killed, or cut off from the database" if late else ""


def _unseen_ms(seen_at_ms: int, now_ms: int) -> int:
    """How long ago a process was seen that should have been seen since; 0 for one that renews its row."""
    return now_ms - seen_at_ms if now_ms - seen_at_ms > LATE_AFTER_MS else 0


def _columns(found: InstallationStatus, now_ms: int) -> list[Column]:
    """`last seen` is a column where a process is late; such a one ran at least until then."""

    def certificate(process: Record) -> str:
        ends_ms = process["certificate_ends_ms"]
        return "" if ends_ms is None else f"ends in {span(ends_ms - now_ms)}"

    def last_seen(process: Record) -> str:
        unseen_ms = _unseen_ms(process["seen_at_ms"], now_ms)
        return f"{span(unseen_ms)} ago" if unseen_ms else ""

    def runs_for(process: Record) -> str:
        return span(now_ms - process["started_at_ms"] - _unseen_ms(process["seen_at_ms"], now_ms))

    seen = [Column(name="last seen", cell=last_seen)] if _late(found, now_ms) else []
    return [
        Column(name="host", cell=lambda process: process["host"]),
        Column(name="process", cell=lambda process: str(process["pid"])),
        Column(name="address", cell=lambda process: process["address"]),
        Column(name="version", cell=lambda process: process["version"]),
        Column(name="runs for", cell=runs_for),
        *seen,
        Column(name="master keys", cell=lambda process: ", ".join(process["master_key_ids"])),
        Column(name="certificate", cell=certificate, optional=1),
    ]


def _moment(at_ms: int) -> str:
    return f"{datetime.datetime.fromtimestamp(at_ms / 1000, datetime.UTC):%Y-%m-%d %H:%M}Z"


def span(ms: int) -> str:
    """A length of time in its largest unit: `3 d`, `20 min`. "0 s" for a negative one, of clocks that differ."""
    seconds = max(ms // 1000, 0)
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return "0 s"
