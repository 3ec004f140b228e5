"""Users and sub-organizations as requests describe them, with every optional member. For `examples`."""

from __future__ import annotations

from typing import Any

from keystead.stamps.signing import generate_api_key
from tests.support.callers import api_key_params, now_ms, unique
from tests.support.issuers import ISSUER
from tests.support.organization_fixtures import ETHEREUM_ACCOUNT, RecordIds
from tests.support.passkeys import SoftPasskey


def new_api_key(**members: Any) -> dict[str, Any]:
    return api_key_params(generate_api_key().public_key, **members)


def older_api_key() -> dict[str, Any]:
    return {name: value for name, value in new_api_key().items() if name != "curveType"}


def contacts() -> dict[str, str]:
    return {"userEmail": "ada@example.com", "userPhoneNumber": "+14155550123"}


def provider_by_claims(subject: str = "") -> dict[str, Any]:
    """Proven by a token of the same subject beside it, or by a parent's user who makes the sub-organization."""
    claims = {"iss": ISSUER.url, "sub": subject or unique("subject"), "aud": "another-client"}
    return {"providerName": unique("provider"), "oidcClaims": claims}


def provider_by_token(subject: str = "") -> dict[str, Any]:
    token = ISSUER.token(now_ms() // 1000, sub=subject or unique("subject"))
    return {"providerName": unique("provider"), "oidcToken": token}


def two_providers() -> list[dict[str, Any]]:
    """One subject for two audiences: by a token, and by claims beside it."""
    subject = unique("subject")
    return [provider_by_claims(subject), provider_by_token(subject)]


def current_user(record_ids: RecordIds) -> dict[str, Any]:
    return {
        "userName": unique("user"),
        "apiKeys": [new_api_key(), new_api_key(expirationSeconds="3600")],
        "authenticators": [SoftPasskey().params()],
        "oauthProviders": two_providers(),
        "userTags": [record_ids.user_tag_id],
        **contacts(),
    }


def older_user(record_ids: RecordIds, **members: Any) -> dict[str, Any]:
    return {
        "userName": unique("user"),
        "apiKeys": [older_api_key()],
        "authenticators": [],
        "userTags": [record_ids.user_tag_id],
        "userEmail": "ada@example.com",
    } | members


def root_user(**members: Any) -> dict[str, Any]:
    return {
        "userName": unique("user"),
        "apiKeys": [new_api_key(), new_api_key(expirationSeconds="3600")],
        "authenticators": [SoftPasskey().params()],
        "oauthProviders": [],
    } | members


def oldest_root_user() -> dict[str, Any]:
    """As the versions 2 to 4 of create_sub_organization have it: without OAuth providers and curves."""
    return {
        "userName": unique("user"),
        "userEmail": "ada@example.com",
        "apiKeys": [older_api_key()],
        "authenticators": [SoftPasskey().params()],
    }


def sub_organization(*users: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {
        "subOrganizationName": unique("sub-organization"),
        "rootUsers": list(users),
        "rootQuorumThreshold": 1,
        "wallet": {"walletName": "first", "accounts": [ETHEREUM_ACCOUNT], "mnemonicLength": 12},
        "disableEmailRecovery": True,
        "disableEmailAuth": False,
    } | members


OF_LATER_VERSIONS: dict[str, Any] = {
    "disableSmsAuth": True,
    "disableOtpEmailAuth": False,
    "verificationToken": "",
    "clientSignature": {"publicKey": "02", "scheme": "s", "message": "m", "signature": "30"},
}
