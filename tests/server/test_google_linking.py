"""ID tokens of Google: they verify a user's e-mail address, and a login attaches them to who has verified it."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from keystead.organizations.contacts.contact_evidence import GOOGLE
from keystead.sessions.session_tokens import nonce_of
from keystead.stamps.signing import ApiKeyPair, generate_api_key
from tests.conftest import MakeDatabase
from tests.server.test_auth_proxy import ask, new_proxy
from tests.support.authorization_scenario import new_sub_organization
from tests.support.callers import SDK_FORM, Caller, answered, api_key_params, now_ms, refusal, unique
from tests.support.codes import Codes, outbox_of
from tests.support.issuers import AUDIENCE, ISSUER, Issuer, write_keys_file
from tests.support.organization_fixtures import mfa_policy_params, policy_params
from tests.support.servers import bootstrap_installation, running
from tests.support.sessions import attested, claims_of

pytestmark = pytest.mark.one_engine

GOOGLES = Issuer(GOOGLE)


@pytest.fixture(scope="module")
def codes(make_database: MakeDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Codes]:
    """A server that takes tokens of Google and of another issuer."""
    installation, folder = bootstrap_installation(make_database(), mode="dev"), tmp_path_factory.mktemp("google")
    keys = write_keys_file(folder / "issuers.json", GOOGLES, ISSUER)
    with running(installation, folder / "log", {"oidc_keys_file": str(keys)}) as server:
        yield Codes(server, server.caller, outbox_of(server))
    installation.database.close()


@pytest.fixture(scope="module")
def config_id(codes: Codes) -> str:
    return new_proxy(codes.caller, socialLinkingClientIds=[AUDIENCE])


def gmail() -> str:
    return f"ada-{secrets.token_hex(6)}@gmail.com"


def id_token(email: str, issuer: Issuer = GOOGLES, **claims: Any) -> str:
    named: dict[str, Any] = {"sub": unique("subject"), "email": email, "email_verified": True}
    return issuer.token(now_ms() // 1000, **(named | claims))


def provider(token: str) -> dict[str, Any]:
    return {"providerName": "google", "oidcToken": token}


def with_address(codes: Codes, address: str, *, is_verified: bool = False) -> Caller:
    user = new_sub_organization(codes.caller)
    asked = {"userId": user.user_id, "userEmail": address}
    asked |= {"verificationToken": codes.proven(address)} if is_verified else {}
    user.submitted("update_user_email", asked)
    return user


def is_verified(codes: Codes, address: str, user: Caller) -> bool:
    found = codes.caller.asked("list_verified_suborgs", filterType="EMAIL", filterValue=address)
    return user.organization_id in found["organizationIds"]


def providers_of(user: Caller) -> list[str]:
    """The subjects of the user's identities."""
    return [one["subject"] for one in user.asked("get_oauth_providers", userId=user.user_id)["oauthProviders"]]


# create_oauth_providers.

Token = Callable[[str], str]
PROVING: dict[str, tuple[Token, bool]] = {
    "of Google, for a client id of the application": (id_token, True),
    "of Google, for another application": (lambda email: id_token(email, aud="other"), False),
    "of Google, about another address": (lambda _: id_token(gmail()), False),
    "of Google, which has not verified the address": (lambda email: id_token(email, email_verified=False), False),
    "of another issuer": (lambda email: id_token(email, ISSUER), False),
}


@pytest.mark.parametrize("name", PROVING)
def test_an_attached_identity_verifies_the_address(codes: Codes, config_id: str, name: str) -> None:
    make, verifies = PROVING[name]
    address = gmail()
    user = with_address(codes, address)
    asked = {"userId": user.user_id, "oauthProviders": [provider(make(address))]}
    user.submitted("create_oauth_providers", asked)
    assert is_verified(codes, address, user) is verifies
    assert len(providers_of(user)) == 1


@pytest.mark.parametrize("name", PROVING)
def test_a_user_of_the_parent_attaches_identities_with_the_address_of_the_user(codes: Codes, name: str) -> None:
    make, _ = PROVING[name]
    address = gmail()
    user = with_address(codes, address)
    parent = codes.caller.with_key(codes.caller.key, codes.caller.user_id, user.organization_id)
    asked = {"userId": user.user_id, "oauthProviders": [provider(make(address.upper()))]}
    response = parent.submit("create_oauth_providers", asked, SDK_FORM)
    if name.startswith("of Google, for"):  # the parent vouches for the client id
        answered(response)
        assert is_verified(codes, address, user)
    else:
        status, message = refusal(response)
        assert (status, "may attach only identities of Google" in message) == (403, True), message
        assert providers_of(user) == []


def test_a_user_of_the_parent_attaches_no_bare_claims(codes: Codes) -> None:
    address = gmail()
    user = with_address(codes, address)
    parent = codes.caller.with_key(codes.caller.key, codes.caller.user_id, user.organization_id)
    token = id_token(address, sub="ada")
    claims = {"providerName": "more", "oidcClaims": {"iss": GOOGLE, "sub": "ada", "aud": "more"}}
    asked = {"userId": user.user_id, "oauthProviders": [provider(token), claims]}
    assert refusal(parent.submit("create_oauth_providers", asked, SDK_FORM))[0] == 403


def test_a_sign_up_with_google_verifies_the_address(codes: Codes) -> None:
    address = gmail()
    root = {"userName": "Ada", "userEmail": address, "apiKeys": [], "authenticators": []}
    roots: list[dict[str, Any]] = [root | {"oauthProviders": [provider(id_token(address))]}]
    other = {"userName": "Bob", "userEmail": gmail(), "apiKeys": [api_key_params(generate_api_key().public_key)]}
    roots.append(other | {"authenticators": [], "oauthProviders": []})
    asked = {"subOrganizationName": unique("sub"), "rootUsers": roots, "rootQuorumThreshold": 1}
    made = codes.caller.result("create_sub_organization", asked)["subOrganizationId"]
    for email, expected in ((address, [made]), (other["userEmail"], [])):
        found = codes.caller.asked("list_verified_suborgs", filterType="EMAIL", filterValue=email)
        assert found["organizationIds"] == expected


# Logins.


def attested_login(codes: Codes, key: ApiKeyPair, token: str, organization_id: str = "") -> httpx.Response:
    named = {"organizationId": organization_id} if organization_id else {}
    body = codes.caller.submit_body("stamp_login", {"publicKey": key.public_key}, **named)
    headers = attested(key, "OIDC", token, body) | SDK_FORM
    return codes.caller.http.post("/public/v1/submit/stamp_login", content=body, headers=headers)


def test_a_login_attaches_the_identity_to_who_has_verified_the_address(codes: Codes, config_id: str) -> None:
    address, subject = gmail(), unique("subject")
    user = with_address(codes, address, is_verified=True)
    with_address(codes, address)  # somebody else wrote the address down
    for named in ("", user.organization_id):
        key = generate_api_key()
        token = id_token(address, sub=subject, nonce=nonce_of(key.public_key))
        found = answered(ask(codes.caller, config_id, "account", filterType="OIDC_TOKEN", filterValue=token))
        assert found == {"organizationId": user.organization_id}
        session = answered(attested_login(codes, key, token, named))["activity"]["result"]["stampLoginResult"]
        claims = claims_of(codes.caller, session["session"])
        assert (claims["organization_id"], claims["user_id"]) == (user.organization_id, user.user_id)
        assert providers_of(user) == [subject]


def test_a_login_through_the_proxy_attaches_it_too(codes: Codes, config_id: str) -> None:
    address, key = gmail(), generate_api_key()
    user = with_address(codes, address, is_verified=True)
    token = id_token(address, nonce=nonce_of(key.public_key))
    session = answered(ask(codes.caller, config_id, "oauth_login", oidcToken=token, publicKey=key.public_key))
    assert claims_of(codes.caller, session["session"])["user_id"] == user.user_id


NOT_LINKED: dict[str, tuple[bool, Callable[[str, str], str]]] = {
    "an address that was only written down": (False, lambda email, nonce: id_token(email, nonce=nonce)),
    "a client id that is not named": (True, lambda email, nonce: id_token(email, nonce=nonce, aud="other")),
    "an address that Google has not verified": (
        True,
        lambda email, nonce: id_token(email, nonce=nonce, email_verified=False),
    ),
    "another issuer": (True, lambda email, nonce: id_token(email, ISSUER, nonce=nonce)),
    "a token for no key": (True, lambda email, _: id_token(email)),
    "a token for another key": (True, lambda email, _: id_token(email, nonce=nonce_of("02" + "11" * 32))),
}


@pytest.mark.parametrize("name", NOT_LINKED)
def test_logins_that_attach_nothing(codes: Codes, config_id: str, name: str) -> None:
    verified, make = NOT_LINKED[name]
    address, key = gmail(), generate_api_key()
    user = with_address(codes, address, is_verified=verified)
    token = make(address, nonce_of(key.public_key))
    assert refusal(attested_login(codes, key, token))[0] == 401
    through_the_proxy = ask(codes.caller, config_id, "oauth_login", oidcToken=token, publicKey=key.public_key)
    assert refusal(through_the_proxy)[0] in (400, 403, 404)
    assert providers_of(user) == []


def test_an_address_that_google_does_not_give_out_is_not_linked(codes: Codes, config_id: str) -> None:
    address, key = f"ada-{secrets.token_hex(6)}@example.com", generate_api_key()
    user = with_address(codes, address, is_verified=True)
    token = id_token(address, nonce=nonce_of(key.public_key))
    assert refusal(attested_login(codes, key, token))[0] == 401
    assert answered(ask(codes.caller, config_id, "account", filterType="OIDC_TOKEN", filterValue=token)) == {}
    assert providers_of(user) == []


def test_a_user_with_an_mfa_policy_is_not_linked(codes: Codes, config_id: str) -> None:
    """The identity would be one more way to log in, and the parent cannot give the user's proofs."""
    address, key = gmail(), generate_api_key()
    user = with_address(codes, address, is_verified=True)
    methods = [{"type": "AUTHENTICATION_TYPE_API_KEY"}]
    user.submitted("create_mfa_policy", mfa_policy_params(user.user_id, methods))
    token = id_token(address, nonce=nonce_of(key.public_key))
    status, message = refusal(attested_login(codes, key, token))
    assert (status, "an MFA policy of user" in message) == (403, True), message
    assert providers_of(user) == []


def test_a_user_is_not_linked_if_a_policy_counts_identities(codes: Codes, config_id: str) -> None:
    """The identity could approve what the policy is about, and the parent cannot give an approval that counts."""
    address, key = gmail(), generate_api_key()
    user = with_address(codes, address, is_verified=True)
    consensus = "credentials.any(c, c.type == 'CREDENTIAL_TYPE_OAUTH')"
    user.submitted("create_policy", policy_params(consensus=consensus, condition="activity.action == 'SIGN'"))
    token = id_token(address, nonce=nonce_of(key.public_key))
    status, message = refusal(attested_login(codes, key, token))
    assert (status, "would count the credential" in message) == (403, True), message
    assert providers_of(user) == []
