"""Running the scripts beside this one, which drive published TypeScript packages against a live server.

A script reports a JSON line per case, {case, error, …}; here they come back, each with no error.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.compatibility.live import Live
from tests.support.hanging import PATIENCE_S

HERE = Path(__file__).parent
PACKAGES = HERE.parent / "node_modules"
"""Where `make test` installs what tests/package.json names."""

"""How long a script may run before it counts as hanging. Scripts are slow while other tests use the machine."""


def drive(
    script: str, client: str, live: Live, subtests: pytest.Subtests, **environment: str
) -> list[dict[str, Any]]:
    """What `script` reports of the cases over one published client."""
    credentials = {
        "KEYSTEAD_BASE_URL": live.base_url,
        "KEYSTEAD_ORGANIZATION_ID": live.organization_id,
        "KEYSTEAD_USER_ID": live.user_id,
        "KEYSTEAD_API_PUBLIC_KEY": live.api_public_key,
        "KEYSTEAD_API_PRIVATE_KEY": live.api_private_key,
    }
    driven = subprocess.run(
        [node(), HERE / script, client],
        env={**os.environ, **credentials, **environment},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert driven.returncode == 0, driven.stderr
    lines: list[dict[str, Any]] = [json.loads(line) for line in driven.stdout.splitlines()]
    assert lines, driven.stderr
    for line in lines:
        with subtests.test(line["case"]):
            assert line["error"] is None, line["error"]
    return lines


def node() -> str:
    """The Node that `make test` chose: the one it put beside this Python, or else the machine's own."""
    assert PACKAGES.is_dir(), f"{PACKAGES.parent}/package.json is not installed: `make test` does it"
    found = shutil.which("node", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    assert found is not None, "there is no Node: `make test` installs one"
    return found
