"""The authentication proxy over HTTP, on both stores: configuration, sign-ups, look-ups, what it must not do."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from keystead.stamps.signing import generate_api_key
from tests.support.authorization_scenario import new_sub_organization
from tests.support.callers import Caller, answered, api_key_params, now_ms, refusal, unique
from tests.support.issuers import AUDIENCE, ISSUER
from tests.support.organization_fixtures import ETHEREUM_ACCOUNT
from tests.support.passkeys import SoftPasskey
from tests.support.servers import Server

ORIGIN = "https://app.example"


def new_proxy(caller: Caller, **settings: Any) -> str:
    config_id: str = caller.result("enable_auth_proxy", {})["userId"]
    changed = {"configId": config_id, "allowedOrigins": [ORIGIN], **settings}
    assert caller.result("update_auth_proxy_config", changed)["configId"] == config_id
    return config_id


def ask(caller: Caller, config_id: str, endpoint: str, origin: str | None = ORIGIN, **body: Any) -> httpx.Response:
    headers = {"X-Auth-Proxy-Config-ID": config_id} | ({"Origin": origin} if origin else {})
    return caller.http.post(f"/auth-proxy/v1/{endpoint}", json=body, headers=headers)


def sign_up(**members: Any) -> dict[str, Any]:
    return {"apiKeys": [], "authenticators": [], "oauthProviders": [], "userName": unique("user")} | members


def token(**claims: Any) -> str:
    return ISSUER.token(now_ms() // 1000, **claims)


def test_configuration_as_wallet_kits_read_it(caller: Caller) -> None:
    config_id = new_proxy(
        caller,
        allowedAuthMethods=["email", "passkey", "oauth"],
        otpLength=6,
        otpAlphanumeric=False,
        sessionExpirationSeconds=3600,
        walletKitSettings={
            "enabledSocialProviders": ["google"],
            "oauthClientIds": {"google": AUDIENCE},
            "oauthRedirectUrl": ORIGIN,
        },
    )
    # Published kits send no body here.
    headers = {"X-Auth-Proxy-Config-ID": config_id, "Content-Type": "application/json"}
    assert answered(caller.http.post("/auth-proxy/v1/wallet_kit_config", headers=headers)) == {
        "enabledProviders": ["email", "passkey", "google"],
        "sessionExpirationSeconds": "3600",
        "organizationId": caller.organization_id,
        "oauthClientIds": {"google": AUDIENCE},
        "oauthRedirectUrl": ORIGIN,
        "otpAlphanumeric": False,
        "otpLength": "6",
    }
    assert answered(caller.http.post("/auth-proxy/v1/wallet_kit_client_params", headers=headers)) == {}


def test_a_proxy_is_a_user_with_a_policy_and_ends_with_both(caller: Caller) -> None:
    config_id = new_proxy(caller)
    (shown,) = [one for one in configurations(caller) if one["configId"] == config_id]
    assert caller.asked("get_user", userId=config_id)["user"]["apiKeys"]
    condition = caller.asked("get_policy", policyId=shown["policyId"])["policy"]["condition"]
    assert "'CREATE_SUB_ORGANIZATION'" in condition
    caller.result("disable_auth_proxy", {"configId": config_id})
    assert config_id not in [one["configId"] for one in configurations(caller)]
    assert caller.ask("get_user", userId=config_id).status_code == 404
    assert caller.ask("get_policy", policyId=shown["policyId"]).status_code == 404
    status, message = refusal(ask(caller, config_id, "wallet_kit_config"))
    assert (status, message) == (404, NO_PROXY)


NO_PROXY = "header X-Auth-Proxy-Config-ID: no authentication proxy has this id"


def configurations(caller: Caller) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = caller.asked("list_auth_proxy_configs")["authProxyConfigs"]
    return found


def test_sign_up_with_a_passkey_and_a_wallet(caller: Caller) -> None:
    config_id = new_proxy(caller)
    passkey = SoftPasskey().params()
    wallet = {"walletName": "Mine", "accounts": [ETHEREUM_ACCOUNT]}
    made = answered(ask(caller, config_id, "signup_v2", **sign_up(authenticators=[passkey], wallet=wallet)))
    assert made["wallet"]["addresses"]
    assert len(made["appProofs"]) == 2
    users = caller.with_key(caller.key, organization_id=made["organizationId"]).asked("list_users")["users"]
    assert [user["userId"] for user in users] == [made["userId"]]
    (activity,) = caller.asked(
        "list_activities",
        filterByType=["ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V8"],
        paginationOptions={"limit": "1"},
    )["activities"]
    (vote,) = activity["votes"]
    assert vote["userId"] == config_id
    credential_id = passkey["attestation"]["credentialId"]
    found = ask(caller, config_id, "account", filterType="CREDENTIAL_ID", filterValue=credential_id)
    assert answered(found) == {"organizationId": made["organizationId"]}


def test_sign_up_of_the_older_version_and_look_up_by_key(caller: Caller) -> None:
    config_id = new_proxy(caller)
    key = generate_api_key()
    assert answered(ask(caller, config_id, "account", filterType="PUBLIC_KEY", filterValue=key.public_key)) == {}
    made = answered(ask(caller, config_id, "signup", **sign_up(apiKeys=[api_key_params(key.public_key)])))
    found = ask(caller, config_id, "account", filterType="PUBLIC_KEY", filterValue=f"0x{key.public_key.upper()}")
    assert answered(found) == {"organizationId": made["organizationId"]}


def test_sign_up_and_look_up_by_an_identity(caller: Caller) -> None:
    config_id = new_proxy(caller, walletKitSettings={"oauthClientIds": {"google": AUDIENCE}})
    subject = unique("subject")
    by_token = {"filterType": "OIDC_TOKEN", "filterValue": token(sub=subject)}
    assert answered(ask(caller, config_id, "account", **by_token)) == {}
    providers = [{"providerName": "issuer", "oidcToken": token(sub=subject)}]
    made = answered(ask(caller, config_id, "signup_v2", **sign_up(oauthProviders=providers)))
    assert answered(ask(caller, config_id, "account", **by_token)) == {"organizationId": made["organizationId"]}
    for filter_type, names in {
        "OIDC_CLAIMS": ("iss", "sub", "aud"),
        "OAUTH_CLAIM": ("issuer", "subject", "audience"),
    }.items():
        claims = json.dumps(dict(zip(names, (ISSUER.url, subject, AUDIENCE), strict=True)))
        found = ask(caller, config_id, "account", filterType=filter_type, filterValue=claims)
        assert answered(found) == {"organizationId": made["organizationId"]}


def test_nobody_is_registered_by_claims_that_no_token_proves(caller: Caller) -> None:
    """A parent's own users vouch for claims; a proxy passes on what anybody says."""
    config_id = new_proxy(caller)
    claims = {"iss": ISSUER.url, "sub": unique("victim"), "aud": AUDIENCE}
    providers = [{"providerName": "p", "oidcClaims": claims}]
    status, message = refusal(ask(caller, config_id, "signup_v2", **sign_up(oauthProviders=providers)))
    assert status == 400
    assert "nothing proves them" in message


def test_pages_of_other_origins_are_refused(caller: Caller) -> None:
    config_id = new_proxy(caller)
    status, message = refusal(ask(caller, config_id, "wallet_kit_config", origin="https://evil.example"))
    assert status == 403
    assert "origin 'https://evil.example' may not call this authentication proxy" in message
    assert ask(caller, config_id, "wallet_kit_config", origin=None).status_code == 200
    anyone = new_proxy(caller, allowedOrigins=["*"])
    allowed = ask(caller, anyone, "wallet_kit_config", origin="https://evil.example")
    assert (allowed.status_code, allowed.headers["access-control-allow-origin"]) == (200, "*")
    nobody = caller.result("enable_auth_proxy", {})["userId"]
    assert ask(caller, nobody, "wallet_kit_config").status_code == 403


def test_preflight_allows_the_header_of_the_configuration(caller: Caller) -> None:
    response = caller.http.options("/auth-proxy/v1/signup_v2", headers={"Origin": ORIGIN})
    assert response.status_code == 204
    assert "x-auth-proxy-config-id" in response.headers["access-control-allow-headers"].lower()


PERSONAL = "this application says whether a contact has an account only to a caller who proves the contact"


def test_whether_a_contact_has_an_account_is_not_told(caller: Caller) -> None:
    """The same refusal for a contact that has one and for one that has none, unless the configuration says so."""
    email = f"{unique('ada').replace(' ', '-')}@example.com"
    config_id = new_proxy(caller)
    key = api_key_params(generate_api_key().public_key)
    answered(ask(caller, config_id, "signup_v2", **sign_up(apiKeys=[key], userEmail=email)))
    refusals = [
        refusal(ask(caller, config_id, "account", filterType=kind, filterValue=value))
        for kind, value in (("EMAIL", email), ("EMAIL", "none@example.com"), ("PHONE_NUMBER", "+14155550123"))
    ]
    assert refusals == [(401, f"missing field `verificationToken`: {PERSONAL}")] * 3
    forged = {"filterType": "EMAIL", "filterValue": email, "verificationToken": "a.b.c"}
    status, message = refusal(ask(caller, config_id, "account", **forged))
    assert (status, message.partition(":")[0]) == (401, "invalid verification token")
    by_other_issuer = {
        "filterType": "EMAIL",
        "filterValue": email,
        "oidcToken": token(email=email, email_verified=True),
    }
    assert refusal(ask(caller, config_id, "account", **by_other_issuer))[0] == 401
    open_to_all = new_proxy(caller, verificationTokenRequiredForGetAccountPii=False)
    found = ask(caller, open_to_all, "account", filterType="EMAIL", filterValue=email.upper())
    assert answered(found) == {}, "nobody proved it"
    user = new_sub_organization(caller, contacts={"userEmail": email})
    found = ask(caller, open_to_all, "account", filterType="EMAIL", filterValue=email.upper())
    assert answered(found) == {"organizationId": user.organization_id}


def test_two_accounts_of_one_contact_are_refused_as_documented(caller: Caller) -> None:
    config_id = new_proxy(caller, verificationTokenRequiredForGetAccountPii=False)
    email = f"{unique('two').replace(' ', '-')}@example.com"
    for _ in range(2):
        new_sub_organization(caller, contacts={"userEmail": email})
    status, message = refusal(ask(caller, config_id, "account", filterType="EMAIL", filterValue=email))
    assert status == 401
    assert message.startswith("more than one suborg associated with a verified email")


BAD: dict[str, tuple[str, dict[str, Any], int, str]] = {
    "no such endpoint": ("delete_users", {}, 404, "no such path: /auth-proxy/v1/delete_users"),
    "an unknown filter": ("account", {"filterType": "NAME", "filterValue": "x"}, 400, "field `filterType`: 'NAME'"),
    "no filter": ("account", {}, 400, "missing field `filterType`"),
    "claims that are not JSON": (
        "account",
        {"filterType": "OIDC_CLAIMS", "filterValue": "iss"},
        400,
        "field `filterValue`: expected a JSON object",
    ),
    "an expired token": (
        "account",
        {"filterType": "OIDC_TOKEN", "filterValue": token(exp=1)},
        400,
        "invalid OIDC token: field `filterValue`: expired",
    ),
    "a token of another application": (
        "account",
        {"filterType": "OIDC_TOKEN", "filterValue": token(aud="another")},
        400,
        "invalid OIDC token: field `filterValue`: its audience is not a client id of this application",
    ),
    "a sign-up with such a token": (
        "signup_v2",
        sign_up(oauthProviders=[{"providerName": "p", "oidcToken": token(aud="another")}]),
        400,
        "invalid OIDC token: field `oauthProviders[0].oidcToken`: its audience",
    ),
    "a login with such a token": (
        "oauth_login",
        {"oidcToken": token(aud="another"), "publicKey": "02" + "11" * 32},
        400,
        "invalid OIDC token: field `oidcToken`: its audience",
    ),
    "a sign-up without a credential": ("signup_v2", sign_up(), 400, "user missing valid credential"),
    "an unknown member": ("signup_v2", sign_up(rootQuorumThreshold=2), 400, "unknown field `rootQuorumThreshold`"),
    "a login that is not allowed": (
        "otp_init_v2",
        {"otpType": "OTP_TYPE_SMS", "contact": "+14155550123"},
        403,
        "SMS disallowed",
    ),
    "another kind of code": (
        "otp_init_v2",
        {"otpType": "PIGEON", "contact": "x"},
        400,
        "field `otpType`: 'PIGEON'",
    ),
}


@pytest.fixture(scope="module")
def bad_config(server: Server) -> str:
    return new_proxy(
        server.caller,
        allowedAuthMethods=["email", "passkey", "oauth"],
        walletKitSettings={"oauthClientIds": {"google": AUDIENCE}},
    )


@pytest.mark.parametrize(("endpoint", "body", "status", "message"), BAD.values(), ids=BAD)
def test_bad_requests(
    caller: Caller, bad_config: str, endpoint: str, body: dict[str, Any], status: int, message: str
) -> None:
    answer = refusal(ask(caller, bad_config, endpoint, **body))
    assert answer[0] == status, answer
    assert message in answer[1]


def test_oauth_is_refused_in_the_words_that_clients_match(caller: Caller) -> None:
    config_id = new_proxy(caller, allowedAuthMethods=["passkey"])
    status, message = refusal(ask(caller, config_id, "oauth_login", oidcToken=token(), publicKey="02" + "11" * 32))
    assert (status, message.partition(":")[0]) == (403, "OAUTH disallowed")


@pytest.mark.parametrize(
    ("config_id", "status", "message"),
    [
        ("", 400, "missing header X-Auth-Proxy-Config-ID: the id of an authentication proxy"),
        ("x" * 200, 404, NO_PROXY),
        ("00000000-0000-7000-8000-000000000000", 404, NO_PROXY),
    ],
    ids=["none", "malformed", "unknown"],
)
def test_configurations_that_do_not_exist(caller: Caller, config_id: str, status: int, message: str) -> None:
    assert refusal(ask(caller, config_id, "wallet_kit_config")) == (status, message)


def test_other_policies_deny_a_proxy_more(caller: Caller) -> None:
    config_id = new_proxy(caller)
    denial = caller.result(
        "create_policy",
        {
            "policyName": unique("no sign-ups"),
            "effect": "EFFECT_DENY",
            "condition": "activity.kind == 'CREATE_SUB_ORGANIZATION'",
            "consensus": f"approvers.any(user, user.id == '{config_id}')",
        },
    )
    passkey = SoftPasskey().params()
    try:
        assert ask(caller, config_id, "signup_v2", **sign_up(authenticators=[passkey])).status_code == 403
    finally:
        caller.result("delete_policy", {"policyId": denial["policyId"]})
    assert ask(caller, config_id, "signup_v2", **sign_up(authenticators=[passkey])).status_code == 200


def test_a_sign_up_that_needs_another_approval_is_refused_with_what_to_change(caller: Caller) -> None:
    config_id = new_proxy(caller)
    (shown,) = [one for one in configurations(caller) if one["configId"] == config_id]
    caller.result("update_policy", {"policyId": shown["policyId"], "policyConsensus": "approvers.count() >= 2"})
    answer = ask(caller, config_id, "signup_v2", **sign_up(authenticators=[SoftPasskey().params()]))
    caller.result("disable_auth_proxy", {"configId": config_id})  # other tests have the same organization
    status, message = refusal(answer)
    assert (status, "must allow it without further approvals" in message) == (403, True), message


def test_endpoints_accept_post_only(caller: Caller) -> None:
    headers = {"X-Auth-Proxy-Config-ID": new_proxy(caller)}
    assert caller.http.get("/auth-proxy/v1/wallet_kit_config", headers=headers).status_code == 405


def test_a_sub_organization_has_no_proxy(caller: Caller) -> None:
    key = generate_api_key()
    config_id = new_proxy(caller)
    made = answered(ask(caller, config_id, "signup_v2", **sign_up(apiKeys=[api_key_params(key.public_key)])))
    inside = caller.with_key(key, made["userId"], made["organizationId"])
    assert refusal(inside.submit("enable_auth_proxy", {}))[0] == 400


BAD_SETTINGS: dict[str, tuple[dict[str, Any], str]] = {
    "an origin with a path": ({"allowedOrigins": ["https://app.example/x"]}, "`parameters.allowedOrigins[0]`"),
    "an origin without a scheme": ({"allowedOrigins": ["app.example"]}, "`parameters.allowedOrigins[0]`"),
    "a short code": ({"otpLength": 5}, "`parameters.otpLength`"),
    "an unknown login": ({"allowedAuthMethods": ["fax"]}, "`parameters.allowedAuthMethods"),
    "too many logins": ({"allowedAuthMethods": ["email"] * 21}, "`parameters.allowedAuthMethods"),
    "a captcha": ({"captchaEnabled": True}, "`parameters.captchaEnabled`"),
    "no address": ({"replyToEmailAddress": "nobody"}, "`parameters.replyToEmailAddress`"),
    "an endless session": ({"sessionExpirationSeconds": 10**9}, "`parameters.sessionExpirationSeconds`"),
}


@pytest.mark.parametrize(("settings", "field"), BAD_SETTINGS.values(), ids=BAD_SETTINGS)
def test_bad_settings(caller: Caller, bad_config: str, settings: dict[str, Any], field: str) -> None:
    status, message = refusal(caller.submit("update_auth_proxy_config", {"configId": bad_config, **settings}))
    assert status == 400
    assert field in message
