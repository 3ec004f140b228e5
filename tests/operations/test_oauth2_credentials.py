"""OAuth 2.0 credentials over HTTP, on both stores: kept, changed, used to log somebody in, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from keystead.sessions.compact_jwt import read_compact
from keystead.sessions.session_tokens import nonce_of
from tests.support import bundles
from tests.support.callers import Caller, answered, refusal, unique
from tests.support.oauth2_provider import BAD_CODE, SECRET, SILLY_CODE, UNREADABLE_CODE
from tests.support.organization_fixtures import UNKNOWN_IDS

NONCE = nonce_of("02" + "ab" * 32)


def installation_key(caller: Caller, name: str) -> bytes:
    keys = answered(caller.http.get("/installation-keys"))["keys"]
    return bytes.fromhex(next(key["publicKey"] for key in keys if key["name"] == name))


def encrypted(caller: Caller, secret: str = SECRET) -> str:
    return bundles.client_secret(secret.encode(), installation_key(caller, "client_secret_key"))


def new_credential(caller: Caller, provider: str = "X", secret: str = SECRET) -> tuple[str, str]:
    """The id, and the client id."""
    client_id = unique("client")
    asked = {
        "provider": f"OAUTH2_PROVIDER_{provider}",
        "clientId": client_id,
        "encryptedClientSecret": encrypted(caller, secret),
    }
    return caller.result("create_oauth2_credential", asked)["oauth2CredentialId"], client_id


def authentication(credential_id: str, **members: Any) -> dict[str, Any]:
    return {
        "oauth2CredentialId": credential_id,
        "authCode": unique("code").replace(" ", "-"),
        "redirectUri": "https://app.example/",
        "codeVerifier": "verifier",
        "nonce": NONCE,
    } | members


def test_kept_changed_and_forgotten(caller: Caller) -> None:
    credential_id, client_id = new_credential(caller)
    shown = caller.asked("get_oauth2_credential", oauth2CredentialId=credential_id)["oauth2Credential"]
    assert (shown["clientId"], shown["organizationId"]) == (client_id, caller.organization_id)
    assert shown in caller.asked("list_oauth2_credentials")["oauth2Credentials"]
    changed = {
        "oauth2CredentialId": credential_id,
        "provider": "OAUTH2_PROVIDER_DISCORD",
        "clientId": unique("client"),
        "encryptedClientSecret": encrypted(caller, "another"),
    }
    caller.result("update_oauth2_credential", changed)
    assert (
        caller.asked("get_oauth2_credential", oauth2CredentialId=credential_id)["oauth2Credential"] | changed
        == caller.asked("get_oauth2_credential", oauth2CredentialId=credential_id)["oauth2Credential"]
    )
    caller.result("delete_oauth2_credential", {"oauth2CredentialId": credential_id})
    assert caller.ask("get_oauth2_credential", oauth2CredentialId=credential_id).status_code == 404


@pytest.mark.parametrize(("provider", "prefix"), [("X", "x"), ("DISCORD", "discord")])
def test_a_code_becomes_a_token_that_this_server_takes(provider: str, prefix: str, caller: Caller) -> None:
    credential_id, client_id = new_credential(caller, provider)
    person = unique("person").replace(" ", "-")
    token = caller.result("oauth2_authenticate", authentication(credential_id, authCode=person))["oidcToken"]
    claims = json.loads(read_compact(token, characters_max=4096).payload)
    assert (claims["sub"], claims["aud"], claims["nonce"]) == (f"{prefix}:{person}", client_id, NONCE)
    assert claims["exp"] - claims["iat"] == 900
    user = caller.new_user()
    caller.result(
        "create_oauth_providers",
        {"userId": user.user_id, "oauthProviders": [{"providerName": provider, "oidcToken": token}]},
    )
    (held,) = caller.asked("get_oauth_providers", userId=user.user_id)["oauthProviders"]
    assert (held["subject"], held["issuer"]) == (claims["sub"], claims["iss"])


def test_the_bearer_token_is_for_the_client_alone(caller: Caller) -> None:
    credential_id, _ = new_credential(caller)
    client, code = bundles.fresh(), "somebody"
    asked = authentication(credential_id, authCode=code, bearerTokenTargetPublicKey=bundles.point(client).hex())
    token = caller.result("oauth2_authenticate", asked)["oidcToken"]
    claims = json.loads(read_compact(token, characters_max=4096).payload)
    encapped_and_ciphertext = claims["encrypted_bearer_token"]
    assert bundles.bundle_contents(encapped_and_ciphertext, client) == f"bearer {code}".encode()


def test_the_same_bytes_ask_the_provider_once(caller: Caller) -> None:
    """A provider takes a code once: the repetition is answered from the record."""
    credential_id, _ = new_credential(caller)
    body = caller.submit_body("oauth2_authenticate", authentication(credential_id))
    tokens = [
        answered(caller.post("/public/v1/submit/oauth2_authenticate", body, {"X-Client-Version": "t"}))["activity"][
            "result"
        ]
        for _ in range(2)
    ]
    assert tokens[0] == tokens[1]


def test_the_secret_is_nowhere_in_the_clear(caller: Caller) -> None:
    credential_id, _ = new_credential(caller, secret="planted-client-secret")
    shown = [
        caller.ask("get_oauth2_credential", oauth2CredentialId=credential_id).text,
        caller.ask("list_activities").text,
        caller.submit("oauth2_authenticate", authentication(credential_id)).text,
    ]
    assert not any("planted-client-secret" in text for text in shown)


REFUSED: dict[str, tuple[dict[str, Any], int, str]] = {
    "a code that the provider refuses": ({"authCode": BAD_CODE}, 400, "OAuth 2.0 authentication failed"),
    "a provider that tells of nobody": ({"authCode": SILLY_CODE}, 503, "its answer lacks the person's `id`"),
    "an access token that is not ASCII": ({"authCode": UNREADABLE_CODE}, 503, "lacks an `access_token` in ASCII"),
    "a credential that is not there": ({"oauth2CredentialId": UNKNOWN_IDS.policy_id}, 404, "OAuth 2.0 credential"),
    "a nonce that is not a digest": ({"nonce": "AB" * 32}, 400, "field `parameters.nonce`"),
    "a target that is not a key": (
        {"bearerTokenTargetPublicKey": "04"},
        400,
        "`parameters.bearerTokenTargetPublicKey`",
    ),
}


@pytest.mark.parametrize(("members", "status", "message"), REFUSED.values(), ids=REFUSED)
def test_refused(members: dict[str, Any], status: int, message: str, caller: Caller) -> None:
    credential_id, _ = new_credential(caller)
    answer = refusal(caller.submit("oauth2_authenticate", authentication(credential_id, **members)))
    assert answer[0] == status, answer
    assert message in answer[1]


def test_a_wrong_secret_is_refused_without_being_told(caller: Caller) -> None:
    credential_id, _ = new_credential(caller, secret="wrong-secret")
    status, message = refusal(caller.submit("oauth2_authenticate", authentication(credential_id)))
    assert (status, "wrong-secret" in message) == (400, False)


BAD_ENVELOPES: dict[str, str] = {
    "nothing": "",
    "too short": "00" * 40,
    "a length that is not the ciphertext's": "00" * 81 + "ff",
    "no point": "00" * 77 + "01000000" + "00",
    "to another key": bundles.client_secret(b"secret", bundles.point(bundles.fresh())),
    "no hex": "zz",
}


@pytest.mark.parametrize("envelope", BAD_ENVELOPES.values(), ids=BAD_ENVELOPES)
def test_secrets_that_do_not_open_are_refused_at_once(envelope: str, caller: Caller) -> None:
    asked = {"provider": "OAUTH2_PROVIDER_X", "clientId": "c", "encryptedClientSecret": envelope}
    status, message = refusal(caller.submit("create_oauth2_credential", asked))
    assert status == 400
    assert "parameters.encryptedClientSecret" in message


def test_one_credential_for_a_client(caller: Caller) -> None:
    _, client_id = new_credential(caller)
    asked = {
        "provider": "OAUTH2_PROVIDER_X",
        "clientId": client_id,
        "encryptedClientSecret": encrypted(caller),
    }
    assert refusal(caller.submit("create_oauth2_credential", asked))[0] == 409
