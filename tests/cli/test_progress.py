"""Long commands say on a terminal how far they are, and what remains; elsewhere they do not."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from keystead.keys import master_key
from tests.conftest import MakeDatabase
from tests.support.hanging import PATIENCE_S
from tests.support.postgres import PostgresServer
from tests.support.servers import bootstrap_installation
from tests.support.source_tree import ROOT

BENCH = "from bench.rows import shown; assert len(list(shown([(), ()], 'people', 2, 3))) == 2"


def seen_on_a_terminal(*command: str | Path) -> str:
    """What a command that succeeds writes to a terminal that is its standard error."""
    terminal, theirs = pty.openpty()
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=theirs, cwd=ROOT
        )
    finally:
        os.close(theirs)
    seen = b""
    with open(terminal, "rb", buffering=0) as screen:
        try:
            while part := screen.read(4096):
                seen += part
        except OSError:  # Linux says so where nothing has the other end open any more
            pass
    assert process.wait(PATIENCE_S) == 0, seen
    return seen.decode()


@pytest.mark.one_engine
def test_long_commands_on_a_terminal(make_sqlite: MakeDatabase, postgres: PostgresServer, tmp_path: Path) -> None:
    keystead = (sys.executable, "-m", "keystead")
    new, copy, restored = (tmp_path / name for name in ("new.db", "copy.db", "restored.db"))
    key, later = tmp_path / "master.key", tmp_path / "later.key"
    installation = bootstrap_installation(make_sqlite())
    master_key.create(key, installation.master_key)
    master_key.create(later)
    url = installation.database.url
    rotate = ("keys", "rotate-master", "--master-key-file", key, "--new-master-key-file", later)
    for expected, words in (
        ("migration 1 of ", ("migrate", "--database-url", f"sqlite:///{new}")),
        ("migration 1 of ", ("migrate", "--database-url", postgres.create_database())),
        ("%", ("backup", copy, "--database-url", url)),
        ("%", ("restore", copy, "--database-url", f"sqlite:///{restored}")),
        ("1 of 1 organizations checked", ("check", "--database-url", url, "--master-key-file", key)),
        ("1 of 1 organizations seen", (*rotate, "--database-url", url)),
    ):
        seen = seen_on_a_terminal(*keystead, *words)
        assert expected in seen, words
        assert seen.endswith("\r\x1b[K"), "the line is removed at the end"
    assert "0 of 3 people written" in seen_on_a_terminal(sys.executable, "-c", BENCH)


def test_no_progress_without_a_terminal(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "keystead", "migrate", "--database-url", f"sqlite:///{tmp_path}/new.db"]
    assert subprocess.run(command, capture_output=True, timeout=PATIENCE_S, check=True).stderr == b""
