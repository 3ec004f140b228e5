"""Making a client: from arguments, the environment, a file; and what never shows."""

from __future__ import annotations

import asyncio
import json
import traceback
from pathlib import Path
from typing import Any

import httpx
import pytest

import keystead
from keystead import (
    ApiKeyStamper,
    AsyncClient,
    CallbackStamper,
    Client,
    ConnectionFailed,
    Retries,
    StampScheme,
    UsageError,
    generate_api_key,
)
from keystead.api import enums
from keystead.api.enums import ApiKeyCurve
from keystead.client.credentials import Credentials
from tests.conftest import LiveServer
from tests.support.stub_server import BASE_URL, KEY, ORGANIZATION

Kind = type[Client] | type[AsyncClient]
either = pytest.mark.parametrize("kind", [Client, AsyncClient])

ENVIRONMENT = {
    "KEYSTEAD_BASE_URL": BASE_URL,
    "KEYSTEAD_API_PUBLIC_KEY": KEY.public_key,
    "KEYSTEAD_API_PRIVATE_KEY": KEY.private_key,
    "KEYSTEAD_ORGANIZATION_ID": ORGANIZATION,
}
FILE = {
    "baseUrl": BASE_URL,
    "organizationId": ORGANIZATION,
    "userId": "u",
    "apiPublicKey": KEY.public_key,
    "apiPrivateKey": KEY.private_key,
}


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for variable, value in ENVIRONMENT.items():
        monkeypatch.setenv(variable, value)
    return monkeypatch


def stamps_with(made: Client | AsyncClient, public_key: str) -> bool:
    return public_key in repr(made) and made.prepare("query/whoami", {}).body != b""


@either
def test_from_the_environment(kind: Kind, environment: pytest.MonkeyPatch) -> None:
    made = kind.from_env(timeout=3)
    assert (made.base_url, made.organization_id) == (BASE_URL, ORGANIZATION)
    assert stamps_with(made, KEY.public_key)


@either
def test_an_incomplete_environment(kind: Kind, environment: pytest.MonkeyPatch) -> None:
    environment.delenv("KEYSTEAD_BASE_URL")
    environment.setenv("KEYSTEAD_ORGANIZATION_ID", "")
    with pytest.raises(UsageError, match="KEYSTEAD_BASE_URL, KEYSTEAD_ORGANIZATION_ID"):
        kind.from_env()


@either
def test_from_a_file(kind: Kind, tmp_path: Path) -> None:
    file = tmp_path / "credentials.json"
    file.write_text(json.dumps({**FILE, "later": 1}))
    made = kind.from_credentials(file)
    assert (made.base_url, made.organization_id) == (BASE_URL, ORGANIZATION)
    assert stamps_with(kind.from_credentials(str(file)), KEY.public_key)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "No such file"),
        ("", "is not JSON"),
        (json.dumps({**FILE, "apiPrivateKey": 7}), "apiPrivateKey"),
        (json.dumps({name: value for name, value in FILE.items() if name != "apiPublicKey"}), "apiPublicKey"),
        (json.dumps([KEY.private_key]), "Expected `object`"),
        ('{"apiPrivateKey": "' + KEY.private_key, "is not JSON"),
        (json.dumps({**FILE, "baseUrl": "nonsense"}), "base_url: expected a URL"),
        (json.dumps({**FILE, "apiPrivateKey": KEY.private_key + "00"}), "32 bytes"),
    ],
)
def test_an_invalid_credentials_file_is_refused(tmp_path: Path, text: str | None, says: str) -> None:
    file = tmp_path / "credentials.json"
    if text is not None:
        file.write_text(text)
    with pytest.raises(UsageError, match=says) as raised:
        Client.from_credentials(file)
    assert str(file) in str(raised.value)
    assert KEY.private_key not in "".join(traceback.format_exception(raised.value))


@either
def test_curves(kind: Kind, environment: pytest.MonkeyPatch) -> None:
    key = generate_api_key(ApiKeyCurve.ED25519)
    environment.setenv("KEYSTEAD_API_PUBLIC_KEY", key.public_key)
    environment.setenv("KEYSTEAD_API_PRIVATE_KEY", key.private_key)
    assert stamps_with(kind.from_env(curve=ApiKeyCurve.ED25519), key.public_key)
    with pytest.raises(UsageError, match="33 bytes"):
        kind.from_env()


OTHER_KEY = generate_api_key(seed=b"another")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"base_url": "localhost:8080"}, "base_url: expected a URL"),
        ({"base_url": "ftp://localhost"}, "base_url: expected a URL"),
        ({"base_url": "http://"}, "base_url: expected a URL"),
        ({"base_url": "http://u:hidden@localhost"}, "without user, password"),
        ({"base_url": "http://localhost?x=1"}, "query and fragment"),
        ({"base_url": "http://localhost:port"}, "base_url is not a valid URL"),
        ({"base_url": "http://[::1"}, "base_url is not a valid URL"),
        ({"organization_id": ""}, "organization_id is missing"),
        ({"api_public_key": "zz"}, "not hex"),
        ({"api_private_key": "zz"}, "not hex"),
        ({"api_private_key": KEY.private_key + "00"}, "32 bytes"),
        ({"api_private_key": OTHER_KEY.private_key}, "does not belong"),
        ({"api_private_key": ""}, "both halves"),
        ({"stamper": ApiKeyStamper(KEY.public_key, KEY.private_key)}, "not both"),
    ],
)
def test_invalid_arguments_are_refused(arguments: dict[str, Any], says: str) -> None:
    given = {
        "base_url": BASE_URL,
        "api_public_key": KEY.public_key,
        "api_private_key": KEY.private_key,
        "organization_id": ORGANIZATION,
        **arguments,
    }
    with pytest.raises(UsageError, match=says) as raised:
        Client(**given)
    shown = "".join(traceback.format_exception(raised.value))
    assert "hidden" not in shown
    assert all(key.private_key not in shown for key in (KEY, OTHER_KEY))


@either
def test_secrets_are_in_no_repr(kind: Kind) -> None:
    made = kind(BASE_URL, KEY.public_key, KEY.private_key, ORGANIZATION)
    credentials = Credentials(
        base_url=BASE_URL,
        organization_id=ORGANIZATION,
        api_public_key=KEY.public_key,
        api_private_key=KEY.private_key,
    )
    prepared = made.prepare("query/whoami", {})
    for shown in (made, credentials, prepared, vars(made), KEY):
        assert KEY.private_key not in repr(shown)
    settings = f"base_url={BASE_URL!r}, organization_id={ORGANIZATION!r}, api_public_key={KEY.public_key!r}"
    assert repr(made) == f"{kind.__name__}({settings})"


def test_a_stamper_of_ones_own_may_hide_everything() -> None:
    class Secretive:
        pin = "4711"

        def stamp(self, body: bytes) -> tuple[str, str]:
            return "X-Stamp-WebAuthn", "{}"

        def __repr__(self) -> str:
            return self.pin

    made = Client(BASE_URL, organization_id=ORGANIZATION, stamper=Secretive())
    assert "4711" not in repr(made)
    assert made.prepare("query/whoami", {}).headers["X-Stamp-WebAuthn"] == "{}"


def test_what_a_device_raises_passes_through() -> None:
    def broken(_: bytes) -> bytes:
        raise ConnectionResetError("the HSM hung up")

    stamper = CallbackStamper(KEY.public_key, StampScheme.API_P256, broken)
    made = Client(BASE_URL, organization_id=ORGANIZATION, stamper=stamper)
    with pytest.raises(ConnectionResetError, match="hung up"):
        made.whoami()


def test_closing() -> None:
    with Client(BASE_URL, KEY.public_key, KEY.private_key, ORGANIZATION) as own:
        pass
    with pytest.raises(RuntimeError, match="closed"):
        own.whoami()
    with httpx.Client() as theirs:
        with Client(BASE_URL, KEY.public_key, KEY.private_key, ORGANIZATION, http_client=theirs):
            pass
        assert not theirs.is_closed


def test_closing_async() -> None:
    async def use() -> None:
        async with AsyncClient(BASE_URL, KEY.public_key, KEY.private_key, ORGANIZATION) as own:
            pass
        with pytest.raises(RuntimeError, match="closed"):
            await own.whoami()
        async with httpx.AsyncClient() as theirs:
            async with AsyncClient(BASE_URL, KEY.public_key, KEY.private_key, ORGANIZATION, http_client=theirs):
                pass
            assert not theirs.is_closed

    asyncio.run(use())


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "ALL_PROXY"])
def test_a_proxy_of_the_environment_is_not_used_for_this_machine(
    variable: str, live: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "http://127.0.0.1:9")  # where nothing listens
    keys = (live.api_public_key, live.api_private_key, live.organization_id)
    for host in ("localhost", "127.0.0.1"):
        base_url = live.base_url.replace("localhost", host)
        with Client(base_url, *keys, retries=Retries(tries=1)) as client:
            assert client.whoami().organization_id == live.organization_id

        async def asked(base_url: str = base_url) -> str:
            async with AsyncClient(base_url, *keys, retries=Retries(tries=1)) as client:
                return (await client.whoami()).organization_id

        assert asyncio.run(asked()) == live.organization_id
    elsewhere = Client("http://keystead.test", *keys, retries=Retries(tries=1))
    with pytest.raises(ConnectionFailed):
        elsewhere.whoami()


def test_every_enumeration_of_the_wire_can_be_imported_from_the_package() -> None:
    kinds = [kind for kind in vars(enums).values() if isinstance(kind, type)]
    names = [kind.__name__ for kind in kinds if kind.__module__ == enums.__name__]
    assert names
    for name in names:
        assert getattr(keystead, name) is getattr(enums, name)
        assert name in keystead.__all__
