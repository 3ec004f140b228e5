"""Published client kits in a real browser against a live server. The cases are in the scripts here."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.compatibility.live import Live
from tests.compatibility.scripts import drive

HERE = Path(__file__).parent


@pytest.mark.parametrize("script", ["passkeys.mjs"])
def test_in_a_browser(script: str, live: Live, subtests: pytest.Subtests) -> None:
    drive(str(HERE / script), "", live, subtests)
