"""`keystead status`: what it shows of an installation, and what it calls a problem."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from keystead.cli.operator.status import screen, span
from keystead.server.installation.processes import ServingProcess
from keystead.server.installation.status import InstallationStatus, problems_of
from keystead.storage.migrations import newest
from tests.support.callers import now_ms
from tests.support.commands import run_keystead
from tests.support.databases import Database
from tests.support.servers import Installation, Server
from tests.support.terminal import Terminal

DAY_MS = 86_400_000
NOW_MS = 1_800_000_000_000

PROCESS = ServingProcess(
    id="a",
    host="one.internal",
    pid=812,
    address="0.0.0.0:8080",
    version="0.1.0",
    tables=newest(),
    started_at_ms=NOW_MS - 3 * DAY_MS,
    seen_at_ms=NOW_MS,
    master_key_ids=("0011223344556677",),
)
SOUND = InstallationStatus(
    version="0.1.0",
    tables=newest(),
    newest_tables=newest(),
    database="PostgreSQL 18.0",
    database_size=12_345_678,
    answered_in_ms=0.7,
    organizations=3,
    master_key_id="0011223344556677",
    master_key_since_ms=NOW_MS - 40 * DAY_MS,
    processes=[PROCESS],
    due_messages=0,
    oldest_due_ms=None,
    last_backup_ms=NOW_MS - DAY_MS // 2,
    problems=[],
)


def changed(**process: object) -> InstallationStatus:
    return msgspec.structs.replace(SOUND, processes=[msgspec.structs.replace(PROCESS, **process)])


def test_the_screen() -> None:
    assert screen(SOUND, NOW_MS) == [
        "version      0.1.0",
        "database     PostgreSQL 18.0, 12.3 MB",
        "answers in   0.7 ms",
        f"tables       version {newest()}",
        "contents     3 organizations",
        "master key   0011223344556677, in use since 2026-12-06 08:00Z, 40 d ago",
        "messages     0 wait",
        "last backup  2027-01-14 20:00Z, 12 h ago",
        "servers      1 process",
        "",
        "host          process  address       version  runs for  master keys       certificate",
        "one.internal  812      0.0.0.0:8080  0.1.0    3 d       0011223344556677",
        "",
        "No problem found.",
    ]


SEEN = [
    (NOW_MS - 10_500, "1 process", "3 d       0011223344556677", False),
    (NOW_MS - 12_500, "1 process, 1 of them late: ", "59 min    12 s ago   0011223344556677", True),
    (NOW_MS + 5_000, "1 process", "3 d       0011223344556677", False),
]


@pytest.mark.parametrize(("seen_at_ms", "servers", "row", "is_late"), SEEN)
def test_when_a_process_was_last_seen(seen_at_ms: int, servers: str, row: str, is_late: bool) -> None:
    """One that was killed stays in the list for a while: what it says of itself is of that time."""
    began_ms = NOW_MS - (3_600_000 if is_late else 3 * DAY_MS)
    lines = screen(changed(seen_at_ms=seen_at_ms, started_at_ms=began_ms), NOW_MS)
    assert lines[8].startswith(f"servers      {servers}")
    assert ("last seen" in lines[10], lines[11].endswith(row)) == (is_late, True)


@pytest.mark.parametrize(
    ("found", "problem"),
    [
        (SOUND, ""),
        (changed(certificate_ends_ms=NOW_MS + 20 * DAY_MS), ""),
        (
            changed(certificate_ends_ms=NOW_MS + 3 * DAY_MS),
            "the TLS certificate of process 812 on one.internal ends in 3",
        ),
        (
            changed(master_key_ids=("8899aabbccddeeff",)),
            "process 812 on one.internal does not have the master key 0011",
        ),
        (changed(master_key_ids=("8899aabbccddeeff", "0011223344556677")), ""),
        (
            changed(tables=newest() - 1, version="0.0.9"),
            "one.internal is of version 0.0.9, older than the database",
        ),
        (msgspec.structs.replace(SOUND, tables=newest() + 1), "the database is newer than this program"),
        (msgspec.structs.replace(SOUND, master_key_id=""), "run keystead init"),
        (msgspec.structs.replace(SOUND, oldest_due_ms=NOW_MS - 60_000), ""),
        (msgspec.structs.replace(SOUND, oldest_due_ms=NOW_MS - 600_000), "a message has been due for 10 minutes"),
        (msgspec.structs.replace(SOUND, last_backup_ms=None), ""),
    ],
)
def test_problems(found: InstallationStatus, problem: str) -> None:
    problems = problems_of(found, NOW_MS)
    assert (problems == []) if not problem else (problem in problems[0])


@pytest.mark.parametrize(
    ("ms", "text"), [(-5, "0 s"), (999, "0 s"), (61_000, "1 min"), (7_200_000, "2 h"), (DAY_MS * 400, "400 d")]
)
def test_spans(ms: int, text: str) -> None:
    assert span(ms) == text


def keystead(*arguments: str, database: Database) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "KEYSTEAD_DATABASE_URL": database.url}
    return run_keystead(*arguments, environment=environment)


def shown(database: Database) -> InstallationStatus:
    done = keystead("status", "--json", database=database)
    assert done.returncode == 0, done.stdout + done.stderr
    return msgspec.json.decode(done.stdout, type=InstallationStatus)


def test_servers_come_and_go(installation: Installation, start: Callable[..., Server]) -> None:
    """With their version and keys; a stopped one is gone at once. A backup by other tools is put on record."""
    database = installation.database
    assert shown(database).processes == []
    server = start(installation)
    found = shown(database)
    (process,) = found.processes
    assert process.address == f"127.0.0.1:{server.port}"
    assert process.version == found.version == server.http.get("/version").json()["version"]
    assert process.tables == found.tables == server.http.get("/version").json()["tables"]
    assert process.master_key_ids == (installation.master_key.key_id,) == (found.master_key_id,)
    assert found.master_key_since_ms is not None
    assert found.organizations == 1
    assert found.last_backup_ms is None
    made = keystead("backup", "--made", database=database)
    assert (made.returncode, made.stdout) == (0, "The backup is on record. Nothing was copied.\n")
    assert (shown(database).last_backup_ms or 0) > now_ms() - 60_000
    text = keystead("status", database=database)
    assert text.returncode == 0
    assert "contents     1 organization\n" in text.stdout
    assert text.stdout.splitlines()[-1] == "No problem found."
    server.stop()
    assert shown(database).processes == []


UNUSABLE = [
    (("status",), "new.db", "there is no database file {}"),
    (("status",), "junk.db", "database file {}: it is not a SQLite database"),
    (("migrate",), "junk.db", "database file {}: it is not a SQLite database"),
    (("migrate",), "no/new.db", "database file {}: its folder does not exist"),
    (
        ("init", "--organization-name", "x", "--master-key-file", "k", "--credentials", "c"),
        "no/new.db",
        "file {}: its",
    ),
    (("backup", "--made"), "junk.db", "the backup is not on record: database file {}: it is not a SQLite database"),
]


@pytest.mark.parametrize(("command", "name", "message"), UNUSABLE, ids=str)
def test_a_database_that_cannot_be_used(
    command: tuple[str, ...], name: str, message: str, tmp_path: Path, terminal: Terminal
) -> None:
    (tmp_path / "junk.db").write_text("something else\n" * 100)
    printed = terminal.run(*command, "--database-url", f"sqlite:///{tmp_path / name}")
    assert (printed.code, printed.out) == (1, "")
    assert message.format(tmp_path / name) in printed.err
    assert "sending the same request again" not in printed.err
    assert [path.name for path in tmp_path.iterdir()] == ["junk.db"]
