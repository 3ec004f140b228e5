"""`keystead auth-proxy` against a live server: what it prints, and what the proxy then does."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import httpx
import pytest

from keystead.client.credentials import ENVIRONMENT
from tests.support.callers import Caller, answered
from tests.support.servers import Server
from tests.support.terminal import Printed, Terminal

ORIGIN = "https://app.example"
NOBODY = "00000000-0000-7000-8000-000000000000"
Command = Callable[..., Printed]


def _as(caller: Caller, base_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    values = {
        "base_url": base_url,
        "organization_id": caller.organization_id,
        "api_public_key": caller.key.public_key,
        "api_private_key": caller.key.private_key,
    }
    for name, variable in ENVIRONMENT.items():
        monkeypatch.setenv(variable, values[name])


@pytest.fixture
def auth_proxy(sqlite_server: Server, terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Types `keystead auth-proxy …` as the root user."""
    _as(sqlite_server.caller, sqlite_server.base_url, monkeypatch)
    return lambda *words: terminal.run("auth-proxy", *words)


def created(printed: Printed) -> str:
    """The id that `create` prints."""
    assert printed.code == 0, printed.err
    return printed.out.splitlines()[0].split()[1]


def kit_config(server: Server, config_id: str, origin: str = ORIGIN) -> httpx.Response:
    headers = {"X-Auth-Proxy-Config-ID": config_id, "Origin": origin}
    return server.http.post("/auth-proxy/v1/wallet_kit_config", json={}, headers=headers)


def listed(auth_proxy: Command, config_id: str) -> dict[str, Any]:
    (found,) = [one for one in json.loads(auth_proxy("list", "--json").out) if one["configId"] == config_id]
    return dict(found)


def test_create_makes_a_proxy_that_answers(sqlite_server: Server, auth_proxy: Command) -> None:
    words = ["--origin", ORIGIN, "--origin", "http://localhost:3000", "--method", "email", "--method", "oauth"]
    words += ["--app-name", "Ada's", "--session-seconds", "3600", "--code-length", "7", "--digits"]
    words += ["--oauth-client", "google=client-1", "--redirect-url", f"{ORIGIN}/back"]
    printed = auth_proxy("create", *words)
    config_id = created(printed)
    assert printed.out.splitlines()[1].split() == ["base", "address", f"{sqlite_server.base_url}/auth-proxy"]
    assert answered(kit_config(sqlite_server, config_id)) == {
        "enabledProviders": ["email", "google"],
        "sessionExpirationSeconds": "3600",
        "organizationId": sqlite_server.caller.organization_id,
        "oauthClientIds": {"google": "client-1"},
        "oauthRedirectUrl": f"{ORIGIN}/back",
        "otpAlphanumeric": False,
        "otpLength": "7",
    }
    assert kit_config(sqlite_server, config_id, "http://localhost:3000").status_code == 200
    assert kit_config(sqlite_server, config_id, "https://evil.example").status_code == 403
    assert listed(auth_proxy, config_id)["appName"] == "Ada's"


def test_create_without_options_makes_one_that_no_page_may_call(sqlite_server: Server, auth_proxy: Command) -> None:
    config_id = created(auth_proxy("create"))
    assert kit_config(sqlite_server, config_id).status_code == 403
    lines = auth_proxy("list").out.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith(config_id))
    assert [line.split(None, 1) for line in lines[at + 1 : at + 3]] == [
        ["base", f"address  {sqlite_server.base_url}/auth-proxy"],
        ["origins", "none: no page may call"],
    ]


def test_update_changes_what_is_given_and_nothing_else(auth_proxy: Command) -> None:
    words = ["--origin", ORIGIN, "--method", "passkey", "--app-name", "Ada's", "--session-seconds", "3600"]
    config_id = created(auth_proxy("create", *words))
    before = listed(auth_proxy, config_id)
    printed = auth_proxy("update", config_id, "--session-seconds", "60", "--origin", "https://new.example")
    assert (printed.code, printed.out) == (0, f"updated {config_id}\n")
    after = listed(auth_proxy, config_id)
    changed = {name for name in after if after[name] != before[name]}
    assert changed == {"sessionExpirationSeconds", "allowedOrigins", "updatedAt"}
    assert (after["sessionExpirationSeconds"], after["allowedOrigins"]) == (60, ["https://new.example"])


def test_delete_removes_the_proxy(sqlite_server: Server, auth_proxy: Command) -> None:
    config_id = created(auth_proxy("create", "--origin", ORIGIN))
    assert auth_proxy("delete", config_id).out == f"deleted {config_id}\n"
    assert kit_config(sqlite_server, config_id).status_code == 404
    assert config_id not in auth_proxy("list").out


class Wrong(NamedTuple):
    name: str
    words: tuple[str, ...]
    told: str


WRONG = [
    Wrong("nothing to change", ("update", NOBODY), "nothing to change: give an option"),
    Wrong("an unknown proxy", ("update", NOBODY, "--app-name", "x"), "unable to find authentication proxy"),
    Wrong("an unknown proxy to delete", ("delete", NOBODY), "unable to find authentication proxy"),
    Wrong("an unknown login", ("create", "--method", "fax"), "'fax' is unknown: expected email or sms"),
    Wrong("a client without a provider", ("create", "--oauth-client", "123"), "expected PROVIDER=CLIENT_ID"),
    Wrong("a client without an id", ("create", "--oauth-client", "google="), "expected PROVIDER=CLIENT_ID"),
    Wrong("an origin with a path", ("create", "--origin", f"{ORIGIN}/x"), "allowedOrigins[0]"),
    Wrong("a short code", ("create", "--code-length", "5"), "otpLength"),
    Wrong("an endless session", ("create", "--session-seconds", "1000000000"), "sessionExpirationSeconds"),
]


@pytest.mark.parametrize("case", WRONG, ids=lambda case: case.name)
def test_what_is_refused_says_why_and_leaves_no_proxy(auth_proxy: Command, case: Wrong) -> None:
    before = auth_proxy("list", "--json").out
    printed = auth_proxy(*case.words)
    assert printed.code != 0
    assert case.told in " ".join(printed.err.replace("│", " ").split()), printed.err
    assert auth_proxy("list", "--json").out == before


def test_a_user_without_the_right_is_told(
    sqlite_server: Server, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    _as(sqlite_server.caller.new_user(), sqlite_server.base_url, monkeypatch)
    printed = terminal.run("auth-proxy", "create", "--origin", ORIGIN)
    assert (printed.code, printed.out) == (1, "")
    assert printed.err
