"""`keystead serve` that cannot start: its last line is a line of its log, for the programs that read that."""

from __future__ import annotations

import json
import os
import re
import socket
from contextlib import closing
from pathlib import Path

import pytest

from keystead.keys import master_key
from tests.conftest import MakeDatabase
from tests.support.commands import run_keystead
from tests.support.servers import bootstrap_installation

MISSING = {"KEYSTEAD_DATABASE_URL": "sqlite:///none.db", "KEYSTEAD_MASTER_KEY": "00" * 32}
FAILURES: list[tuple[str, dict[str, str], str]] = [
    ("no settings", {}, "KEYSTEAD_DATABASE_URL"),
    ("an unknown setting", {**MISSING, "KEYSTEAD_WORKERZ": "2"}, "did you mean KEYSTEAD_WORKERS?"),
    ("a wrong value", {**MISSING, "KEYSTEAD_PORT": "x"}, "KEYSTEAD_PORT"),
    ("no master key", {"KEYSTEAD_DATABASE_URL": "sqlite:///none.db"}, "no master key"),
    ("no database", MISSING, "there is no database file"),
    ("a wrong value of the log's own", {**MISSING, "KEYSTEAD_LOG_FORMAT": "xml"}, "KEYSTEAD_LOG_FORMAT"),
]


@pytest.mark.parametrize(("environment", "why"), [row[1:] for row in FAILURES], ids=[row[0] for row in FAILURES])
def test_a_failure_is_a_line_of_the_log(environment: dict[str, str], why: str, tmp_path: Path) -> None:
    done = run_keystead("serve", environment={"PATH": os.environ["PATH"], **environment}, cwd=tmp_path)
    assert done.returncode == 1
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert {"time", "level", "event"} <= lines[-1].keys()
    assert (lines[-1]["level"], why in lines[-1]["event"]) == ("error", True), lines[-1]


def test_a_port_that_is_taken(make_sqlite: MakeDatabase, tmp_path: Path) -> None:
    installation = bootstrap_installation(make_sqlite())
    master_key.create(tmp_path / "key", installation.master_key)
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        port = str(listening.getsockname()[1])
        options = ("--database-url", installation.database.url, "--master-key-file", tmp_path / "key")
        done = run_keystead("serve", *options, "--port", port)
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert (done.returncode, lines[-1]["level"]) == (1, "error")
    assert "another program listens on it" in lines[-1]["event"]


def test_a_log_for_people(tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], **MISSING, "KEYSTEAD_LOG_FORMAT": "pretty"}
    done = run_keystead("serve", environment=environment, cwd=tmp_path)
    assert re.match(r"\d\d:\d\d:\d\d .*there is no database file", done.stderr.splitlines()[-1]), done.stderr
