"""Published client kits in a real browser against a live server. The cases are in the scripts here."""

from __future__ import annotations

from pathlib import Path

import pytest

from keystead.client.client import Client
from tests.compatibility.live import Live
from tests.compatibility.scripts import drive

HERE = Path(__file__).parent


@pytest.mark.parametrize("script", ["passkeys.mjs", "sessions.mjs", "react.mjs", "example.mjs"])
def test_in_a_browser(script: str, live: Live, subtests: pytest.Subtests) -> None:
    with Client(live.base_url, live.api_public_key, live.api_private_key, live.organization_id) as client:
        [proxy] = client.query("list_auth_proxy_configs")["authProxyConfigs"]
    drive(str(HERE / script), "", live, subtests, KEYSTEAD_AUTH_PROXY_ID=proxy["configId"])
