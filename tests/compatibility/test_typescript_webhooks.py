"""Webhooks, verified by the published verifier. The cases are in webhooks.mjs."""

from __future__ import annotations

import pytest

from tests.compatibility.live import Live
from tests.compatibility.scripts import drive


@pytest.mark.parametrize("client", ["sdk-server", "http"])
def test_webhooks(client: str, live: Live, subtests: pytest.Subtests) -> None:
    assert len(drive("webhooks.mjs", client, live, subtests)) == 6
