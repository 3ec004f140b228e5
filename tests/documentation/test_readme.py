"""README's first minute: its commands and programs, one after the other, as somebody does who pastes them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from keystead.client.credentials import Credentials, credentials_in
from tests.compatibility.scripts import PACKAGES, node
from tests.support.hanging import PATIENCE_S

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMANDS = [
    line.strip()
    for block in re.findall(r"(?<=\n\n)(?: {4}\S.*\n)+", FENCED.sub("", README))
    for line in block.splitlines()
]
"""The lines of the indented blocks."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("readme")


@pytest.fixture(scope="module")
def started(folder: Path) -> Iterator[Credentials]:
    """`make run` in this repository, which is installed already, with a free port and a folder of its own."""
    assert COMMANDS[0] == "make run"
    settled = [f"--assume-old={name}" for name in (".venv/.installed", ".venv/.compiled")]
    binaries = f"BIN={Path(sys.executable).parent}"
    command = ["make", *settled, "run", "PORT=0", f"DATA={folder / '.keystead'}", binaries]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log, start_new_session=True)
    try:
        yield _ready(process, folder)
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()


def _ready(process: subprocess.Popen[bytes], folder: Path) -> Credentials:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        printed = (folder / "log").read_text()
        assert process.poll() is None, printed
        assert time.monotonic() < deadline, printed
        if "curl -sS" in printed:
            credentials = credentials_in(folder / ".keystead" / "credentials.json")
            assert (
                httpx.get(f"{credentials.base_url}/readyz", trust_env=False, timeout=PATIENCE_S).status_code
                == httpx.codes.OK
            )
            return credentials
        time.sleep(0.02)


def _block(language: str) -> str:
    """The one block of a language."""
    (text,) = [text for word, text in FENCED.findall(README) if word == language]
    return str(text)


def test_the_curl_line_that_it_prints(started: Credentials, folder: Path) -> None:
    (line,) = [each for each in (folder / "log").read_text().splitlines() if each.startswith("curl ")]
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=PATIENCE_S)
    assert '"walletName":"Development"' in done.stdout, done.stderr


def test_the_places_of_the_console_that_it_names() -> None:
    (paragraph,) = [text for text in README.split("\n\n") if text.startswith("Its first lines are a link.")]
    places = re.findall(r"\*\*(.+?)\*\*", paragraph)
    screen = (ROOT / "src/keystead/console/static/screens/development.js").read_text()
    assert [f'"{place}"' in screen for place in places] == [True, True]


def test_the_first_call_from_typescript(started: Credentials, folder: Path) -> None:
    assert "Save it as `.keystead/try/wallets.mts`" in README
    tried = folder / ".keystead" / "try"
    tried.mkdir(exist_ok=True)
    (tried / "wallets.mjs").write_text(_block("ts"))  # it has no types, so it is JavaScript, too
    (tried / "node_modules").symlink_to(PACKAGES)
    done = subprocess.run([node(), "wallets.mjs"], cwd=tried, capture_output=True, text=True, timeout=PATIENCE_S)
    assert "walletName: 'Development'" in done.stdout, done.stderr


def test_the_first_test(folder: Path) -> None:
    assert "Save it as\n`.keystead/try/test_wallets.py`" in README
    (folder / ".keystead" / "try").mkdir(parents=True, exist_ok=True)
    (folder / ".keystead" / "try" / "test_wallets.py").write_text(_block("python"))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", ".keystead/try/test_wallets.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE_S)
    assert "1 passed" in done.stdout, done.stdout


def test_the_commands_of_the_example_are_those_of_its_package() -> None:
    """tests/browser/example.mjs starts the same page and logs in."""
    assert COMMANDS[1:] == ["cd examples/people-log-in", "npm install", "npm start"]
    assert '"start"' in (ROOT / "examples" / "people-log-in" / "package.json").read_text()
