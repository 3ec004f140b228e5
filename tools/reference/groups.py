"""Which page of the reference an operation is on. Not here: what the page says (`pages`)."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from keystead.api.catalogue import Operation


class Group(Struct, frozen=True):
    """One page: its file name without suffix, its title, and the modules of `keystead.operations` on it."""

    name: str
    title: str
    modules: tuple[str, ...]


GROUPS = (
    Group(
        "organizations",
        "Organizations",
        ("organizations", "organization_data", "organization_settings", "sub_organizations"),
    ),
    Group("users", "Users, tags and invitations", ("users", "user_changes", "user_tags", "invitations")),
    Group("credentials", "Credentials", ("api_keys", "authenticators", "oauth_providers")),
    Group("activities", "Activities and votes", ("activities", "votes")),
    Group("policies", "Policies", ("policies", "active_policies", "policy_warnings")),
    Group("mfa-policies", "MFA policies", ("mfa_policies",)),
    Group("contract-interfaces", "Contract interfaces", ("smart_contract_interfaces",)),
    Group("wallets", "Wallets", ("wallets", "wallet_accounts")),
    Group("private-keys", "Private keys", ("private_keys", "private_key_tags")),
    Group("signing", "Signing", ("signing",)),
    Group("exports-and-imports", "Exports and imports", ("exporting", "importing")),
    Group(
        "sessions",
        "Sessions and logins",
        ("logins", "read_only_sessions", "read_write_sessions", "session_profiles"),
    ),
    Group(
        "one-time-codes",
        "One-time codes, e-mail, recovery",
        ("starting_codes", "verifying_codes", "otp_logins", "email_auth", "email_recovery", "email_events"),
    ),
    Group("oauth2", "OAuth 2.0 providers", ("oauth2_credentials",)),
    Group("auth-proxies", "Authentication proxies", ("auth_proxies",)),
)


def grouped(operations: Iterable[Operation]) -> list[tuple[Group, list[Operation]]]:
    """The operations by page. A module that no group names has a page of its own."""
    of_module = {module: group for group in GROUPS for module in group.modules}
    found: dict[Group, list[Operation]] = {group: [] for group in GROUPS}
    for operation in operations:
        module = operation.module.rpartition(".")[2]
        group = of_module.get(module) or _own(module)
        found.setdefault(group, []).append(operation)
    return [(group, members) for group, members in found.items() if members]


def _own(module: str) -> Group:
    words = module.replace("_", " ")
    return Group(module.replace("_", "-"), words[0].upper() + words[1:], (module,))
