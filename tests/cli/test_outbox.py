"""`keystead outbox` and the plugin's `keystead.outbox`: what a development server kept in place of sending it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager

from keystead.testing import DevelopmentServer
from tests.support.example_codes import an_address, code_params


def test_the_outbox_shows_what_was_kept(
    keystead_server: Callable[..., AbstractContextManager[DevelopmentServer]],
) -> None:
    address = an_address()
    with keystead_server() as server:
        server.client.request("submit/init_otp", {"parameters": code_params(address)})
        code = server.outbox.code(address)
        credentials = server.credentials
        environment = {
            **os.environ,
            "KEYSTEAD_BASE_URL": server.base_url,
            "KEYSTEAD_ORGANIZATION_ID": credentials.organization_id,
            "KEYSTEAD_API_PUBLIC_KEY": credentials.api_public_key,
            "KEYSTEAD_API_PRIVATE_KEY": credentials.api_private_key,
        }

        def shown(*options: str) -> str:
            command = [sys.executable, "-m", "keystead", "outbox", *options]
            return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

        assert f"email to {address}" in shown()
        assert code in shown()
        (kept,) = [json.loads(line) for line in shown("--json").splitlines()]
        assert kept["message"]["secret"] == code
