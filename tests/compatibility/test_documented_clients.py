"""Lines of docs/clients.md that connect published clients, as they stand, with the variables of `keystead env`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from keystead.cli.development.environment import client_settings
from keystead.testing import DevelopmentServer
from tests.compatibility.scripts import HERE, node
from tests.support.hanging import PATIENCE_S

PAGE = (Path(__file__).parents[2] / "docs" / "clients.md").read_text()
EXECUTED = re.findall(
    r"<!-- executed by tests/compatibility/test_documented_clients\.py -->\n```(\w+)\n(.*?)^```", PAGE, re.M | re.S
)


def test_both_languages_are_there() -> None:
    assert [language for language, _ in EXECUTED] == ["ts", "python"]


@pytest.mark.parametrize(("language", "lines"), EXECUTED, ids=[language for language, _ in EXECUTED])
def test_the_lines_connect(keystead: DevelopmentServer, language: str, lines: str) -> None:
    # The TypeScript of the page has no types: Node runs it as it stands, where the packages are installed.
    commands = {
        "ts": [node(), "--input-type=module", "--eval", lines],
        "python": [sys.executable, "-c", lines],
    }
    run = subprocess.run(
        commands[language],
        cwd=HERE,
        env=os.environ | client_settings(keystead.credentials),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert run.stdout.strip() == keystead.credentials.user_id, run.stderr
