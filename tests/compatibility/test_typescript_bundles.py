"""Imports and exports with the published TypeScript clients' own cryptography. The cases are in bundles.mjs."""

from __future__ import annotations

import pytest

from tests.compatibility.live import Live
from tests.compatibility.scripts import drive


@pytest.mark.parametrize("client", ["sdk-server", "http", "http-functions"])
def test_bundles(client: str, live: Live, subtests: pytest.Subtests) -> None:
    assert len(drive("bundles.mjs", client, live, subtests)) == 10
