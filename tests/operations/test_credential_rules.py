"""API keys, passkeys, OAuth identities: what may be added and taken away, from whom, and what must stay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from keystead.api.errors import ServiceError
from keystead.organizations.limits import Limits
from tests.support.approval_flows import new_user
from tests.support.issuers import ISSUER
from tests.support.organization_harness import START_MS, OrganizationHarness, Person, public_key
from tests.support.passkeys import SoftPasskey

LIMITS = Limits(
    authenticators_per_user=2,
    long_lived_api_keys_per_user=2,
    expiring_api_keys_per_user=2,
    oauth_providers_per_user=2,
)
NOBODY = "00000000-0000-7000-8000-ffffffffffff"


def harness() -> OrganizationHarness:
    """Ana has a key and a passkey, Ben a key alone."""
    return OrganizationHarness("Root", Person("Ana", passkey=True), "Ben", root=["Root"], limits=LIMITS)


def key(label: str = "further", **members: Any) -> dict[str, Any]:
    return {"apiKeyName": label, "publicKey": public_key(label), "curveType": "API_KEY_CURVE_P256"} | members


def provider(subject: str = "s") -> dict[str, Any]:
    return {"providerName": "p", "oidcToken": ISSUER.token(START_MS // 1000, "EdDSA", sub=subject)}


def by_claims(subject: str = "s", issuer: str = ISSUER.url) -> dict[str, Any]:
    return {"providerName": "p", "oidcClaims": {"iss": issuer, "sub": subject, "aud": "another"}}


def token(people: OrganizationHarness, **claims: Any) -> str:
    return ISSUER.token(people.clock.ms // 1000, **claims)


Asked = Callable[[OrganizationHarness], dict[str, Any]]


def keys(*params: dict[str, Any], who: str = "Ben") -> Asked:
    return lambda c: {"userId": c.user_ids[who], "apiKeys": list(params)}


def passkeys(*params: dict[str, Any], who: str = "Ben") -> Asked:
    return lambda c: {"userId": c.user_ids[who], "authenticators": list(params)}


def providers(*params: dict[str, Any], who: str = "Ben") -> Asked:
    return lambda c: {"userId": c.user_ids[who], "oauthProviders": list(params)}


def own_keys(c: OrganizationHarness, who: str) -> list[str]:
    return [one.api_key_id for one in c.user(who).api_keys]


SAME = SoftPasskey().params()
FORGED = SoftPasskey().params() | {"challenge": "another"}

REFUSED: dict[str, tuple[str, Asked, int, str]] = {
    "no such user": (
        "create_api_keys",
        lambda c: {"userId": NOBODY, "apiKeys": [key()]},
        404,
        "unable to find user",
    ),
    "no key": ("create_api_keys", keys(), 400, "apiKeys"),
    "a key of one's own": ("create_api_keys", keys(key("Ben")), 400, "already an API key"),
    "a key of another": ("create_api_keys", keys(key("Ana")), 400, "already an API key"),
    "a key in other letters": (
        "create_api_keys",
        keys(key(publicKey=public_key("Ana").upper())),
        400,
        "already an API key",
    ),
    "twice the same": ("create_api_keys", keys(key("x"), key("x")), 400, "already an API key"),
    "not compressed": ("create_api_keys", keys(key(publicKey="04" + "ab" * 64)), 400, "apiKeys[0].publicKey"),
    "of another curve's length": (
        "create_api_keys",
        keys(key("x"), key(curveType="API_KEY_CURVE_ED25519")),
        400,
        "apiKeys[1].publicKey",
    ),
    "no hex": ("create_api_keys", keys(key(publicKey="02" + "zz" * 32)), 400, "invalid api public key"),
    "never valid": ("create_api_keys", keys(key(expirationSeconds="0")), 400, "invalid api key expiration"),
    "negative": ("create_api_keys", keys(key(expirationSeconds="-1")), 400, "invalid api key expiration"),
    "fractions": ("create_api_keys", keys(key(expirationSeconds="1.5")), 400, "invalid api key expiration"),
    "for ages": ("create_api_keys", keys(key(expirationSeconds="9" * 12)), 400, "invalid api key expiration"),
    "too many lasting": ("create_api_keys", keys(key("x"), key("y")), 429, "maximum long-lived api keys: 2"),
    "another's key": (
        "delete_api_keys",
        lambda c: {"userId": c.user_ids["Ben"], "apiKeyIds": own_keys(c, "Ana")},
        404,
        "unable to find API key",
    ),
    "the last credential": (
        "delete_api_keys",
        lambda c: {"userId": c.user_ids["Ben"], "apiKeyIds": own_keys(c, "Ben")},
        400,
        "user missing valid credential",
    ),
    "the root user's last": (
        "delete_api_keys",
        lambda c: {"userId": c.user_ids["Root"], "apiKeyIds": own_keys(c, "Root")},
        400,
        "user missing valid credential",
    ),
    "an attestation for another challenge": (
        "create_authenticators",
        passkeys(FORGED),
        400,
        "authenticators[0].attestation",
    ),
    "twice the same passkey": ("create_authenticators", passkeys(SAME, SAME), 400, "is already an authenticator"),
    "too many passkeys": (
        "create_authenticators",
        passkeys(SoftPasskey().params(), SoftPasskey().params(), who="Ana"),
        429,
        "maximum authenticators: 2",
    ),
    "no such passkey": (
        "delete_authenticators",
        lambda c: {"userId": c.user_ids["Ana"], "authenticatorIds": [NOBODY]},
        404,
        "unable to find authenticator",
    ),
    "no token": (
        "create_oauth_providers",
        providers(provider(), {"providerName": "p", "oidcToken": "a.b.c"}),
        400,
        "invalid OIDC token: field `parameters.oauthProviders[1].oidcToken`: header",
    ),
    "token and claims": (
        "create_oauth_providers",
        lambda c: providers(by_claims() | {"oidcToken": token(c)})(c),
        400,
        "expected either `oidcToken` or `oidcClaims`",
    ),
    "an expired token": (
        "create_oauth_providers",
        lambda c: providers({"providerName": "p", "oidcToken": token(c, exp=1)})(c),
        400,
        "oauthProviders[0].oidcToken`: expired",
    ),
    "twice the same token": (
        "create_oauth_providers",
        lambda c: providers(*[{"providerName": "p", "oidcToken": token(c)}] * 2)(c),
        409,
        "oauth provider already exists",
    ),
    "claims that nothing proves": (
        "create_oauth_providers",
        providers(by_claims()),
        400,
        "invalid OIDC claims: field `parameters.oauthProviders[0].oidcClaims`: nothing proves them",
    ),
    "claims beside a token of another subject": (
        "create_oauth_providers",
        providers(by_claims("eve"), provider("ada")),
        400,
        "oauthProviders[0].oidcClaims`: nothing proves them",
    ),
    "claims of another issuer beside a token": (
        "create_oauth_providers",
        providers(provider("ada"), by_claims("ada", "https://other.example")),
        400,
        "oauthProviders[1].oidcClaims`: nothing proves them",
    ),
    "a user by claims beside another user's token": (
        "create_users",
        lambda c: {"users": [new_user(c) | {"oauthProviders": [one]} for one in (provider(), by_claims())]},
        400,
        "users[1].oauthProviders[0].oidcClaims`: nothing proves them",
    ),
    "neither token nor claims": (
        "create_oauth_providers",
        providers({"providerName": "p"}),
        400,
        "expected either `oidcToken` or `oidcClaims`",
    ),
    "twice the same identity": (
        "create_oauth_providers",
        providers(provider(), provider()),
        409,
        "oauth provider already exists",
    ),
    "too many identities": (
        "create_oauth_providers",
        providers(provider("1"), provider("2"), provider("3")),
        429,
        "maximum oauth providers: 2",
    ),
    "no such identity": (
        "delete_oauth_providers",
        lambda c: {"userId": c.user_ids["Ben"], "providerIds": [NOBODY]},
        404,
        "unable to find OAuth provider",
    ),
}


@pytest.mark.parametrize(("name", "asked", "status", "why"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(name: str, asked: Asked, status: int, why: str) -> None:
    people = harness()
    before = people.organization
    with pytest.raises(ServiceError) as refused:
        people.submit("Root", name, asked(people))
    assert refused.value.http_status == status
    assert why in refused.value.message
    assert people.organization is before
    assert people.activities() == []


OTHERS = {
    "create_api_keys": keys(key(), who="Ana"),
    "create_authenticators": passkeys(SAME, who="Ana"),
    "create_oauth_providers": providers(provider(), who="Ana"),
    "delete_api_keys": lambda c: {"userId": c.user_ids["Ana"], "apiKeyIds": own_keys(c, "Ana")},
}


@pytest.mark.parametrize(("name", "asked"), OTHERS.items(), ids=OTHERS.keys())
def test_ones_own_without_policy_others_not(name: str, asked: Asked) -> None:
    people = harness()
    with pytest.raises(ServiceError) as denied:
        people.submit("Ben", name, asked(people))
    assert denied.value.http_status == 403
    people.result("Ana", name, asked(people))


def test_a_key_comes_and_goes() -> None:
    people = harness()
    made = people.result("Root", "create_api_keys", keys(key("x", expirationSeconds="060"))(people))
    held = people.user("Ben").api_keys[-1]
    assert [held.api_key_id] == made["apiKeyIds"]
    assert (held.expiration_seconds, held.expires_at_ms) == ("60", people.clock.ms + 60_000)
    gone = {"userId": people.user_ids["Ben"], "apiKeyIds": made["apiKeyIds"] * 2}
    assert people.result("Ben", "delete_api_keys", gone) == made
    assert public_key("x") not in people.organization.users.by_public_key
    assert all(one.value != public_key("x") for one in people.database.lookups[people.id])


def test_an_expired_key_is_refused_and_still_shown() -> None:
    people = harness()
    people.result("Root", "create_api_keys", keys(key("x", expirationSeconds="60"))(people))
    people.result("Ben", "create_api_keys", keys(key("y", expirationSeconds="60"))(people), key="x")
    people.clock.ms += 60_000
    with pytest.raises(ServiceError, match="expired api key"):
        people.caller("Ben", "x")
    assert len(people.user("Ben").api_keys) == 3


def test_a_key_that_expires_while_its_request_is_under_way() -> None:
    people = harness()
    people.result("Root", "create_api_keys", keys(key("x", expirationSeconds="60"))(people))
    caller = people.caller("Ben", "x")
    people.clock.ms += 60_000
    body = people.body("create_api_keys", keys(key("y", expirationSeconds="60"))(people))
    with pytest.raises(ServiceError, match="expired api key"):
        people.run(people.sending(caller, "create_api_keys", body))


def test_the_oldest_expiring_key_makes_room() -> None:
    people = harness()
    for label in ("1", "2", "3"):
        people.result("Ben", "create_api_keys", keys(key(label, expirationSeconds="900"))(people))
    assert [one.api_key_name for one in people.user("Ben").api_keys] == ["Ben", "2", "3"]
    assert public_key("1") not in people.organization.users.by_public_key
    people.result("Ana", "create_api_keys", keys(key("1"), who="Ana")(people))


def test_a_passkey_comes_and_goes() -> None:
    people = harness()
    passkey = SoftPasskey()
    params = passkey.params()
    made = people.result("Root", "create_authenticators", passkeys(params)(people))
    (held,) = people.user("Ben").authenticators
    assert (
        [held.authenticator_id]
        == made["authenticatorIds"]
        == list(
            set(people.organization.passkeys) - {one.authenticator_id for one in people.user("Ana").authenticators}
        )
    )
    with pytest.raises(ServiceError, match="is already an authenticator"):
        people.submit("Root", "create_authenticators", passkeys(params, who="Ana")(people))
    people.result(
        "Root", "delete_api_keys", {"userId": people.user_ids["Ben"], "apiKeyIds": own_keys(people, "Ben")}
    )
    last = {"userId": people.user_ids["Ben"], "authenticatorIds": made["authenticatorIds"]}
    with pytest.raises(ServiceError, match="user missing valid credential"):
        people.submit("Root", "delete_authenticators", last)
    people.result("Root", "create_api_keys", keys(key())(people))
    people.result("Root", "delete_authenticators", last)
    assert held.authenticator_id not in people.organization.passkeys
    assert held.credential_id not in people.organization.users.by_credential_id


def test_an_identity_comes_and_goes() -> None:
    people = harness()
    made = people.result("Root", "create_oauth_providers", providers(provider())(people))
    for who in ("Ben", "Ana"):
        with pytest.raises(ServiceError, match="oauth provider already exists"):
            people.submit("Root", "create_oauth_providers", providers(provider(), who=who)(people))
    with pytest.raises(ServiceError, match="oauth provider already exists"):
        people.submit("Root", "create_users", {"users": [new_user(people) | {"oauthProviders": [provider()]}]})
    people.result(
        "Ben", "delete_api_keys", {"userId": people.user_ids["Ben"], "apiKeyIds": own_keys(people, "Ben")}
    )
    last = {"userId": people.user_ids["Ben"], "providerIds": made["providerIds"]}
    with pytest.raises(ServiceError, match="user missing valid credential"):
        people.submit("Root", "delete_oauth_providers", last)
