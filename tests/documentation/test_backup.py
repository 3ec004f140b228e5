"""The commands of docs/backup.md, run in the order of the page."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from keystead.keys import master_key
from tests.documentation.blocks import blocks_of
from tests.faults.test_signer_dies import WalletLoad
from tests.support.hanging import PATIENCE_S
from tests.support.postgres import BINARIES
from tests.support.servers import Installation, Server
from tests.support.source_tree import ROOT

COMMANDS = [block.text for block in blocks_of(ROOT / "docs" / "backup.md") if block.language == "bash"]


def test_backup_and_restore(installation: Installation, start: Callable[..., Server], tmp_path: Path) -> None:
    """The page has two blocks for SQLite, then two for PostgreSQL. The backup is made under load."""
    master_key.create(tmp_path / "master.key", installation.master_key)
    url = urlsplit(installation.database.url)
    backup, restored = COMMANDS[:2] if url.scheme == "sqlite" else COMMANDS[2:]
    paths = [str(Path(sys.executable).parent), str(BINARIES), os.environ["PATH"]]
    environment = {"PATH": os.pathsep.join(paths), "KEYSTEAD_DATABASE_URL": installation.database.url}
    if url.scheme != "sqlite":
        passwords = tmp_path / "passwords"
        passwords.write_text(f"*:*:*:{url.username}:{url.password}\n")
        passwords.chmod(0o600)
        environment |= {"PGHOST": str(url.hostname), "PGPORT": str(url.port), "PGUSER": str(url.username)}
        environment |= {"PGDATABASE": url.path[1:], "PGPASSFILE": str(passwords)}

    def run(block: str) -> subprocess.CompletedProcess[str]:
        command = ["bash", "-euc", block]
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=PATIENCE_S
        )

    server = start(installation)
    with WalletLoad(server.caller, threads=2) as load:
        load.wait_for(5)
        done = run(backup)
        load.wait_for(2)
    assert done.returncode == 0, done.stderr
    done = run(restored)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "No problem found."
    again = run(restored)
    assert again.returncode != 0, "it is in use now"
    assert "exists" in again.stderr
