"""The published TypeScript clients against a live server. The cases themselves are in drive.mjs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.clients.live import Live
from tests.clients.passkey import new_passkey

HERE = Path(__file__).parent


@pytest.mark.parametrize("client", ["sdk-server", "http", "http-functions"])
def test_published_client(client: str, live: Live, subtests: pytest.Subtests) -> None:
    environment = {
        "KEYSTEAD_BASE_URL": live.base_url,
        "KEYSTEAD_ORGANIZATION_ID": live.organization_id,
        "KEYSTEAD_API_PUBLIC_KEY": live.api_public_key,
        "KEYSTEAD_API_PRIVATE_KEY": live.api_private_key,
        "KEYSTEAD_PASSKEY": json.dumps(new_passkey()),
    }
    driven = subprocess.run(
        [node(), HERE / "drive.mjs", client],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert driven.returncode == 0, driven.stderr
    lines = [json.loads(line) for line in driven.stdout.splitlines()]
    assert lines, driven.stderr
    for line in lines:
        with subtests.test(line["case"]):
            assert line["error"] is None, line["error"]


def node() -> str:
    """The Node that `make test` chose: the one it put beside this Python, or else the machine's own."""
    assert (HERE / "node_modules").is_dir(), "the published clients are not installed: `make test` does it"
    found = shutil.which("node", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    assert found is not None, "there is no Node: `make test` installs one"
    return found
