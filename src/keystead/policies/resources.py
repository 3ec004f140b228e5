"""The kind, resource and action of each activity in policies: the data, and how a type is looked up in it.

Not here: which of these activities this service executes (`operations`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from keystead.api.catalogue import activity_kind


class ActivityAttributes(NamedTuple):
    """What policies see of an activity type: `activity.kind`, `activity.resource` and `activity.action`."""

    kind: str
    resource: str
    action: str


_KINDS: Mapping[str, Mapping[str, str]] = {
    "AUTH": {
        "CREATE": (
            "EMAIL_AUTH INIT_OTP_AUTH OTP_AUTH OAUTH OAUTH_LOGIN OTP_LOGIN STAMP_LOGIN CREATE_READ_WRITE_SESSION"
            " CREATE_READ_ONLY_SESSION CREATE_OAUTH2_CREDENTIAL OAUTH2_AUTHENTICATE"
        ),
        "UPDATE": "UPDATE_OAUTH2_CREDENTIAL",
        "DELETE": "DELETE_OAUTH2_CREDENTIAL",
        "VERIFY": "VERIFY_WALLET_AUTHENTICATOR",
    },
    "AUTH_PROXY": {
        "CREATE": "ENABLE_AUTH_PROXY",
        "UPDATE": "UPDATE_AUTH_PROXY_CONFIG",
        "DELETE": "DISABLE_AUTH_PROXY",
    },
    "CONFIG": {"UPDATE": "UPDATE_ALLOWED_ORIGINS SET_IP_ALLOWLIST REMOVE_IP_ALLOWLIST"},
    "CREDENTIAL": {
        "CREATE": "CREATE_API_KEYS CREATE_AUTHENTICATORS CREATE_OAUTH_PROVIDERS CREATE_WALLET_AUTHENTICATORS"
        " RECOVER_USER",
        "DELETE": "DELETE_API_KEYS DELETE_AUTHENTICATORS DELETE_OAUTH_PROVIDERS DELETE_WALLET_AUTHENTICATORS",
    },
    "FIAT_TRANSACTION": {"CREATE": "INIT_FIAT_ON_RAMP"},
    "INVITATION": {"CREATE": "CREATE_INVITATIONS", "DELETE": "DELETE_INVITATION"},
    "MFA_POLICY": {"CREATE": "CREATE_MFA_POLICY", "UPDATE": "UPDATE_MFA_POLICY", "DELETE": "DELETE_MFA_POLICY"},
    "ON_RAMP_CREDENTIALS": {
        "CREATE": "CREATE_FIAT_ON_RAMP_CREDENTIAL",
        "UPDATE": "UPDATE_FIAT_ON_RAMP_CREDENTIAL",
        "DELETE": "DELETE_FIAT_ON_RAMP_CREDENTIAL",
    },
    "ORGANIZATION": {"CREATE": "CREATE_SUB_ORGANIZATION", "DELETE": "DELETE_ORGANIZATION DELETE_SUB_ORGANIZATION"},
    "OTP": {"CREATE": "INIT_OTP", "VERIFY": "VERIFY_OTP"},
    "PAYMENT_METHOD": {"UPDATE": "SET_PAYMENT_METHOD", "DELETE": "DELETE_PAYMENT_METHOD"},
    "POLICY": {
        "CREATE": "CREATE_POLICY CREATE_POLICIES",
        "UPDATE": "UPDATE_POLICY",
        "DELETE": "DELETE_POLICY DELETE_POLICIES",
    },
    "PRIVATE_KEY": {
        "CREATE": "CREATE_PRIVATE_KEYS CREATE_PRIVATE_KEY_TAG",
        "UPDATE": "UPDATE_PRIVATE_KEY_TAG",
        "DELETE": "DISABLE_PRIVATE_KEY DELETE_PRIVATE_KEY_TAGS DELETE_PRIVATE_KEYS",
        "EXPORT": "EXPORT_PRIVATE_KEY",
        "IMPORT": "INIT_IMPORT_PRIVATE_KEY IMPORT_PRIVATE_KEY",
        # The resource is PRIVATE_KEY also if the account of a wallet signs.
        "SIGN": (
            "SIGN_RAW_PAYLOAD SIGN_RAW_PAYLOADS SIGN_TRANSACTION ETH_SEND_TRANSACTION SOL_SEND_TRANSACTION"
            " ETH_UNDELEGATE_7702 EXECUTE_SWAP SPARK_SIGN_FROST SPARK_PREPARE_TRANSFER SPARK_CLAIM_TRANSFER"
            " SPARK_PREPARE_LIGHTNING_RECEIVE"
        ),
    },
    "RECOVERY": {"CREATE": "INIT_USER_EMAIL_RECOVERY"},
    "SECRET": {
        "IMPORT": "INIT_IMPORT_SECRETS IMPORT_SECRETS",
        "EXPORT": "EXPORT_SECRETS",
        "DELETE": "DELETE_SECRETS",
    },
    "SESSION_PROFILE": {"CREATE": "CREATE_SESSION_PROFILE"},
    "SMART_CONTRACT_INTERFACE": {
        "CREATE": "CREATE_SMART_CONTRACT_INTERFACE",
        "DELETE": "DELETE_SMART_CONTRACT_INTERFACE",
    },
    "SPONSORSHIP": {"UPDATE": "UPSERT_GAS_USAGE_CONFIG"},
    "SUBSCRIPTION": {"CREATE": "ACTIVATE_BILLING_TIER"},
    "TVC_APP": {
        "CREATE": "CREATE_TVC_APP",
        "UPDATE": "UPDATE_TVC_APP_LIVE_DEPLOYMENT",
        "DELETE": "DELETE_TVC_APP_AND_DEPLOYMENTS",
    },
    "TVC_DEPLOYMENT": {
        "CREATE": "CREATE_TVC_DEPLOYMENT",
        "UPDATE": "CREATE_TVC_MANIFEST_APPROVALS RESTORE_TVC_DEPLOYMENT POST_TVC_QUORUM_KEY_SHARE",
        "DELETE": "DELETE_TVC_DEPLOYMENT",
    },
    "TVC_OPERATOR": {"CREATE": "CREATE_TVC_OPERATOR"},
    "TVC_QUORUM_KEY": {"CREATE": "CREATE_TVC_QUORUM_KEY", "ENCRYPT": "RE_ENCRYPT_TVC_QUORUM_KEY_SHARE"},
    "USER": {
        "CREATE": "CREATE_USERS CREATE_USER_TAG CREATE_API_ONLY_USERS",
        "UPDATE": "UPDATE_USER UPDATE_USER_NAME UPDATE_USER_EMAIL UPDATE_USER_PHONE_NUMBER UPDATE_USER_TAG",
        "DELETE": "DELETE_USERS DELETE_USER_TAGS",
    },
    "VELOCITY_CONTROL": {"CREATE": "CREATE_VELOCITY_CONTROL", "DELETE": "DELETE_VELOCITY_CONTROL"},
    "WALLET": {
        "CREATE": "CREATE_WALLET CREATE_WALLET_ACCOUNTS",
        "UPDATE": "UPDATE_WALLET UPDATE_WALLET_ACCOUNT_NAME",
        "DELETE": "DELETE_WALLETS DELETE_WALLET_ACCOUNTS",
        "EXPORT": "EXPORT_WALLET EXPORT_WALLET_ACCOUNT",
        "IMPORT": "INIT_IMPORT_WALLET IMPORT_WALLET",
    },
    "WEBHOOK_ENDPOINT": {
        "CREATE": "CREATE_WEBHOOK_ENDPOINT",
        "UPDATE": "UPDATE_WEBHOOK_ENDPOINT",
        "DELETE": "DELETE_WEBHOOK_ENDPOINT",
    },
}
"""Kinds by resource and action."""

GOVERNED_KINDS: Mapping[str, ActivityAttributes] = {
    kind: ActivityAttributes(kind, resource, action)
    for resource, actions in _KINDS.items()
    for action, kinds in actions.items()
    for kind in kinds.split()
}
"""Every kind of activity that policies govern, with its attributes."""

ROOT_ONLY: frozenset[str] = frozenset(
    {"UPDATE_ROOT_QUORUM", "SET_ORGANIZATION_FEATURE", "REMOVE_ORGANIZATION_FEATURE", "UPDATE_ORGANIZATION_NAME"}
)
"""Kinds that only the root quorum may submit. Policies do not decide them; MFA policies and scopes of sessions read
them."""

VOTES: frozenset[str] = frozenset({"APPROVE_ACTIVITY", "REJECT_ACTIVITY"})
"""Kinds that nothing decides: what they vote on is decided."""

OWN_RIGHTS: frozenset[str] = frozenset(
    {
        "CREATE_API_KEYS",
        "CREATE_AUTHENTICATORS",
        "CREATE_OAUTH_PROVIDERS",
        "CREATE_WALLET_AUTHENTICATORS",
        "DELETE_API_KEYS",
        "DELETE_AUTHENTICATORS",
        "DELETE_OAUTH_PROVIDERS",
        "DELETE_WALLET_AUTHENTICATORS",
        "CREATE_READ_ONLY_SESSION",
        "CREATE_READ_WRITE_SESSION",
        "STAMP_LOGIN",
        "RECOVER_USER",
    }
)
"""Kinds that users may submit about themselves unless a policy denies it: changing credentials, beginning
sessions."""


def attributes_of(activity_type: str) -> ActivityAttributes | None:
    """The attributes of an activity type, the same for all versions; None if nothing decides about its kind."""
    kind = activity_kind(activity_type)
    if kind in ROOT_ONLY:
        return ActivityAttributes(kind, "ORGANIZATION", "UPDATE")
    return GOVERNED_KINDS.get(kind)
