"""`keystead check` and `keystead status` report a function that a PostgreSQL database lacks, until it is made."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from keystead.keys import master_key
from keystead.storage.statements import SQL
from tests.conftest import MakeDatabase
from tests.support.hanging import PATIENCE_S
from tests.support.servers import bootstrap_installation

pytestmark = pytest.mark.one_engine

FILE = SQL / "postgresql" / "0005_lock_and_read.sql"
PROBLEM = f"the function lock_and_read is missing: create it as {FILE} declares it"


def test_a_function_that_a_restore_left_out(make_postgres: MakeDatabase, tmp_path: Path) -> None:
    installation = bootstrap_installation(make_postgres())
    key, database = tmp_path / "master.key", installation.database
    master_key.create(key, installation.master_key)

    def keystead(*words: str | Path) -> tuple[int, list[str]]:
        done = subprocess.run(
            [sys.executable, "-m", "keystead", *words],
            env={"PATH": os.environ["PATH"], "KEYSTEAD_DATABASE_URL": database.url},
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
        return done.returncode, done.stdout.splitlines()

    database.rows("DROP FUNCTION lock_and_read")
    code, lines = keystead("check", "--master-key-file", key)
    assert (code, lines[0]) == (1, PROBLEM)
    code, lines = keystead("status")
    assert (code, lines[-1]) == (1, f"problem: {PROBLEM}")
    database.rows(FILE.read_text())
    code, lines = keystead("check", "--master-key-file", key)
    assert (code, lines[-1]) == (0, "No problem found.")
    code, lines = keystead("status")
    assert (code, lines[-1]) == (0, "No other problem found.")
    database.close()
