"""The commands of docs/operations.md, run in the order of the page in one shell, on a PostgreSQL of the tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

from tests.documentation.blocks import blocks_of
from tests.support.hanging import PATIENCE_S
from tests.support.postgres import BINARIES, PostgresServer
from tests.support.servers import free_port
from tests.support.source_tree import ROOT

PAGE = ROOT / "docs" / "operations.md"


def test_from_nothing_to_two_servers(postgres: PostgresServer, tmp_path: Path) -> None:
    script = "\n".join(block.text for block in blocks_of(PAGE) if block.language == "bash" and not block.shown)
    for port in ("8080", "8081", "9464", "9465"):
        assert port in script
        script = script.replace(port, str(free_port()))
    url = urlsplit(postgres.url())
    passwords = tmp_path / "passwords"
    passwords.write_text(f"*:*:*:{url.username}:{url.password}\n")
    passwords.chmod(0o600)
    environment = {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), str(BINARIES), os.environ["PATH"]]),
        "PGHOST": str(url.hostname),
        "PGPORT": str(url.port),
        "PGUSER": str(url.username),
        "PGPASSFILE": str(passwords),
    }
    began = "set -euo pipefail\ntrap 'kill $one $two 2> /dev/null; wait' EXIT\none= two=\n"
    done = subprocess.run(
        ["bash", "-c", began + script],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    said = done.stdout
    assert said.count('{"status":"ready"}') == 5
    assert "servers      4 processes" in said
    assert "keystead_processes 2.0" in said
    assert said.count("problem found.") == 3, "two looks at the status, and the restored database"
    assert "none on record" in said
    last_backup = [line for line in said.splitlines() if line.startswith("last backup") and line.endswith("ago")]
    assert len(last_backup) == 2
    assert isinstance(json.loads((tmp_path / "activities.json").read_text()), list)
    for secret in ("database-password", "master.key"):
        assert (tmp_path / secret).stat().st_mode & 0o077 == 0
