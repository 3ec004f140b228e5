"""Published client kits in a real browser against a live server. The cases are in the scripts here."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from keystead.client.client import Client
from keystead.testing import DevelopmentServer
from tests.compatibility.live import Live
from tests.compatibility.scripts import drive
from tests.conftest import LiveServer
from tests.support.issuers import base64url

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
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        issuer = f"http://localhost:{probe.getsockname()[1]}"
    key = _private_jwk()
    file = tmp_path / "issuers.json"
    file.write_text(json.dumps({issuer: {"keys": [{name: key[name] for name in key if name != "d"}]}}))
    with keystead_server(oidc_keys_file=file) as server:
        environment = {"KEYSTEAD_ISSUER": issuer, "KEYSTEAD_ISSUER_KEY": json.dumps(key)}
        drive_in_browser("oidc.mjs", LiveServer(server), subtests, **environment)


def _private_jwk() -> dict[str, str]:
    private = ec.generate_private_key(ec.SECP256R1()).private_numbers()
    point = private.public_numbers
    numbers = {"x": point.x, "y": point.y, "d": private.private_value}
    members = {name: base64url(number.to_bytes(32)) for name, number in numbers.items()}
    return {"kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": "tests", **members}
