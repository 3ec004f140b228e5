"""Attacks on whose credential it is, over HTTP on both stores: another's key, passkey or identity in one's own
sub-organization, which would make its owner's look-ups ambiguous or lead them to the attacker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from keystead.stamps.signing import generate_api_key
from tests.server.test_auth_proxy import ask, new_proxy, sign_up
from tests.support.authorization_scenario import new_sub_organization
from tests.support.callers import Caller, api_key_params, now_ms, refusal, unique, user_params
from tests.support.example_users import provider_by_claims, provider_by_token
from tests.support.issuers import ISSUER
from tests.support.passkeys import SoftPasskey

Attack = Callable[[Caller, Any], tuple[str, dict[str, Any]]]


def user_with(attacker: Caller, **members: Any) -> tuple[str, dict[str, Any]]:
    return "create_users", {"users": [user_params(generate_api_key().public_key) | members]}


WITH_A_KEY: dict[str, Attack] = {
    "create_api_keys": lambda attacker, key: (
        "create_api_keys",
        {"userId": attacker.user_id, "apiKeys": [api_key_params(key)]},
    ),
    "create_api_keys, spelled otherwise": lambda attacker, key: (
        "create_api_keys",
        {"userId": attacker.user_id, "apiKeys": [api_key_params(f"0x{key.upper()}")]},
    ),
    "create_users": lambda attacker, key: user_with(attacker, apiKeys=[api_key_params(key)]),
}


@pytest.mark.parametrize("attack", WITH_A_KEY.values(), ids=WITH_A_KEY)
def test_the_key_of_a_sibling_sub_organization_is_not_taken(attack: Attack, caller: Caller) -> None:
    owner, attacker = new_sub_organization(caller), new_sub_organization(caller)
    operation, parameters = attack(attacker, owner.key.public_key)
    response = attacker.submit(operation, parameters)
    status, message = refusal(response)
    assert (status, response.json()["details"][0]["turnkeyErrorCode"]) == (400, "CREDENTIAL_CONFLICT")
    assert f"credential {owner.key.public_key} is held in another sub-organization" in message
    by_parent = owner.with_key(owner.key, organization_id=caller.organization_id)
    assert by_parent.asked("whoami")["organizationId"] == owner.organization_id


AT_THE_PARENT: dict[str, Attack] = {
    **WITH_A_KEY,
    "stamp_login": lambda attacker, key: ("stamp_login", {"publicKey": key}),
}


@pytest.mark.parametrize("attack", AT_THE_PARENT.values(), ids=AT_THE_PARENT)
def test_a_user_of_the_parent_does_not_take_the_key_of_a_sub_organization(attack: Attack, caller: Caller) -> None:
    """Whose owner logs in at the parent, and would be logged in as that user of the parent."""
    owner = new_sub_organization(caller)
    operation, parameters = attack(caller, owner.key.public_key)
    status, message = refusal(caller.submit(operation, parameters))
    held = f"credential {owner.key.public_key} is held in another sub-organization"
    assert (status, held in message) == (400, True)
    by_parent = owner.with_key(owner.key, organization_id=caller.organization_id)
    assert by_parent.asked("whoami")["organizationId"] == owner.organization_id


WITH_A_PASSKEY: dict[str, Attack] = {
    "create_authenticators": lambda attacker, passkey: (
        "create_authenticators",
        {"userId": attacker.user_id, "authenticators": [passkey]},
    ),
    "create_users": lambda attacker, passkey: user_with(attacker, authenticators=[passkey]),
}


def respelled(text: str) -> str:
    """Another text of the same bytes: the bits of the last character that no byte has are not zero."""
    last = _ALPHABET.index(text[-1])
    return text[:-1] + _ALPHABET[last ^ 1]


_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

SPELLINGS: dict[str, Callable[[str], str]] = {
    "as it is": lambda text: text,
    "with padding": lambda text: f"{text}=",
    "with other bits at the end": respelled,
}


@pytest.mark.parametrize("spelled", SPELLINGS.values(), ids=SPELLINGS)
@pytest.mark.parametrize("attack", WITH_A_PASSKEY.values(), ids=WITH_A_PASSKEY)
def test_the_credential_id_of_a_sibling_sub_organization_is_not_taken(
    attack: Attack, spelled: Callable[[str], str], caller: Caller
) -> None:
    """The attacker's own key under the owner's credential id: attestation `none` proves neither."""
    owner, attacker = new_sub_organization(caller), new_sub_organization(caller)
    passkey = SoftPasskey()
    owner.result("create_authenticators", {"userId": owner.user_id, "authenticators": [passkey.params()]})
    forged = SoftPasskey(credential_id=passkey.credential_id).params()
    forged["attestation"]["credentialId"] = spelled(forged["attestation"]["credentialId"])
    operation, parameters = attack(attacker, forged)
    response = attacker.submit(operation, parameters)
    assert response.status_code == 400, response.text
    assert response.json()["details"][0]["turnkeyErrorCode"] == "CREDENTIAL_CONFLICT"
    body = owner.with_key(owner.key, organization_id=caller.organization_id).query_body()
    answer = owner.http.post("/public/v1/query/whoami", content=body, headers=passkey.stamp(body))
    assert answer.json()["organizationId"] == owner.organization_id


def test_nobody_signs_up_with_anothers_credential(caller: Caller) -> None:
    """The parent does not know the people that a proxy signs up, so it gives nobody another's key."""
    owner, passkey = new_sub_organization(caller), SoftPasskey()
    owner.result("create_authenticators", {"userId": owner.user_id, "authenticators": [passkey.params()]})
    forged = SoftPasskey(credential_id=passkey.credential_id).params()
    forged["attestation"]["credentialId"] = respelled(forged["attestation"]["credentialId"])
    config_id = new_proxy(caller)
    attacks: tuple[dict[str, Any], ...] = (
        {"apiKeys": [api_key_params(owner.key.public_key)]},
        {"apiKeys": [api_key_params(f"0x{owner.key.public_key.upper()}")]},
        {"authenticators": [forged]},
    )
    for credentials in attacks:
        for endpoint in ("signup", "signup_v2"):
            response = ask(caller, config_id, endpoint, **sign_up(**credentials))
            assert response.status_code == 400, response.text
            assert response.json()["details"][0]["turnkeyErrorCode"] == "CREDENTIAL_CONFLICT"
    by_parent = owner.with_key(owner.key, organization_id=caller.organization_id)
    assert by_parent.asked("whoami")["organizationId"] == owner.organization_id


def test_nobody_signs_up_with_anothers_id_token(caller: Caller) -> None:
    """Which is on record, where users of the parent read it. Its owner's next login would find two accounts."""
    config_id, provider = new_proxy(caller, allowedAuthMethods=["oauth"]), provider_by_token(unique("subject"))
    owner = ask(caller, config_id, "signup", **sign_up(oauthProviders=[provider])).json()["organizationId"]
    key = api_key_params(generate_api_key().public_key)
    for claimed in ([], [key]):
        stolen = sign_up(apiKeys=claimed, oauthProviders=[provider])
        status, message = refusal(ask(caller, config_id, "signup", **stolen))
        assert (status, "is held in another sub-organization" in message) == (400, True), message
    asked = {"filterType": "OIDC_TOKEN", "filterValue": provider["oidcToken"]}
    assert ask(caller, config_id, "account", **asked).json()["organizationId"] == owner


def test_a_parents_user_may_give_one_key_to_two_sub_organizations(caller: Caller) -> None:
    first = new_sub_organization(caller)
    second = new_sub_organization(caller, rootUsers=[root_user(first.key.public_key)])
    for place in (first, second):
        there = first.with_key(first.key, organization_id=place.organization_id)
        assert there.asked("whoami")["organizationId"] == place.organization_id


def root_user(public_key: str, **members: Any) -> dict[str, Any]:
    return {name: value for name, value in user_params(public_key).items() if name != "userTags"} | members


def test_a_key_that_its_holder_has_given_up_is_taken(caller: Caller) -> None:
    owner, other = new_sub_organization(caller), new_sub_organization(caller)
    key = generate_api_key().public_key
    (key_id,) = owner.result("create_api_keys", {"userId": owner.user_id, "apiKeys": [api_key_params(key)]})[
        "apiKeyIds"
    ]
    owner.submitted("delete_api_keys", {"userId": owner.user_id, "apiKeyIds": [key_id]})
    other.submitted("create_api_keys", {"userId": other.user_id, "apiKeys": [api_key_params(key)]})


WITH_CLAIMS: dict[str, Attack] = {
    "create_oauth_providers": lambda attacker, provider: (
        "create_oauth_providers",
        {"userId": attacker.user_id, "oauthProviders": [provider]},
    ),
    "create_oauth_providers, beside one's own token": lambda attacker, provider: (
        "create_oauth_providers",
        {"userId": attacker.user_id, "oauthProviders": [provider_by_token(), provider]},
    ),
    "create_users": lambda attacker, provider: user_with(attacker, oauthProviders=[provider]),
}


@pytest.mark.parametrize("attack", WITH_CLAIMS.values(), ids=WITH_CLAIMS)
def test_anothers_identity_by_bare_claims_is_not_attached(attack: Attack, caller: Caller) -> None:
    """The genuine owner's first token must not find the attacker's organization."""
    attacker, subject = new_sub_organization(caller), unique("subject")
    operation, parameters = attack(attacker, provider_by_claims(subject))
    response = attacker.submit(operation, parameters)
    assert response.status_code == 400, response.text
    assert response.json()["details"][0]["turnkeyErrorCode"] == "INVALID_OIDC_TOKEN"
    token = provider_by_token(subject)["oidcToken"]
    for audience_token in (token, ISSUER.token(now_ms() // 1000, sub=subject, aud="another-client")):
        found = caller.asked("list_suborgs", filterType="OIDC_TOKEN", filterValue=audience_token)
        assert found["organizationIds"] == []


def test_a_parents_user_names_the_identities_of_a_sub_organization_it_makes(caller: Caller) -> None:
    subject = unique("subject")
    user = root_user(generate_api_key().public_key, oauthProviders=[provider_by_claims(subject)])
    sub = new_sub_organization(caller, rootUsers=[user])
    token = ISSUER.token(now_ms() // 1000, sub=subject, aud="another-client")
    found = caller.asked("list_suborgs", filterType="OIDC_TOKEN", filterValue=token)
    assert found["organizationIds"] == [sub.organization_id]
