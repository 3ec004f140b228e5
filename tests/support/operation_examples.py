"""One valid request for every operation and every activity type, with every optional field.

`test_examples` in tests/operations compares the two tables with the catalogue, so that a new operation is tried by
every test that goes through them.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from typing import Any

from keystead.api.catalogue import Operation
from keystead.operations import CATALOGUE
from keystead.stamps.signing import generate_api_key
from tests.support import bundles
from tests.support.auth_proxy_examples import PROXY_SUBMISSIONS
from tests.support.callers import Caller, api_key_params, unique
from tests.support.example_code_logins import CODE_LOGINS
from tests.support.example_rules import RULE_QUERIES, RULE_SUBMISSIONS
from tests.support.example_sessions import SESSIONS
from tests.support.example_users import (
    OF_LATER_VERSIONS,
    contacts,
    current_user,
    new_api_key,
    older_api_key,
    older_user,
    oldest_root_user,
    provider_by_claims,
    provider_by_token,
    root_user,
    sub_organization,
    two_providers,
)
from tests.support.example_wallet_logins import WALLET_LOGINS
from tests.support.login_wallets import new_wallet, wallet_params
from tests.support.organization_fixtures import (
    ERC20_TRANSFER,
    ETHEREUM_ACCOUNT,
    FEATURE,
    IDL,
    SECRET_SUITE,
    SOLANA_ACCOUNT,
    UNKNOWN_IDS,
    RecordIds,
    create_records,
    interface_params,
    invitation_params,
    mfa_policy_params,
    policy_params,
    private_key_params,
    webhook_endpoint_params,
)
from tests.support.passkeys import SoftPasskey
from tests.support.recovery import recovering

__all__ = [
    "ANSWERED_WITH_ANOTHER",
    "ERC20_TRANSFER",
    "ETHEREUM_ACCOUNT",
    "EXAMPLED",
    "IDL",
    "NEVER_FOUND",
    "QUERIES",
    "SOLANA_ACCOUNT",
    "SUBMISSIONS",
    "UNKNOWN_IDS",
    "Make",
    "RecordIds",
    "create_records",
    "example_body",
    "examples_of",
    "interface_params",
    "submitter",
]


def _policy() -> dict[str, Any]:
    return policy_params(
        consensus="approvers.count() >= 2", time="time.now > Timestamp('2000-01-01T00:00:00Z')", notes="for tests"
    )


def _removed_feature(record_ids: RecordIds) -> dict[str, Any]:
    record_ids.fresh("feature")
    return {"name": FEATURE}


def _changed_policy(record_ids: RecordIds) -> dict[str, Any]:
    return {
        "policyId": record_ids.policy_id,
        "policyName": unique("policy"),
        "policyEffect": "EFFECT_DENY",
        "policyCondition": "false",
        "policyConsensus": "approvers.count() >= 3",
        "policyNotes": "never",
    }


def _sealed_secret(record_ids: RecordIds) -> dict[str, Any]:
    sealed = {
        "secretPayload": bundles.message(b"nothing", bytes.fromhex(TARGET_PUBLIC_KEY)),
        "targetPublicKey": TARGET_PUBLIC_KEY,
        "encryptionSuite": SECRET_SUITE,
    }
    if (text := record_ids.fresh("sealed_secret")).startswith("{"):
        sealed = json.loads(text)
    properties = [{"key": "kind", "value": "card"}, {"key": "empty"}]
    return {"secrets": [{**sealed, "name": unique("secret"), "staticProperties": properties}]}


Make = Callable[[RecordIds], dict[str, Any]]
TARGET_PUBLIC_KEY = bundles.point(bundles.fresh()).hex()
PAGES = {"limit": "5"}
HASHED_TEXT = {"encoding": "PAYLOAD_ENCODING_TEXT_UTF8", "hashFunction": "HASH_FUNCTION_KECCAK256"}
TRANSACTION = {
    "unsignedTransaction": "02e40109018504a817c8008252089470997970c51812dc3a010c7d01b50e0d17dc79c80180c0",
    "type": "TRANSACTION_TYPE_ETHEREUM",
}


QUERIES: dict[str, Make] = {
    "get_active_policies": lambda f: {},
    "list_policy_warnings": lambda f: {},
    "list_policy_keywords": lambda f: {},
    "check_policy": lambda f: {"effect": "EFFECT_ALLOW", "condition": "eth.tx.value < 5"},
    "explain_policy": lambda f: {"activityId": f.activity_id, "policyId": f.policy_id},
    "try_policy": lambda f: {"effect": "EFFECT_ALLOW", "activityIds": [f.activity_id]},
    "list_invitations": lambda _: {},
    "list_named_suborgs": lambda _: {},
    "list_refused_requests": lambda _: {},
    "count_activities": lambda _: {"boundsMs": [1_764_000_000_000, 1_764_003_600_000]},
    "describe_activities": lambda f: {"activityIds": [f.activity_id]},
    "get_activity": lambda f: {"activityId": f.activity_id},
    "get_api_key": lambda f: {"apiKeyId": f.api_key_id},
    "get_api_keys": lambda f: {"userId": f.user_id},
    "get_authenticator": lambda f: {"authenticatorId": f.authenticator_id},
    "get_authenticators": lambda f: {"userId": f.user_id},
    "get_boot_proof": lambda f: {"ephemeralKey": "04" * 130},
    "get_mfa_policies": lambda f: {"userId": f.user_id},
    "get_mfa_policy": lambda f: {"userId": f.user_id, "mfaPolicyId": f.mfa_policy_id},
    "get_mfa_status": lambda f: {"activityId": f.activity_id, "userId": f.user_id},
    "get_oauth_providers": lambda f: {"userId": f.user_id},
    "get_organization": lambda f: {},
    "get_organization_configs": lambda f: {},
    "get_policy": lambda f: {"policyId": f.policy_id},
    "get_private_key": lambda f: {"privateKeyId": f.private_key_id},
    "get_policy_evaluations": lambda f: {"activityId": f.activity_id},
    **RULE_QUERIES,
    "list_webhook_endpoints": lambda f: {},
    "get_smart_contract_interface": lambda f: {"smartContractInterfaceId": f.contract_interface_id},
    "get_user": lambda f: {"userId": f.user_id},
    "get_wallet": lambda f: {"walletId": f.wallet_id},
    "get_wallet_authenticators": lambda f: {"userId": f.user_id},
    "get_wallet_account": lambda f: {"walletId": f.wallet_id, "path": "m/44'/60'/0'/0/0"},
    "list_activities": lambda f: {
        "filterByStatus": ["ACTIVITY_STATUS_COMPLETED"],
        "filterByType": ["ACTIVITY_TYPE_CREATE_WALLET"],
        "paginationOptions": PAGES,
    },
    "list_email_events": lambda f: {
        "email": "ada@example.com",
        "eventType": "Send",
        "paginationOptions": PAGES,
    },
    "list_auth_proxy_configs": lambda f: {},
    "get_oauth2_credential": lambda f: {"oauth2CredentialId": f.kept("oauth2_credential")},
    "list_oauth2_credentials": lambda f: {},
    "list_app_proofs": lambda f: {"activityId": f.activity_id},
    "list_private_key_tags": lambda f: {},
    "list_private_keys": lambda f: {},
    "list_secrets": lambda f: {"paginationOptions": PAGES},
    "list_smart_contract_interfaces": lambda f: {},
    "list_suborgs": lambda f: {"filterType": "USERNAME", "filterValue": "Ada", "paginationOptions": PAGES},
    "list_user_tags": lambda f: {},
    "list_users": lambda f: {},
    "list_verified_suborgs": lambda f: {
        "filterType": "EMAIL",
        "filterValue": "ada@example.com",
        "paginationOptions": PAGES,
    },
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
    **SESSIONS,
    "ACTIVITY_TYPE_CREATE_API_ONLY_USERS": lambda f: {
        "apiOnlyUsers": [
            {
                "userName": unique("user"),
                "userEmail": "ada@example.com",
                "userTags": [f.user_tag_id],
                "apiKeys": [older_api_key()],
            }
        ]
    },
    "ACTIVITY_TYPE_CREATE_API_KEYS_V2": lambda f: {
        "userId": f.user_id,
        "apiKeys": [new_api_key(expirationSeconds="60")],
    },
    "ACTIVITY_TYPE_CREATE_API_KEYS": lambda f: {
        "userId": f.user_id,
        "apiKeys": [older_api_key() | {"expirationSeconds": "60"}],
    },
    "ACTIVITY_TYPE_CREATE_AUTHENTICATORS_V2": lambda f: {
        "userId": f.fresh("user"),
        "authenticators": [SoftPasskey().params()],
    },
    "ACTIVITY_TYPE_CREATE_AUTHENTICATORS": lambda f: {
        "userId": f.fresh("user"),
        "authenticators": [SoftPasskey().older_params(f.user_id)],
    },
    "ACTIVITY_TYPE_CREATE_INVITATIONS": lambda f: {
        "invitations": [invitation_params(f.root_user_id, receiverUserTags=[f.user_tag_id])]
    },
    "ACTIVITY_TYPE_CREATE_MFA_POLICY": lambda f: mfa_policy_params(
        f.user_id, [{"type": "AUTHENTICATION_TYPE_PASSKEY", "id": f.authenticator_id}]
    ),
    "ACTIVITY_TYPE_CREATE_OAUTH_PROVIDERS_V2": lambda f: {
        "userId": f.fresh("user"),
        "oauthProviders": two_providers(),
    },
    "ACTIVITY_TYPE_CREATE_OAUTH_PROVIDERS": lambda f: {
        "userId": f.fresh("user"),
        "oauthProviders": [provider_by_token()],
    },
    "ACTIVITY_TYPE_CREATE_POLICIES": lambda f: {"policies": [_policy(), _policy()]},
    "ACTIVITY_TYPE_CREATE_POLICY_V3": lambda f: _policy(),
    "ACTIVITY_TYPE_CREATE_SMART_CONTRACT_INTERFACE": lambda f: interface_params(),
    "ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V9": lambda f: sub_organization(
        root_user(
            oauthProviders=[provider_by_claims(), provider_by_token()],
            walletAuthenticators=[wallet_params(new_wallet(), verificationToken=""), wallet_params(new_wallet())],
            **contacts(),
        ),
        root_user(walletAuthenticators=[wallet_params(new_wallet("Solana"))]),
        **OF_LATER_VERSIONS,
    ),
    "ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V8": lambda f: sub_organization(
        root_user(oauthProviders=[provider_by_claims(), provider_by_token()], **contacts()),
        root_user(),
        **OF_LATER_VERSIONS,
    ),
    "ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V7": lambda f: sub_organization(
        root_user(oauthProviders=[provider_by_token()], **contacts()), **OF_LATER_VERSIONS
    ),
    "ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V6": lambda f: sub_organization(
        root_user(oauthProviders=[provider_by_token()], userEmail="ada@example.com")
    ),
    "ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V5": lambda f: sub_organization(
        root_user(userEmail="ada@example.com", apiKeys=[older_api_key()])
    ),
    "ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V4": lambda f: sub_organization(oldest_root_user()),
    "ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V3": lambda f: {
        "subOrganizationName": unique("sub-organization"),
        "rootUsers": [oldest_root_user()],
        "rootQuorumThreshold": 1,
        "privateKeys": [private_key_params()],
    },
    "ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V2": lambda f: {
        "subOrganizationName": unique("sub-organization"),
        "rootUsers": [oldest_root_user()],
        "rootQuorumThreshold": 1,
    },
    "ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION": lambda f: {
        "name": unique("sub-organization"),
        "rootAuthenticator": SoftPasskey().params(),
    },
    **CODE_LOGINS,
    **PROXY_SUBMISSIONS,
    **WALLET_LOGINS,
    "ACTIVITY_TYPE_CREATE_USER_TAG": lambda f: {"userTagName": unique("tag"), "userIds": [f.user_id]},
    "ACTIVITY_TYPE_CREATE_USERS_V4": lambda f: {"users": [current_user(f)]},
    "ACTIVITY_TYPE_CREATE_USERS_V3": lambda f: {
        "users": [current_user(f) | {"oauthProviders": [provider_by_token()]}]
    },
    "ACTIVITY_TYPE_CREATE_USERS_V2": lambda f: {"users": [older_user(f, authenticators=[SoftPasskey().params()])]},
    "ACTIVITY_TYPE_CREATE_USERS": lambda f: {
        "users": [
            older_user(f, accessType="ACCESS_TYPE_API", authenticators=[SoftPasskey().older_params(f.user_id)])
        ]
    },
    "ACTIVITY_TYPE_CREATE_WALLET": lambda f: {
        "walletName": unique("wallet"),
        "accounts": [ETHEREUM_ACCOUNT | {"name": unique("account")}, SOLANA_ACCOUNT],
        "mnemonicLength": 24,
    },
    "ACTIVITY_TYPE_CREATE_WALLET_ACCOUNTS": lambda f: {
        "walletId": f.wallet_id,
        "accounts": [
            ETHEREUM_ACCOUNT | {"path": f"m/44'/60'/{secrets.randbelow(2**31)}'/0/0", "name": unique("account")}
        ],
        "persist": True,
    },
    "ACTIVITY_TYPE_CREATE_PRIVATE_KEYS_V2": lambda f: {
        "privateKeys": [
            private_key_params(privateKeyTags=[f.private_key_tag_id]),
            private_key_params(curve="CURVE_P256", addressFormats=[]),
        ]
    },
    "ACTIVITY_TYPE_CREATE_PRIVATE_KEYS": lambda f: {
        "privateKeys": [private_key_params(privateKeyTags=[f.private_key_tag_id])]
    },
    "ACTIVITY_TYPE_CREATE_PRIVATE_KEY_TAG": lambda f: {
        "privateKeyTagName": unique("tag"),
        "privateKeyIds": [f.private_key_id],
    },
    "ACTIVITY_TYPE_DELETE_API_KEYS": lambda f: {"userId": f.user_id, "apiKeyIds": [f.fresh("api_key")]},
    "ACTIVITY_TYPE_DELETE_AUTHENTICATORS": lambda f: {
        "userId": f.user_id,
        "authenticatorIds": [f.fresh("authenticator")],
    },
    "ACTIVITY_TYPE_DELETE_INVITATION": lambda f: {"invitationId": f.fresh("invitation")},
    "ACTIVITY_TYPE_DELETE_MFA_POLICY": lambda f: {"userId": f.user_id, "mfaPolicyId": f.fresh("mfa_policy")},
    "ACTIVITY_TYPE_DELETE_OAUTH_PROVIDERS": lambda f: {"userId": f.user_id, "providerIds": [f.fresh("provider")]},
    "ACTIVITY_TYPE_DELETE_POLICIES": lambda f: {"policyIds": [f.fresh("policy"), f.fresh("policy")]},
    "ACTIVITY_TYPE_DELETE_POLICY": lambda f: {"policyId": f.fresh("policy")},
    "ACTIVITY_TYPE_DELETE_PRIVATE_KEYS": lambda f: {
        "privateKeyIds": [f.fresh("private_key"), f.fresh("private_key")],
        "deleteWithoutExport": True,
    },
    "ACTIVITY_TYPE_DELETE_PRIVATE_KEY_TAGS": lambda f: {"privateKeyTagIds": [f.fresh("private_key_tag")]},
    "ACTIVITY_TYPE_DELETE_SMART_CONTRACT_INTERFACE": lambda f: {
        "smartContractInterfaceId": f.fresh("contract_interface")
    },
    "ACTIVITY_TYPE_DELETE_SUB_ORGANIZATION": lambda f: {"deleteWithoutExport": True},
    "ACTIVITY_TYPE_DELETE_USER_TAGS": lambda f: {"userTagIds": [f.fresh("user_tag"), f.fresh("user_tag")]},
    "ACTIVITY_TYPE_DELETE_USERS": lambda f: {"userIds": [f.fresh("user"), f.fresh("user")]},
    "ACTIVITY_TYPE_DELETE_WALLETS": lambda f: {"walletIds": [f.fresh("wallet")], "deleteWithoutExport": True},
    "ACTIVITY_TYPE_DELETE_WALLET_ACCOUNTS": lambda f: {
        "walletAccountIds": [f.fresh("wallet_account"), f.fresh("wallet_account")],
        "deleteWithoutExport": True,
    },
    "ACTIVITY_TYPE_EXPORT_PRIVATE_KEY": lambda f: {
        "privateKeyId": f.fresh("private_key"),
        "targetPublicKey": TARGET_PUBLIC_KEY,
    },
    "ACTIVITY_TYPE_INIT_IMPORT_SECRETS": lambda f: {"encryptionSuite": SECRET_SUITE, "numSecrets": 2},
    "ACTIVITY_TYPE_IMPORT_SECRETS": _sealed_secret,
    "ACTIVITY_TYPE_EXPORT_SECRETS": lambda f: {
        "secrets": [
            {
                "secretId": f.kept("secret"),
                "targetPublicKey": TARGET_PUBLIC_KEY,
                "encryptionSuite": SECRET_SUITE,
            }
        ]
    },
    "ACTIVITY_TYPE_DELETE_SECRETS": lambda f: {"secretIds": [f.fresh("secret")]},
    "ACTIVITY_TYPE_EXPORT_WALLET": lambda f: {
        "walletId": f.wallet_id,
        "targetPublicKey": TARGET_PUBLIC_KEY,
        "language": "MNEMONIC_LANGUAGE_SPANISH",
    },
    "ACTIVITY_TYPE_EXPORT_WALLET_ACCOUNT": lambda f: {
        "address": f.fresh("account_address"),
        "targetPublicKey": TARGET_PUBLIC_KEY,
    },
    "ACTIVITY_TYPE_IMPORT_PRIVATE_KEY": lambda f: {
        "userId": f.root_user_id,
        "privateKeyName": unique("key"),
        "encryptedBundle": f.fresh("sealed_private_key"),
        "curve": "CURVE_SECP256K1",
        "addressFormats": ["ADDRESS_FORMAT_ETHEREUM"],
    },
    "ACTIVITY_TYPE_IMPORT_WALLET": lambda f: {
        "userId": f.root_user_id,
        "walletName": unique("wallet"),
        "encryptedBundle": f.fresh("sealed_mnemonic"),
        "accounts": [ETHEREUM_ACCOUNT | {"name": unique("account")}, SOLANA_ACCOUNT],
    },
    "ACTIVITY_TYPE_INIT_IMPORT_PRIVATE_KEY": lambda f: {"userId": f.root_user_id},
    "ACTIVITY_TYPE_INIT_IMPORT_WALLET": lambda f: {"userId": f.root_user_id},
    **RULE_SUBMISSIONS,
    "ACTIVITY_TYPE_CREATE_WEBHOOK_ENDPOINT": lambda f: webhook_endpoint_params(),
    "ACTIVITY_TYPE_DELETE_WEBHOOK_ENDPOINT": lambda f: {"endpointId": f.fresh("webhook_endpoint")},
    "ACTIVITY_TYPE_UPDATE_WEBHOOK_ENDPOINT": lambda f: {
        "endpointId": f.fresh("webhook_endpoint"),
        "url": "https://hooks.example/other",
        "name": unique("endpoint"),
        "isActive": False,
    },
    "ACTIVITY_TYPE_REMOVE_ORGANIZATION_FEATURE": _removed_feature,
    "ACTIVITY_TYPE_SET_ORGANIZATION_FEATURE": lambda f: {"name": FEATURE, "value": "on"},
    "ACTIVITY_TYPE_SIGN_RAW_PAYLOAD_V2": lambda f: {"signWith": f.private_key_id, "payload": "ada", **HASHED_TEXT},
    "ACTIVITY_TYPE_SIGN_RAW_PAYLOAD": lambda f: {"privateKeyId": f.private_key_id, "payload": "ada", **HASHED_TEXT},
    "ACTIVITY_TYPE_SIGN_RAW_PAYLOADS": lambda f: {
        "signWith": f.private_key_id,
        "payloads": ["ada", "bob"],
        **HASHED_TEXT,
    },
    "ACTIVITY_TYPE_SIGN_TRANSACTION_V2": lambda f: {"signWith": f.private_key_id, **TRANSACTION},
    "ACTIVITY_TYPE_SIGN_TRANSACTION": lambda f: {"privateKeyId": f.private_key_id, **TRANSACTION},
    "ACTIVITY_TYPE_UPDATE_MFA_POLICY": lambda f: {
        "mfaPolicyId": f.mfa_policy_id,
        **mfa_policy_params(f.user_id, [{"type": "AUTHENTICATION_TYPE_API_KEY", "id": f.api_key_id}]),
    },
    "ACTIVITY_TYPE_UPDATE_ORGANIZATION_NAME": lambda f: {"organizationName": "Keystead GmbH"},
    "ACTIVITY_TYPE_UPDATE_POLICY_V2": lambda f: (
        _changed_policy(f) | {"time": "time.now > Timestamp('2000-01-01T00:00:00Z')"}
    ),
    "ACTIVITY_TYPE_UPDATE_POLICY": _changed_policy,
    "ACTIVITY_TYPE_UPDATE_ROOT_QUORUM": lambda f: {"threshold": 1, "userIds": [f.root_user_id]},
    "ACTIVITY_TYPE_UPDATE_USER": lambda f: {
        "userId": f.user_id,
        "userName": unique("user"),
        "userTagIds": [f.user_tag_id],
        **contacts(),
    },
    "ACTIVITY_TYPE_UPDATE_USER_EMAIL": lambda f: {
        "userId": f.user_id,
        "userEmail": "ada@example.com",
        "verificationToken": "",
    },
    "ACTIVITY_TYPE_UPDATE_USER_NAME": lambda f: {"userId": f.user_id, "userName": unique("user")},
    "ACTIVITY_TYPE_UPDATE_USER_PHONE_NUMBER": lambda f: {
        "userId": f.user_id,
        "userPhoneNumber": "+14155550123",
        "verificationToken": "",
    },
    "ACTIVITY_TYPE_UPDATE_USER_TAG": lambda f: {
        "userTagId": f.user_tag_id,
        "newUserTagName": unique("tag"),
        "addUserIds": [f.user_id],
        "removeUserIds": [f.root_user_id],
    },
    "ACTIVITY_TYPE_UPDATE_PRIVATE_KEY_TAG": lambda f: {
        "privateKeyTagId": f.private_key_tag_id,
        "newPrivateKeyTagName": unique("tag"),
        "addPrivateKeyIds": [f.private_key_id],
        "removePrivateKeyIds": [f.fresh("private_key")],
    },
    "ACTIVITY_TYPE_UPDATE_WALLET": lambda f: {"walletId": f.wallet_id, "walletName": unique("wallet")},
    "ACTIVITY_TYPE_UPDATE_WALLET_ACCOUNT_NAME": lambda f: {
        "walletAccountId": f.fresh("wallet_account"),
        "name": unique("account"),
    },
    "ACTIVITY_TYPE_APPROVE_ACTIVITY": lambda f: {"fingerprint": f.fresh("waiting")},
    "ACTIVITY_TYPE_REJECT_ACTIVITY": lambda f: {"fingerprint": f.fresh("waiting")},
}
"""The parameters, by activity type."""

ANSWERED_WITH_ANOTHER = {
    "ACTIVITY_TYPE_APPROVE_ACTIVITY": "ACTIVITY_STATUS_COMPLETED",
    "ACTIVITY_TYPE_REJECT_ACTIVITY": "ACTIVITY_STATUS_REJECTED",
}
"""Types whose answer is the activity that they are about, and the status that the example brings it into."""


def submitter(activity_type: str, root: Caller) -> Caller:
    """Who submits the example in the root user's place: a sub-organization is deleted by its own root user, and a
    user is recovered by a recovery key of that user."""
    if activity_type == "ACTIVITY_TYPE_RECOVER_USER":
        # The messages to one address are limited.
        address = {"userId": root.user_id, "userEmail": f"{unique('recovered').replace(' ', '-')}@example.com"}
        root.submitted("update_user_email", address)
        return recovering(root, root)
    if activity_type != "ACTIVITY_TYPE_DELETE_SUB_ORGANIZATION":
        return root
    key = generate_api_key()
    made = root.result(
        "create_sub_organization", sub_organization(root_user(apiKeys=[api_key_params(key.public_key)]))
    )
    return root.with_key(key, made["rootUserIds"][0], made["subOrganizationId"])


def examples_of(operation: Operation) -> dict[str, Make]:
    """The example by activity type, or by the query's name; empty if the tables lack the operation."""
    names = operation.activity_types or (operation.name,)
    return {name: (QUERIES | SUBMISSIONS)[name] for name in names if name in QUERIES | SUBMISSIONS}


EXAMPLED = [operation for operation in CATALOGUE if examples_of(operation)]
"""The operations of the tables: all of them, when `test_examples` passes."""


def example_body(caller: Caller, operation: Operation, record_ids: RecordIds, activity_type: str = "") -> bytes:
    """A valid request, of the current activity type if none is named."""
    if operation.kind == "query":
        return caller.query_body(**QUERIES[operation.name](record_ids))
    activity_type = activity_type or operation.activity_types[0]
    return caller.submit_body(operation.name, SUBMISSIONS[activity_type](record_ids), type=activity_type)
