"""What docs/testing.md promises, in a folder with nothing of the repository.

The installed wheel and the packed npm package run its stories, which freeze the clock, read a code from the outbox
and see an approval through.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.compatibility.scripts import PACKAGES
from tests.documentation.blocks import blocks_of
from tests.support.hanging import PATIENCE_S
from tests.support.source_tree import ROOT

STORIES = {block.file: block.text for block in blocks_of(ROOT / "docs" / "testing.md") if block.file}
PINNED = ("vitest", "@turnkey/sdk-server")
"""What a reader installs from a registry."""


PATIENCE = ["--testTimeout=60000", "--hookTimeout=60000"]


def _run(installed: Path, *command: str) -> str:
    # Node is where `make test` put it, behind the commands of the wheel.
    path = os.pathsep.join([str(installed), str(Path(sys.executable).parent), os.environ["PATH"]])
    program = shutil.which(command[0], path=path)
    assert program is not None, f"there is no {command[0]}: `make test` installs one"
    environment = {**os.environ, "PATH": path, "HTTP_PROXY": "http://127.0.0.1:1"}
    done = subprocess.run(
        [program, *command[1:]], env=environment, capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_pytest_project(installed: Path, elsewhere: Path) -> None:
    Path("test_story.py").write_text(STORIES["test_story.py"])
    assert "1 passed" in _run(installed, "python", "-m", "pytest", "-p", "no:cacheprovider")


def test_a_vitest_project(installed: Path, elsewhere: Path) -> None:
    (packed,) = json.loads(_run(installed, "npm", "pack", "--json", str(ROOT / "packages" / "js")))
    Path("package.json").write_text("{}")
    _run(installed, "npm", "install", "--offline", "--no-audit", "--no-fund", f"./{packed['filename']}")
    for name in PINNED:
        assert (PACKAGES / name).is_dir(), f"{name} is not installed: `make test` does it"
        link = Path("node_modules") / name
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(PACKAGES / name)
    Path("story.test.mjs").write_text(STORIES["story.test.mjs"])
    told = json.loads(
        _run(installed, "node", "node_modules/vitest/vitest.mjs", "run", *PATIENCE, "--reporter=json")
    )
    assert told["numPassedTests"] == 1


def test_another_server_beside_them(installed: Path, elsewhere: Path) -> None:
    """`keystead dev --memory` in the background, and the commands of README that read it."""
    command = [str(installed / "keystead"), "dev", "--memory", "--port", "0", "--credentials", "keys.json"]
    with Path("log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as server:
        try:
            while not Path("keys.json").exists():
                assert server.poll() is None, Path("log").read_text()
            (line,) = [each for each in Path("log").read_text().splitlines() if each.startswith("curl ")]
            answer = _run(installed, "bash", "-c", f"unset HTTP_PROXY; {line}")
            assert '"walletName":"Development"' in answer
            assert "Development" in _run(installed, "keystead", "wallets", "--credentials", "keys.json")
        finally:
            server.terminate()
