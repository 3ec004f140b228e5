"""The keys of development servers are published: in production nobody may register one, in any way."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from keystead.api.enums import ApiKeyCurve, WalletAuthenticatorType
from keystead.api.errors import InvalidRequest
from keystead.chains.wallet_claims import wallet_claim
from keystead.client.shapes import ApiKeyParamsV2, RootUserParamsV6
from keystead.organizations.lookups import Lookup, LookupKind, wallet_lookup_value
from keystead.server.development.published import PUBLISHED_SEED, published_keys
from keystead.server.development.seeding import seeded_source
from keystead.stamps.signing import generate_api_key
from keystead.testing import DevelopmentServer
from tests.support.callers import api_key_params, refusal, unique, user_params
from tests.support.servers import Server
from tests.support.terminal import Terminal

KEY = seeded_source(PUBLISHED_SEED).api_key.public_key
WALLET_KEY = "038318535b54105d4a7aae60c08fc45f9687181b4fdfc625bd1a753fa7397fed75"
"""The first account of the wallet "Development", as other programs derive it from the public mnemonic."""

pytestmark = pytest.mark.one_engine


def key_of_curve(public_key: str) -> dict[str, Any]:
    curve = "SECP256K1" if public_key == WALLET_KEY else "P256"
    return api_key_params(public_key, curveType=f"API_KEY_CURVE_{curve}")


WAYS: dict[str, Any] = {
    "create_api_keys": lambda caller, key: {"userId": caller.user_id, "apiKeys": [key_of_curve(key)]},
    "create_users": lambda _, key: {"users": [user_params("") | {"apiKeys": [key_of_curve(key)]}]},
    "create_sub_organization": lambda _, key: {
        "subOrganizationName": unique("sub"),
        "rootUsers": [
            {"userName": "Ada", "apiKeys": [key_of_curve(key)], "authenticators": [], "oauthProviders": []}
        ],
        "rootQuorumThreshold": 1,
    },
    "stamp_login": lambda _, key: {"publicKey": key},
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("key", [KEY, KEY.upper(), WALLET_KEY], ids=["key", "in capital letters", "of the wallet"])
def test_production_registers_no_published_key(way: str, key: str, sqlite_server: Server) -> None:
    caller = sqlite_server.caller
    if way == "stamp_login" and key == WALLET_KEY:
        return  # a session has a P-256 key
    before = caller.asked("list_users")
    status, message = refusal(caller.submit(way, WAYS[way](caller, key)))
    assert status == 400, message
    assert "published" in message
    assert caller.asked("list_users") == before


def test_no_installation_begins_with_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    terminal = Terminal(monkeypatch, capsys)
    url = f"sqlite:///{tmp_path / 'keystead.db'}"
    options = ["--database-url", url, "--organization-name", "Example", "--master-key-file", str(tmp_path / "key")]
    printed = terminal.run("init", *options, "--api-public-key", KEY)
    assert (printed.code, "published" in printed.err) == (1, True), printed
    own = generate_api_key().public_key
    assert terminal.run("init", *options, "--api-public-key", own).code == 0


def test_a_development_server_registers_them(keystead: DevelopmentServer) -> None:
    """Applications give their own key to the users of sub-organizations."""
    assert keystead.credentials.api_public_key == KEY
    made = keystead.client.create_sub_organization(
        sub_organization_name=unique("sub"),
        root_users=[
            RootUserParamsV6(
                user_name="Ada",
                api_keys=(ApiKeyParamsV2(api_key_name="own", public_key=KEY, curve_type=ApiKeyCurve.P256),),
                authenticators=(),
                oauth_providers=(),
            )
        ],
        root_quorum_threshold=1,
    )
    assert made.sub_organization_id


def test_a_wallet_of_the_public_mnemonic_logs_nobody_in() -> None:
    published = asyncio.run(published_keys())
    address = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
    for held in (address, address.lower()):
        claim = wallet_claim(WalletAuthenticatorType.ETHEREUM, held, "app.example")
        with pytest.raises(InvalidRequest, match="published"):
            published.check([Lookup(LookupKind.WALLET, wallet_lookup_value(claim), "user")])
    published.check([Lookup(LookupKind.USER_NAME, KEY, "user")])
