"""The users, policies, root quorum, ids and policy warnings of an organization, read from its server."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from keystead.api.records import Policy, User
from keystead.cli.failure import Failure
from keystead.client.client import Client
from keystead.client.errors import NotFound, NotImplementedByServer
from keystead.client.leniency import convert_leniently
from keystead.organizations.kinds.profile import RootQuorum
from keystead.policies.linting.literals import KnownIds
from keystead.policies.linting.warnings import PolicyWarning, WarningCode


class OrganizationRules(msgspec.Struct, frozen=True, kw_only=True):
    """The users, policies and root quorum of an organization, in the order of their creation."""

    users: tuple[User, ...]
    policies: tuple[Policy, ...]
    root_quorum: RootQuorum

    def user_name(self, user_id: str) -> str:
        return next((user.user_name for user in self.users if user.user_id == user_id), user_id)

    def policy_name(self, policy_id: str) -> str:
        return next((policy.policy_name for policy in self.policies if policy.policy_id == policy_id), policy_id)


def rules_of(client: Client) -> OrganizationRules:
    """Read the rules. Raises Failure if the server's answer cannot be read, and the errors of `Client`."""
    quorum = client.query("get_organization_configs")["configs"]["quorum"]
    return OrganizationRules(
        users=_records(client, "list_users", "users", tuple[User, ...]),
        policies=_records(client, "list_policies", "policies", tuple[Policy, ...]),
        root_quorum=RootQuorum(quorum["threshold"], tuple(quorum["userIds"])),
    )


def known_ids(client: Client) -> KnownIds:
    """The ids that policies can name. A kind of id is None if the server does not list it."""
    return KnownIds(
        users=_ids(client, "list_users", "users", "userId"),
        user_tags=_ids(client, "list_user_tags", "userTags", "tagId"),
        wallets=_ids(client, "list_wallets", "wallets", "walletId"),
        private_keys=_ids(client, "list_private_keys", "privateKeys", "privateKeyId"),
        private_key_tags=_ids(client, "list_private_key_tags", "privateKeyTags", "tagId"),
        are_uuids=True,
    )


def _ids(client: Client, query: str, member: str, name: str) -> frozenset[str] | None:
    try:
        return frozenset(record[name] for record in client.query(query)[member])
    except (NotFound, NotImplementedByServer):
        return None


def policy_record(answer: dict[str, Any]) -> Policy:
    """A policy as `list_policies` answers it. Raises Failure if it cannot be read."""
    return cast("Policy", _convert(answer, Policy, "list_policies"))


def _records(client: Client, query: str, member: str, kind: Any) -> Any:
    return _convert(client.query(query).get(member), kind, query)


def _convert(answer: Any, kind: Any, query: str) -> Any:
    try:
        return convert_leniently(answer, kind)
    except msgspec.ValidationError as refused:
        raise Failure(
            f"the answer to query/{query} cannot be read: {refused}; is the server of another version, or set to "
            "another form of answers?"
        ) from refused


def live_warnings(client: Client) -> list[PolicyWarning]:
    """The warnings about the organization's policies; none if the server does not know this query."""
    try:
        answer = client.query("list_policy_warnings")["policyWarnings"]
    except (NotFound, NotImplementedByServer):
        return []
    return [
        PolicyWarning(warning["policyId"], warning["policyName"], WarningCode(warning["code"]), warning["message"])
        for warning in answer
    ]
