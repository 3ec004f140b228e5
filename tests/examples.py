"""One valid request for every operation and every activity type, with every optional field.

`test_examples` in tests/operations compares the two tables with the catalogue, so that a new operation is tried by
every test that goes through them.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from keystead.api.catalogue import Operation
from keystead.api.identifiers import new_id
from keystead.operations import CATALOGUE
from keystead.stamps.signing import generate_api_key
from tests.callers import Caller, api_key_params, unique
from tests.passkeys import SoftPasskey

ERC20_TRANSFER = json.dumps(
    [
        {
            "type": "function",
            "name": "transfer",
            "inputs": [{"name": "to", "type": "address"}, {"name": "value", "type": "uint256"}],
            "outputs": [{"name": "", "type": "bool"}],
            "stateMutability": "nonpayable",
        }
    ]
)
IDL = json.dumps({"instructions": [{"name": "go", "accounts": [], "args": []}], "types": []})
ETHEREUM_ACCOUNT = {
    "curve": "CURVE_SECP256K1",
    "pathFormat": "PATH_FORMAT_BIP32",
    "path": "m/44'/60'/0'/0/0",
    "addressFormat": "ADDRESS_FORMAT_ETHEREUM",
}
SOLANA_ACCOUNT = {
    "curve": "CURVE_ED25519",
    "pathFormat": "PATH_FORMAT_BIP32",
    "path": "m/44'/501'/0'/0",
    "addressFormat": "ADDRESS_FORMAT_SOLANA",
}


@dataclass(frozen=True)
class Furniture:
    """Ids of records in an organization, one of each kind."""

    user_id: str
    authenticator_id: str
    user_tag_id: str
    wallet_id: str
    contract_interface_id: str
    activity_id: str


NOWHERE = Furniture(**{field.name: new_id() for field in fields(Furniture)})
"""Ids of nothing, for requests that are refused before anything is looked up."""


def furnish(caller: Caller) -> Furniture:
    """Put one record of each kind into the caller's organization."""
    user = caller.new_user()
    passkey = caller.result(
        "create_authenticators", {"userId": user.user_id, "authenticators": [SoftPasskey().params()]}
    )
    tag = caller.result("create_user_tag", {"userTagName": unique("tag"), "userIds": [user.user_id]})
    wallet = caller.result(
        "create_wallet", {"walletName": unique("wallet"), "accounts": [ETHEREUM_ACCOUNT, SOLANA_ACCOUNT]}
    )
    interface = caller.submitted("create_smart_contract_interface", interface_params(), generateAppProofs=True)
    return Furniture(
        user_id=user.user_id,
        authenticator_id=passkey["authenticatorIds"][0],
        user_tag_id=tag["userTagId"],
        wallet_id=wallet["walletId"],
        contract_interface_id=interface["result"]["createSmartContractInterfaceResult"]["smartContractInterfaceId"],
        activity_id=interface["id"],
    )


def interface_params(**members: Any) -> dict[str, Any]:
    return {
        "smartContractAddress": f"0x{secrets.token_hex(20)}",
        "smartContractInterface": ERC20_TRANSFER,
        "type": "SMART_CONTRACT_INTERFACE_TYPE_ETHEREUM",
        "label": unique("interface"),
        "notes": "of a token",
    } | members


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
    "get_authenticator": lambda f: {"authenticatorId": f.authenticator_id},
    "get_boot_proof": lambda f: {"ephemeralKey": "04" * 130},
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
        "userId": f.user_id,
        "authenticators": [SoftPasskey().params()],
    },
    "ACTIVITY_TYPE_CREATE_AUTHENTICATORS": lambda f: {
        "userId": f.user_id,
        "authenticators": [SoftPasskey().older_params(f.user_id)],
    },
    "ACTIVITY_TYPE_CREATE_MFA_POLICY": lambda f: {
        "userId": f.user_id,
        "mfaPolicyName": unique("policy"),
        "condition": "activity.kind == 'EXPORT_WALLET'",
        "requiredAuthenticationMethods": [
            {"any": [{"type": "AUTHENTICATION_TYPE_PASSKEY", "id": f.authenticator_id}]}
        ],
        "order": secrets.randbelow(2**40),
        "notes": "for exports",
    },
    "ACTIVITY_TYPE_CREATE_OAUTH_PROVIDERS_V2": lambda f: {"userId": f.user_id, "oauthProviders": [_provider()]},
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
