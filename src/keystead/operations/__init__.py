"""Every endpoint, one module per subject. Importing this room fills the catalogue."""

from keystead.operations import (
    activities,
    api_keys,
    authenticators,
    mfa_policies,
    oauth_providers,
    organizations,
    smart_contract_interfaces,
    user_tags,
    users,
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
    "mfa_policies",
    "oauth_providers",
    "organizations",
    "smart_contract_interfaces",
    "user_tags",
    "users",
    "wallets",
]
