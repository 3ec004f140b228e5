"""Published client kits in a real browser against a live server. The cases are in the scripts here."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from keystead.client.client import Client
from keystead.testing import DevelopmentServer
from tests.browser.issuer import IssuerOnThisMachine
from tests.compatibility.live import Live
from tests.compatibility.scripts import drive
from tests.conftest import LiveServer

HERE = Path(__file__).parent


def drive_in_browser(script: str, live: Live, subtests: pytest.Subtests, **environment: str) -> None:
    with Client(live.base_url, live.api_public_key, live.api_private_key, live.organization_id) as client:
        [proxy] = client.query("list_auth_proxy_configs")["authProxyConfigs"]
    drive(str(HERE / script), "", live, subtests, KEYSTEAD_AUTH_PROXY_ID=proxy["configId"], **environment)


@pytest.mark.parametrize("subject", ["passkeys", "sessions", "codes", "mfa", "react", "example"])
def test_in_a_browser(subject: str, live: Live, subtests: pytest.Subtests) -> None:
    drive_in_browser(f"{subject}.mjs", live, subtests)


def test_a_provider_on_this_machine(
    keystead_server: Callable[..., AbstractContextManager[DevelopmentServer]],
    tmp_path: Path,
    subtests: pytest.Subtests,
) -> None:
    issuer = IssuerOnThisMachine(tmp_path)
    with keystead_server(oidc_keys_file=issuer.keys_file) as server:
        drive_in_browser("oidc.mjs", LiveServer(server), subtests, **issuer.environment)
