"""Every endpoint, one module per subject. Importing this room fills the catalogue."""

from keystead.operations import (
    activities,
    api_keys,
    authenticators,
    invitations,
    mfa_policies,
    oauth_providers,
    organization_settings,
    organizations,
    policies,
    smart_contract_interfaces,
    sub_organizations,
    user_changes,
    user_tags,
    users,
    votes,
    wallets,
)
from keystead.operations.declare import CATALOGUE, QueryOperation, Reading

__all__ = [
    "CATALOGUE",
    "QueryOperation",
    "Reading",
    "activities",
    "api_keys",
    "authenticators",
    "invitations",
    "mfa_policies",
    "oauth_providers",
    "organization_settings",
    "organizations",
    "policies",
    "smart_contract_interfaces",
    "sub_organizations",
    "user_changes",
    "user_tags",
    "users",
    "votes",
    "wallets",
]
