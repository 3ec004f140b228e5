"""Wallets of published libraries that sign up and log in through an authentication proxy of a live server.

The steps are in wallet_logins.mjs. They are those of the newest kit, of which no package is published yet.
"""

from __future__ import annotations

import pytest

from keystead.client import Client
from tests.compatibility.live import Live
from tests.compatibility.scripts import drive


def test_wallets_of_viem_and_solana(live: Live, subtests: pytest.Subtests) -> None:
    with Client(live.base_url, live.api_public_key, live.api_private_key, live.organization_id) as client:
        proxy_id = client.enable_auth_proxy().result.user_id
        client.update_auth_proxy_config(config_id=proxy_id, allowed_origins=["http://localhost:3000"])
    lines = drive("wallet_logins.mjs", "http", live, subtests, KEYSTEAD_PROXY_ID=proxy_id)
    assert [line["case"] for line in lines] == ["ethereum", "solana"]
