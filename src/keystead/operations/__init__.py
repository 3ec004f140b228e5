"""Every operation, one module per subject. Importing this package fills the catalogue."""

# ruff: noqa: F401 - the modules declare operations when they are imported
import keystead.operations.activities
import keystead.operations.activity_counts
import keystead.operations.activity_descriptions
import keystead.operations.auth_proxy.auth_proxies
import keystead.operations.logins.email_auth
import keystead.operations.logins.email_events
import keystead.operations.logins.email_recovery
import keystead.operations.logins.logins
import keystead.operations.logins.oauth2_credentials
import keystead.operations.logins.otp_logins
import keystead.operations.logins.read_only_sessions
import keystead.operations.logins.read_write_sessions
import keystead.operations.logins.session_profiles
import keystead.operations.logins.starting_codes
import keystead.operations.logins.verifying_codes
import keystead.operations.logins.wallet_logins
import keystead.operations.organizations.ip_allowlists
import keystead.operations.organizations.operator_recovery
import keystead.operations.organizations.organization_data
import keystead.operations.organizations.organization_settings
import keystead.operations.organizations.organizations
import keystead.operations.organizations.sub_organization_names
import keystead.operations.organizations.sub_organizations
import keystead.operations.organizations.webhook_endpoints
import keystead.operations.policies.active_policies
import keystead.operations.policies.policies
import keystead.operations.policies.policy_checking
import keystead.operations.policies.policy_explanations
import keystead.operations.policies.policy_trials
import keystead.operations.policies.policy_warnings
import keystead.operations.policies.velocity_controls
import keystead.operations.refused_requests
import keystead.operations.users.api_keys
import keystead.operations.users.authenticators
import keystead.operations.users.invitations
import keystead.operations.users.mfa_policies
import keystead.operations.users.oauth_providers
import keystead.operations.users.user_changes
import keystead.operations.users.user_tags
import keystead.operations.users.users
import keystead.operations.users.wallet_authenticators
import keystead.operations.votes
import keystead.operations.wallets.exporting
import keystead.operations.wallets.importing
import keystead.operations.wallets.private_key_tags
import keystead.operations.wallets.private_keys
import keystead.operations.wallets.secrets
import keystead.operations.wallets.signing
import keystead.operations.wallets.smart_contract_interfaces
import keystead.operations.wallets.wallet_accounts
import keystead.operations.wallets.wallets
from keystead.operations.declare import CATALOGUE, QueryOperation, Reading

__all__ = ["CATALOGUE", "QueryOperation", "Reading"]
