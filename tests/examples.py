"""One valid request for every operation and every activity type, with every optional field.

`test_examples` in tests/operations compares the two tables with the catalogue, so that a new operation is tried by
every test that goes through them.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

from keystead.api.catalogue import Operation
from keystead.operations import CATALOGUE
from keystead.stamps.signing import generate_api_key
from tests.callers import Caller, api_key_params, unique
from tests.furniture import ETHEREUM_ACCOUNT, SOLANA_ACCOUNT, Furniture, interface_params, mfa_policy_params
from tests.passkeys import SoftPasskey


def claims() -> dict[str, str]:
    return {"iss": "https://issuer.example", "sub": secrets.token_hex(8), "aud": "tests"}


def _api_key(**members: Any) -> dict[str, Any]:
    return api_key_params(generate_api_key().public_key, **members)


def _older_api_key() -> dict[str, Any]:
    return {name: value for name, value in _api_key().items() if name != "curveType"}


def _contacts() -> dict[str, str]:
    return {"userEmail": "ada@example.com", "userPhoneNumber": "+14155550123"}


def _provider() -> dict[str, Any]:
    return {"providerName": unique("provider"), "oidcClaims": claims()}


def _keys(furniture: Furniture) -> dict[str, Any]:
    return {"userId": furniture.user_id, "apiKeys": [_api_key(expirationSeconds="60")]}


def _passkeys(furniture: Furniture) -> dict[str, Any]:
    return {"userId": furniture.user_id, "authenticators": [SoftPasskey().params()]}


def _providers(furniture: Furniture) -> dict[str, Any]:
    return {"userId": furniture.user_id, "oauthProviders": [_provider()]}


def _current_user(furniture: Furniture) -> dict[str, Any]:
    return {
        "userName": unique("user"),
        "apiKeys": [_api_key(), _api_key(expirationSeconds="3600")],
        "authenticators": [SoftPasskey().params()],
        "oauthProviders": [_provider()],
        "userTags": [furniture.user_tag_id],
        **_contacts(),
    }


def _older_user(furniture: Furniture, **members: Any) -> dict[str, Any]:
    return {
        "userName": unique("user"),
        "apiKeys": [_older_api_key()],
        "authenticators": [],
        "userTags": [furniture.user_tag_id],
        "userEmail": "ada@example.com",
    } | members


Make = Callable[[Furniture], dict[str, Any]]
PAGES = {"limit": "5"}

QUERIES: dict[str, Make] = {
    "get_activity": lambda f: {"activityId": f.activity_id},
    "get_api_key": lambda f: {"apiKeyId": f.api_key_id},
    "get_api_keys": lambda f: {"userId": f.user_id},
    "get_authenticators": lambda f: {"userId": f.user_id},
    "get_authenticator": lambda f: {"authenticatorId": f.authenticator_id},
    "get_boot_proof": lambda f: {"ephemeralKey": "04" * 130},
    "get_mfa_policies": lambda f: {"userId": f.user_id},
    "get_mfa_policy": lambda f: {"userId": f.user_id, "mfaPolicyId": f.mfa_policy_id},
    "get_oauth_providers": lambda f: {"userId": f.user_id},
    "get_organization_configs": lambda f: {},
    "get_smart_contract_interface": lambda f: {"smartContractInterfaceId": f.contract_interface_id},
    "get_user": lambda f: {"userId": f.user_id},
    "get_wallet": lambda f: {"walletId": f.wallet_id},
    "get_wallet_account": lambda f: {"walletId": f.wallet_id, "path": "m/44'/60'/0'/0/0"},
    "list_activities": lambda f: {
        "filterByStatus": ["ACTIVITY_STATUS_COMPLETED"],
        "filterByType": ["ACTIVITY_TYPE_CREATE_WALLET"],
        "paginationOptions": PAGES,
    },
    "list_app_proofs": lambda f: {"activityId": f.activity_id},
    "list_smart_contract_interfaces": lambda f: {},
    "list_user_tags": lambda f: {},
    "list_users": lambda f: {},
    "list_wallet_accounts": lambda f: {
        "walletId": f.wallet_id,
        "includeWalletDetails": True,
        "paginationOptions": PAGES,
    },
    "list_wallets": lambda f: {},
    "whoami": lambda f: {},
}
"""The fields beside `organizationId`, by operation."""

NEVER_FOUND = frozenset({"get_boot_proof"})
"""Queries whose answer is always 404."""

SUBMISSIONS: dict[str, Make] = {
    "ACTIVITY_TYPE_CREATE_API_KEYS_V2": lambda f: {
        "userId": f.user_id,
        "apiKeys": [_api_key(expirationSeconds="60")],
    },
    "ACTIVITY_TYPE_CREATE_API_KEYS": lambda f: {
        "userId": f.user_id,
        "apiKeys": [_older_api_key() | {"expirationSeconds": "60"}],
    },
    "ACTIVITY_TYPE_CREATE_AUTHENTICATORS_V2": lambda f: {
        "userId": f.new_user_id(),
        "authenticators": [SoftPasskey().params()],
    },
    "ACTIVITY_TYPE_CREATE_AUTHENTICATORS": lambda f: {
        "userId": f.new_user_id(),
        "authenticators": [SoftPasskey().older_params(f.user_id)],
    },
    "ACTIVITY_TYPE_CREATE_MFA_POLICY": lambda f: mfa_policy_params(f.new_user_id(), f.authenticator_id),
    "ACTIVITY_TYPE_CREATE_OAUTH_PROVIDERS_V2": lambda f: {
        "userId": f.new_user_id(),
        "oauthProviders": [_provider()],
    },
    "ACTIVITY_TYPE_CREATE_OAUTH_PROVIDERS": lambda f: {
        "userId": f.user_id,
        "oauthProviders": [{"providerName": unique("provider"), "oidcToken": "a.b.c"}],
    },
    "ACTIVITY_TYPE_CREATE_SMART_CONTRACT_INTERFACE": lambda f: interface_params(),
    "ACTIVITY_TYPE_CREATE_USER_TAG": lambda f: {"userTagName": unique("tag"), "userIds": [f.user_id]},
    "ACTIVITY_TYPE_CREATE_USERS_V4": lambda f: {"users": [_current_user(f)]},
    "ACTIVITY_TYPE_CREATE_USERS_V3": lambda f: {"users": [_current_user(f) | {"oauthProviders": []}]},
    "ACTIVITY_TYPE_CREATE_USERS_V2": lambda f: {"users": [_older_user(f, authenticators=[SoftPasskey().params()])]},
    "ACTIVITY_TYPE_CREATE_USERS": lambda f: {
        "users": [
            _older_user(f, accessType="ACCESS_TYPE_API", authenticators=[SoftPasskey().older_params(f.user_id)])
        ]
    },
    "ACTIVITY_TYPE_CREATE_WALLET": lambda f: {
        "walletName": unique("wallet"),
        "accounts": [ETHEREUM_ACCOUNT | {"name": "first"}, SOLANA_ACCOUNT],
        "mnemonicLength": 24,
    },
    "ACTIVITY_TYPE_DELETE_API_KEYS": lambda f: {
        "userId": f.user_id,
        "apiKeyIds": [f.new("create_api_keys", lambda: _keys(f), "apiKeyIds")],
    },
    "ACTIVITY_TYPE_DELETE_AUTHENTICATORS": lambda f: {
        "userId": f.user_id,
        "authenticatorIds": [f.new("create_authenticators", lambda: _passkeys(f), "authenticatorIds")],
    },
    "ACTIVITY_TYPE_DELETE_MFA_POLICY": lambda f: {
        "userId": f.user_id,
        "mfaPolicyId": f.new(
            "create_mfa_policy", lambda: mfa_policy_params(f.user_id, f.authenticator_id), "mfaPolicyId"
        ),
    },
    "ACTIVITY_TYPE_DELETE_OAUTH_PROVIDERS": lambda f: {
        "userId": f.user_id,
        "providerIds": [f.new("create_oauth_providers", lambda: _providers(f), "providerIds")],
    },
    "ACTIVITY_TYPE_DELETE_SMART_CONTRACT_INTERFACE": lambda f: {
        "smartContractInterfaceId": f.new(
            "create_smart_contract_interface", interface_params, "smartContractInterfaceId"
        )
    },
    "ACTIVITY_TYPE_DELETE_USER_TAGS": lambda f: {
        "userTagIds": [f.new("create_user_tag", lambda: {"userTagName": unique("tag"), "userIds": []}, "userTagId")]
    },
    "ACTIVITY_TYPE_UPDATE_MFA_POLICY": lambda f: (
        mfa_policy_params(f.user_id, f.authenticator_id) | {"mfaPolicyId": f.mfa_policy_id}
    ),
    "ACTIVITY_TYPE_UPDATE_USER_TAG": lambda f: {
        "userTagId": f.user_tag_id,
        "newUserTagName": unique("tag"),
        "addUserIds": [f.user_id],
        "removeUserIds": [f.new_user_id()],
    },
}
"""The parameters, by activity type."""

NOT_YET = frozenset({"ACTIVITY_TYPE_CREATE_OAUTH_PROVIDERS"})
"""Types whose every well-formed request is answered 501: they need an OIDC token, which cannot be verified yet."""


def examples_of(operation: Operation) -> dict[str, Make]:
    """By activity type, or by the query's name; empty where the tables lack the operation."""
    names = operation.activity_types or (operation.name,)
    return {name: (QUERIES | SUBMISSIONS)[name] for name in names if name in QUERIES | SUBMISSIONS}


EXAMPLED = [operation for operation in CATALOGUE if examples_of(operation)]
"""The operations of the tables: all of them, when `test_examples` passes."""


def example_body(caller: Caller, operation: Operation, furniture: Furniture, activity_type: str = "") -> bytes:
    """A valid request, of the current type where none is named."""
    if operation.kind == "query":
        return caller.query_body(**QUERIES[operation.name](furniture))
    activity_type = activity_type or operation.activity_types[0]
    return caller.submit_body(operation.name, SUBMISSIONS[activity_type](furniture), type=activity_type)
