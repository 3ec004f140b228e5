"""The published TypeScript clients against a live server. The cases themselves are in drive.mjs."""

from __future__ import annotations

import json
import time

import pytest

from tests.compatibility.live import Live
from tests.compatibility.passkey import new_passkey
from tests.compatibility.scripts import drive
from tests.support.issuers import ISSUER


@pytest.mark.parametrize("client", ["sdk-server", "http", "http-functions"])
def test_published_client(client: str, live: Live, subtests: pytest.Subtests) -> None:
    drive(
        "drive.mjs",
        client,
        live,
        subtests,
        KEYSTEAD_PASSKEY=json.dumps(new_passkey()),
        KEYSTEAD_OIDC_TOKEN=ISSUER.token(int(time.time()), sub=f"user of {client}"),
    )
