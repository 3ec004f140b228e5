"""Approvals through the published TypeScript clients. The cases themselves are in consensus.mjs."""

from __future__ import annotations

import pytest

from tests.compatibility.live import Live
from tests.compatibility.scripts import drive


@pytest.mark.parametrize("client", ["sdk-server", "http", "http-functions"])
def test_consensus(client: str, live: Live, subtests: pytest.Subtests) -> None:
    drive("consensus.mjs", client, live, subtests)
