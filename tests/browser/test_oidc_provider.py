"""Logins against a real OpenID Connect provider (npm oidc-provider), which runs on this machine.

People sign up and log in with its ID tokens, and OAuth 2.0 logins ask it who somebody is. Its keys change; its
tokens are for others, expired, replayed, signed with a shared secret or not at all; it goes away.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import socket
import subprocess
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from keystead.api.errors import InvalidRequest, Unavailable
from keystead.identities.discovery import CACHED_MAX_S, CACHED_MIN_S, PAUSE_S, Discovery
from keystead.identities.issuers import KnownIssuers
from keystead.organizations.credentials.identities import ProvenIdentity
from keystead.sessions.session_tokens import nonce_of
from keystead.stamps.signing import generate_api_key
from tests.compatibility.scripts import node
from tests.conftest import MakeDatabase
from tests.support import bundles
from tests.support.callers import Caller, answered, refusal, unique
from tests.support.hanging import PATIENCE_S
from tests.support.servers import Server, bootstrap_installation, running

SCRIPT = Path(__file__).parent / "oidc_provider.mjs"
REDIRECT_URI = "https://app.example/callback"
SECRET = "a client secret of thirty-two characters"
ORIGIN = "https://app.example"


class Provider:
    """The provider on a port that it keeps when it is started again."""

    def __init__(self) -> None:
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self.port = found.getsockname()[1]
        self.issuer = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[str] | None = None

    def start(self, key_number: int = 1) -> None:
        """With the signing key of this number."""
        self.stop()
        self._process = subprocess.Popen(
            [node(), str(SCRIPT), str(self.port), str(key_number), REDIRECT_URI],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self._process.stdout is not None
        assert any(line.startswith("ready") for line in self._process.stdout), "the provider did not start"

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def authorized(self, person: str, client_id: str = "app", nonce: str = "n") -> tuple[str, str]:
        """An authorization code for a client, as the browser of this person gets it; and the code verifier."""
        verifier = secrets.token_urlsafe(48)
        asked = {
            "client_id": client_id,
            "response_type": "code",
            "scope": "openid",
            "redirect_uri": REDIRECT_URI,
            "nonce": nonce,
            "login_hint": person,
            "code_challenge": urlsafe_b64encode(sha256(verifier.encode()).digest()).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
        }
        with httpx.Client(base_url=self.issuer, timeout=PATIENCE_S) as browser:
            answer = browser.get("/auth", params=asked)
            while not answer.headers["location"].startswith(REDIRECT_URI):
                answer = browser.get(answer.headers["location"])
        return parse_qs(urlsplit(answer.headers["location"]).query)["code"][0], verifier

    def token(self, person: str, client_id: str = "app", nonce: str = "n") -> str:
        """An ID token about this person."""
        code, verifier = self.authorized(person, client_id, nonce)
        asked = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": REDIRECT_URI,
            "code_verifier": verifier,
        }
        with httpx.Client(
            base_url=self.issuer, auth=(client_id, SECRET.replace(" ", "+")), timeout=PATIENCE_S
        ) as client:
            token: str = answered(client.post("/token", data=asked))["id_token"]
        return token


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    made = Provider()
    made.start()
    yield made
    made.stop()


class Clock:
    """The time of day, and the seconds of a monotonic clock that tests move."""

    def __init__(self) -> None:
        self.seconds = 1_000.0

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000


class Asking:
    """The issuers of a server that asks the provider."""

    def __init__(self, provider: Provider) -> None:
        self.clock = Clock()
        discovery = Discovery([provider.issuer], monotonic=lambda: self.clock.seconds)
        self.known = KnownIssuers(self.clock, discovery=discovery)
        self._loop = asyncio.new_event_loop()

    def proven(self, token: str) -> ProvenIdentity:
        return self._loop.run_until_complete(self.known.verify_token(token, "token"))

    def refusal(self, token: str) -> str:
        with pytest.raises(InvalidRequest) as refused:
            self.proven(token)
        return refused.value.message

    def close(self) -> None:
        self._loop.close()


@contextmanager
def asking(provider: Provider) -> Iterator[Asking]:
    made = Asking(provider)
    yield made
    made.close()


def altered(token: str, header: dict[str, Any] | None = None, claims: dict[str, Any] | None = None) -> str:
    """The token with other members, its signature as it was."""
    first, second, signature = token.split(".")
    return f"{_with(first, header)}.{_with(second, claims)}.{signature}"


def _with(part: str, members: dict[str, Any] | None) -> str:
    if members is None:
        return part
    read = json.loads(urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return urlsafe_b64encode(json.dumps(read | members).encode()).rstrip(b"=").decode()


def test_a_token_proves_who_somebody_is(provider: Provider) -> None:
    with asking(provider) as server:
        proven = server.proven(provider.token("ada", nonce="of a key"))
    assert proven == ProvenIdentity(
        iss=provider.issuer, sub="ada", aud="app", nonces=("of a key",), email="ada@example.com"
    )


def test_new_keys_are_fetched_when_a_token_names_one(provider: Provider) -> None:
    with asking(provider) as server:
        before = provider.token("ada")
        server.proven(before)
        provider.start(key_number=2)
        try:
            after = provider.token("ada")
            assert "no such key" in server.refusal(after), "the keys were fetched moments ago"
            server.clock.seconds += CACHED_MIN_S
            assert server.proven(after).sub == "ada"
            assert "no such key" in server.refusal(before), "a key that was taken back proves nothing"
        finally:
            provider.start()


def test_a_provider_that_is_down(provider: Provider) -> None:
    with asking(provider) as server:
        token = provider.token("ada")
        provider.stop()
        try:
            with pytest.raises(Unavailable, match="it cannot be reached"):
                server.proven(token)
            provider.start()
            server.clock.seconds += PAUSE_S
            assert server.proven(token).sub == "ada"
            provider.stop()
            assert server.proven(token).sub == "ada", "its keys are kept"
            server.clock.seconds += CACHED_MAX_S
            with pytest.raises(Unavailable):
                server.proven(token)
        finally:
            provider.start()


def test_an_expired_token(provider: Provider) -> None:
    with asking(provider) as server:
        token = provider.token("ada", "short-lived")
        expires_s = json.loads(urlsafe_b64decode(token.split(".")[1] + "=="))["exp"]
        time.sleep(max(0.0, expires_s - time.time()) + 0.01)
        assert "expired" in server.refusal(token)


REFUSED: dict[str, tuple[Callable[[Provider], str], str]] = {
    "signed with the client's secret": (lambda provider: provider.token("ada", "shared-secret"), "'HS256'"),
    "of another algorithm": (lambda provider: altered(provider.token("ada"), {"alg": "HS256"}), "'HS256'"),
    "not signed": (lambda provider: altered(provider.token("ada"), {"alg": "none"}), "'none'"),
    "without a signature": (
        lambda provider: altered(provider.token("ada"), {"alg": "none"}).rpartition(".")[0] + ".",
        "expected a JWT",
    ),
    "about somebody else": (
        lambda provider: altered(provider.token("ada"), claims={"sub": "eve"}),
        "the signature is not the issuer's",
    ),
    "of another issuer": (
        lambda provider: altered(provider.token("ada"), claims={"iss": "http://127.0.0.1:1"}),
        "this server does not accept issuer",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_tokens_that_prove_nothing(name: str, provider: Provider) -> None:
    made, why = REFUSED[name]
    with asking(provider) as server:
        assert why in server.refusal(made(provider))


# Over HTTP.


@pytest.fixture(scope="module")
def server(
    provider: Provider, make_database: MakeDatabase, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    installation = bootstrap_installation(make_database())
    settings = {
        "oidc_issuers": provider.issuer,
        "oauth2_x_exchange_url": f"{provider.issuer}/token",
        "oauth2_x_user_url": f"{provider.issuer}/me",
    }
    with running(installation, tmp_path_factory.mktemp("oidc") / "log", settings) as made:
        yield made
    installation.database.close()


@pytest.fixture(scope="module")
def config_id(server: Server) -> str:
    """The id of the configuration of an authentication proxy for the client `app`."""
    made: str = server.caller.result("enable_auth_proxy", {})["userId"]
    kit = {"oauthClientIds": {"local": "app"}}
    changed = {"configId": made, "allowedOrigins": [ORIGIN], "walletKitSettings": kit}
    server.caller.result("update_auth_proxy_config", changed)
    return made


def ask(server: Server, config_id: str, endpoint: str, **body: Any) -> httpx.Response:
    headers = {"X-Auth-Proxy-Config-ID": config_id, "Origin": ORIGIN}
    return server.http.post(f"/auth-proxy/v1/{endpoint}", json=body, headers=headers)


def signed_up(server: Server, config_id: str, token: str) -> str:
    """The sub-organization that somebody makes with this token."""
    asked = {
        "userName": unique("user"),
        "apiKeys": [],
        "authenticators": [],
        "oauthProviders": [{"providerName": "local", "oidcToken": token}],
    }
    made: str = answered(ask(server, config_id, "signup_v2", **asked))["organizationId"]
    return made


def session_key() -> str:
    return generate_api_key().public_key


def person() -> str:
    return f"person-{secrets.token_hex(4)}"


def test_sign_up_and_log_in(server: Server, config_id: str, provider: Provider) -> None:
    who, key = person(), session_key()
    organization_id = signed_up(server, config_id, provider.token(who))
    found = ask(server, config_id, "account", filterType="OIDC_TOKEN", filterValue=provider.token(who))
    assert answered(found) == {"organizationId": organization_id}
    token = provider.token(who, nonce=nonce_of(key))
    session = answered(ask(server, config_id, "oauth_login", oidcToken=token, publicKey=key))["session"]
    claims = json.loads(urlsafe_b64decode(session.split(".")[1] + "=="))
    assert (claims["organization_id"], claims["public_key"]) == (organization_id, key)


def test_a_token_is_not_replayed_with_another_key(server: Server, config_id: str, provider: Provider) -> None:
    who, key = person(), session_key()
    signed_up(server, config_id, provider.token(who))
    token = provider.token(who, nonce=nonce_of(key))
    refused = ask(server, config_id, "oauth_login", oidcToken=token, publicKey=session_key())
    status, message = refusal(refused)
    assert status in (400, 401)
    assert "nonce" in message


def test_a_token_of_another_application(server: Server, config_id: str, provider: Provider) -> None:
    who, key = person(), session_key()
    signed_up(server, config_id, provider.token(who))
    token = provider.token(who, "other-app", nonce_of(key))
    refused = refusal(ask(server, config_id, "oauth_login", oidcToken=token, publicKey=key))
    assert refused[0] == 400
    assert "its audience is not a client id of this application" in refused[1]
    everyone = server.caller.result("enable_auth_proxy", {})["userId"]
    server.caller.result("update_auth_proxy_config", {"configId": everyone, "allowedOrigins": [ORIGIN]})
    unknown = ask(server, everyone, "oauth_login", oidcToken=token, publicKey=key)
    assert unknown.status_code in (400, 401, 403, 404), "the audience is a part of who somebody is"


def test_a_person_nobody_knows(server: Server, config_id: str, provider: Provider) -> None:
    key = session_key()
    token = provider.token(person(), nonce=nonce_of(key))
    assert answered(ask(server, config_id, "account", filterType="OIDC_TOKEN", filterValue=token)) == {}
    assert ask(server, config_id, "oauth_login", oidcToken=token, publicKey=key).status_code >= 400


def new_credential(caller: Caller) -> str:
    """An OAuth 2.0 credential at the provider."""
    keys = answered(caller.http.get("/installation-keys"))["keys"]
    receiver = bytes.fromhex(next(key["publicKey"] for key in keys if key["name"] == "client_secret_key"))
    (known,) = caller.asked("list_oauth2_credentials")["oauth2Credentials"] or [None]
    if known is not None:
        return str(known["oauth2CredentialId"])
    asked = {
        "provider": "OAUTH2_PROVIDER_X",
        "clientId": "app",
        "encryptedClientSecret": bundles.client_secret(SECRET.encode(), receiver),
    }
    return str(caller.result("create_oauth2_credential", asked)["oauth2CredentialId"])


def test_log_in_with_a_code(server: Server, config_id: str, provider: Provider) -> None:
    """The provider as one that issues no ID tokens: this server's own logs the person in."""
    new_credential(server.caller)
    who, key = person(), session_key()

    def exchanged() -> str:
        code, verifier = provider.authorized(who)
        asked = {
            "provider": "OAUTH2_PROVIDER_X",
            "authCode": code,
            "redirectUri": REDIRECT_URI,
            "codeVerifier": verifier,
            "nonce": nonce_of(key),
            "clientId": "app",
        }
        token: str = answered(ask(server, config_id, "oauth2_authenticate", **asked))["oidcToken"]
        return token

    organization_id = signed_up(server, config_id, exchanged())
    session = answered(ask(server, config_id, "oauth_login", oidcToken=exchanged(), publicKey=key))["session"]
    assert json.loads(urlsafe_b64decode(session.split(".")[1] + "=="))["organization_id"] == organization_id


def test_codes_that_the_provider_refuses(server: Server, provider: Provider) -> None:
    credential_id = new_credential(server.caller)
    code, verifier = provider.authorized(person())
    asked = {
        "oauth2CredentialId": credential_id,
        "authCode": code,
        "redirectUri": REDIRECT_URI,
        "codeVerifier": verifier,
        "nonce": nonce_of(session_key()),
    }
    wrong = [
        asked | {"codeVerifier": "x" * 48},
        asked | {"redirectUri": "https://evil.example/"},
        asked | {"authCode": "made-up"},
    ]
    for parameters in wrong:
        status, message = refusal(server.caller.submit("oauth2_authenticate", parameters))
        assert (status, message.partition(":")[0]) == (400, "OAuth 2.0 authentication failed")
