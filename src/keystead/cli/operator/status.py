"""`keystead status`: shows the state of an installation on one screen, for the operator.

Here: flags and the output. Not here: reading the state, and what is a problem (`server.installation.status`).
"""

from __future__ import annotations

import asyncio
import datetime
import sys
import time
from collections.abc import Iterator
from typing import Annotated

import msgspec
import typer

from keystead.cli.columns import Column, JsonRecord, table, terminal_width
from keystead.cli.failure import Failure
from keystead.cli.operator.chosen_installation import ChosenData, ChosenDatabaseUrl, chosen_settings
from keystead.cli.operator.database_url import database_failures
from keystead.cli.texts import counted
from keystead.server.installation.processes import LATE_AFTER_MS
from keystead.server.installation.status import ORGANIZATIONS_COUNTED_MAX, InstallationStatus, status_of
from keystead.storage.open import open_store, sqlite_path

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def status(
    database_url: ChosenDatabaseUrl = "",
    data: ChosenData = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show the state of an installation on one screen: servers, database, keys, messages, backup.

    Needs the database alone, and changes nothing. Exit code 1 if there is a problem.
    """
    now_ms = time.time_ns() // 1_000_000
    database_url = chosen_settings(database_url=database_url, data=data).database_url
    with database_failures(database_url):
        path = sqlite_path(database_url)
        if path is not None and not path.exists():
            raise Failure(f"there is no database file {path}")
        state = asyncio.run(_read(database_url, now_ms))
    if as_json:
        print(msgspec.json.format(msgspec.json.encode(state)).decode())
    else:
        for line in screen(state, now_ms):
            print(line)
    sys.exit(1 if state.problems else 0)


async def _read(database_url: str, now_ms: int) -> InstallationStatus:
    store = await open_store(database_url)
    try:
        return await status_of(store, now_ms)
    finally:
        await store.close()


def screen(state: InstallationStatus, now_ms: int) -> list[str]:
    """The lines for a person. `now_ms`: milliseconds since the epoch. Equal arguments give equal lines."""

    def ago(then_ms: int | None) -> str:
        return "unknown" if then_ms is None else f"{_moment(then_ms)}, {span(now_ms - then_ms)} ago"

    backup = "none on record" if state.last_backup_ms is None else ago(state.last_backup_ms)
    oldest = "" if state.oldest_due_ms is None else f", the oldest due {ago(state.oldest_due_ms)}"
    lines = [
        f"version      {state.version}",
        f"database     {state.database}, {state.database_size / 1_000_000:.1f} MB",
        f"answers in   {state.answered_in_ms} ms",
        f"tables       version {state.tables}" + _version_note(state),
        f"contents     {_organizations(state.organizations)}",
        f"master key   {state.master_key_id or 'none'}, in use since {ago(state.master_key_since_ms)}",
        f"messages     {state.due_messages} wait{oldest}",
        f"last backup  {backup}",
        f"servers      {counted(len(state.processes), 'process', 'processes')}" + _late_note(state, now_ms),
        "",
    ]
    if state.processes:
        lines += [
            *table(
                [msgspec.structs.asdict(process) for process in state.processes],
                _columns(state, now_ms),
                terminal_width(),
            )
        ]
        lines.append("")
    notes = list(_notes(state))
    lines += [f"note: {note}" for note in notes]
    nothing_found = "No other problem found." if notes else "No problem found."
    lines += [f"problem: {problem}" for problem in state.problems] or [nothing_found]
    return lines


def _notes(state: InstallationStatus) -> Iterator[str]:
    """What is wrong for an installation in use, and right for a new one."""
    if state.last_backup_ms is None:
        yield "no backup is on record: after one, record it with `keystead backup` (docs/backup.md)"
    if not state.processes:
        yield "no server runs: `keystead serve` starts one"


def _organizations(number: int) -> str:
    if number >= ORGANIZATIONS_COUNTED_MAX:
        return f"{number} or more organizations"
    return counted(number, "organization", "organizations")


def _version_note(state: InstallationStatus) -> str:
    return "" if state.tables == state.newest_tables else f"; this program knows version {state.newest_tables}"


def _late_note(state: InstallationStatus, now_ms: int) -> str:
    late = sum(_unseen_ms(process.seen_at_ms, now_ms) > 0 for process in state.processes)
    return f", {late} of them late: killed, or cut off from the database" if late else ""


def _unseen_ms(seen_at_ms: int, now_ms: int) -> int:
    """The milliseconds since a late process renewed its row; 0 for a process that is not late."""
    return now_ms - seen_at_ms if now_ms - seen_at_ms > LATE_AFTER_MS else 0


def _columns(state: InstallationStatus, now_ms: int) -> list[Column]:
    """The columns of the table of processes. `last seen` is there if a process is late; it ran at least until
    then."""

    def certificate(process: JsonRecord) -> str:
        ends_ms = process["certificate_ends_ms"]
        return "" if ends_ms is None else f"ends in {span(ends_ms - now_ms)}"

    def last_seen(process: JsonRecord) -> str:
        unseen_ms = _unseen_ms(process["seen_at_ms"], now_ms)
        return f"{span(unseen_ms)} ago" if unseen_ms else ""

    def runs_for(process: JsonRecord) -> str:
        return span(now_ms - process["started_at_ms"] - _unseen_ms(process["seen_at_ms"], now_ms))

    seen = [Column(name="last seen", cell=last_seen)] if _late_note(state, now_ms) else []
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
    """A length of time in its largest unit: `3 d`, `20 min`. "0 s" for a negative one, which comes from differing
    clocks."""
    seconds = max(ms // 1000, 0)
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return "0 s"
