"""Imports and exports with the published TypeScript clients' own cryptography. The cases are in bundles.mjs."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from tests.clients.live import Live
from tests.clients.test_typescript import HERE, node


@pytest.mark.parametrize("client", ["sdk-server", "http", "http-functions"])
def test_bundles(client: str, live: Live, subtests: pytest.Subtests) -> None:
    environment = {
        "KEYSTEAD_BASE_URL": live.base_url,
        "KEYSTEAD_ORGANIZATION_ID": live.organization_id,
        "KEYSTEAD_USER_ID": live.user_id,
        "KEYSTEAD_API_PUBLIC_KEY": live.api_public_key,
        "KEYSTEAD_API_PRIVATE_KEY": live.api_private_key,
    }
    driven = subprocess.run(
        [node(), HERE / "bundles.mjs", client],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert driven.returncode == 0, driven.stderr
    lines = [json.loads(line) for line in driven.stdout.splitlines()]
    assert len(lines) == 9, driven.stderr
    for line in lines:
        with subtests.test(line["case"]):
            assert line["error"] is None, line["error"]
