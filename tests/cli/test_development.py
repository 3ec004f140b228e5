"""`keystead dev`, run as a developer runs it: its issuers, and the authentication proxy that it prints."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import httpx

from keystead.sessions.session_tokens import nonce_of
from keystead.stamps.signing import generate_api_key
from tests.support.callers import answered, refusal
from tests.support.commands import run_keystead
from tests.support.dev_servers import dev_banner
from tests.support.hanging import PATIENCE_S
from tests.support.issuer_server import issuer_on_this_machine
from tests.support.issuers import Issuer


def proxy_of(printed: str) -> tuple[str, str]:
    """The id and the base address of the authentication proxy in the banner."""
    found = re.search(r"auth proxy +(\S+)\n +(\S+)\n", printed)
    assert found is not None, printed
    return found[1], found[2]


def ask(printed: str, endpoint: str, **body: object) -> httpx.Response:
    config_id, address = proxy_of(printed)
    headers = {"X-Auth-Proxy-Config-ID": config_id, "Origin": "http://localhost:3000"}
    return httpx.post(f"{address}/v1/{endpoint}", json=body, headers=headers, timeout=PATIENCE_S)


def signed_up(printed: str, issuer: Issuer, subject: str) -> httpx.Response:
    provider = {"providerName": "local", "oidcToken": issuer.token(int(time.time()), sub=subject)}
    members = {"userName": subject, "apiKeys": [], "authenticators": [], "oauthProviders": [provider]}
    return ask(printed, "signup_v2", **members)


def test_the_proxy_in_the_banner_serves_any_page(tmp_path: Path) -> None:
    """Also after a restart: it is the same one."""
    with dev_banner(tmp_path / "data") as first:
        assert answered(ask(first, "wallet_kit_config"))["organizationId"] in first
    with dev_banner(tmp_path / "data") as again:
        assert proxy_of(again)[0] == proxy_of(first)[0]
        assert ask(again, "wallet_kit_config").status_code == 200


def test_issuers_that_are_asked_for_their_keys(tmp_path: Path) -> None:
    """A token of the issuer that `--oidc-issuers` names signs somebody up and logs them in; another's does not."""
    with issuer_on_this_machine() as issuer, issuer_on_this_machine() as stranger:
        options = ("--oidc-issuers", f"https://nobody.example,{issuer.url}", "--quiet")
        with dev_banner(tmp_path / "data", *options) as printed:
            organization_id = answered(signed_up(printed, issuer, "ada"))["organizationId"]
            key = generate_api_key().public_key
            token = issuer.token(int(time.time()), sub="ada", nonce=nonce_of(key))
            session = answered(ask(printed, "oauth_login", oidcToken=token, publicKey=key))["session"]
            assert session.count(".") == 2
            found = ask(printed, "account", filterType="OIDC_TOKEN", filterValue=token)
            assert answered(found) == {"organizationId": organization_id}
            status, message = refusal(signed_up(printed, stranger, "eve"))
            assert (status, "this server does not accept issuer" in message) == (400, True), message
    credentials = json.loads((tmp_path / "data" / "credentials.json").read_text())
    assert credentials["organizationId"] in printed


def test_a_malformed_list_of_issuers_keeps_it_from_starting(tmp_path: Path) -> None:
    options = ("--port", "0", "--data", tmp_path / "data", "--oidc-issuers", "http://issuer.example")
    refused = run_keystead("dev", *options)
    assert refused.returncode == 1
    assert "KEYSTEAD_OIDC_ISSUERS" in refused.stderr
