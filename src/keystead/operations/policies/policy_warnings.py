"""Warnings about policies: a query of our own. The server logs the same warnings (`server.activity_warnings`).

Not here: the warnings (`policies.linting`).
"""

from __future__ import annotations

from collections.abc import Collection

from keystead.api.enums import TagType
from keystead.api.parameters import QueryRequest
from keystead.api.records import Policy, Wire
from keystead.operations.declare import Reading, query
from keystead.organizations.organization import Organization
from keystead.pipeline.environment import Environment
from keystead.pipeline.operation import alternatives
from keystead.policies.linting.literals import KnownIds
from keystead.policies.linting.warnings import PolicyWarning, ServerSettings, policy_warnings


class ListPolicyWarningsRequest(QueryRequest, frozen=True):
    pass


class PolicyWarningRecord(Wire, frozen=True):
    """`code` is one of `policies.linting.warnings.WarningCode`; `message` a sentence for the author of the
    policy."""

    policy_id: str
    policy_name: str
    code: str
    message: str


class ListPolicyWarningsResponse(Wire, frozen=True):
    """Warnings about policies, in the order of creation of the policies; then warnings about MFA policies."""

    policy_warnings: tuple[PolicyWarningRecord, ...]


@query(of_version=True, own=True)
async def list_policy_warnings(reading: Reading, _: ListPolicyWarningsRequest) -> ListPolicyWarningsResponse:
    """Warnings about policies and MFA policies: those that never apply, deny nothing, or can be bypassed."""
    warnings = await warnings_of(reading.organization, reading.environment)
    return ListPolicyWarningsResponse(policy_warnings=tuple(map(warning_record, warnings)))


def warning_record(warning: PolicyWarning) -> PolicyWarningRecord:
    return PolicyWarningRecord(
        policy_id=warning.policy_id, policy_name=warning.policy_name, code=warning.code, message=warning.message
    )


async def warnings_of(
    organization: Organization,
    environment: Environment,
    policy_ids: Collection[str] | None = None,
    *,
    unsaved: Policy | None = None,
) -> list[PolicyWarning]:
    """The warnings about the organization's policies and MFA policies. Other requests run in between.

    `policy_ids`: only policies with these ids. `unsaved`: a further policy, which the organization does not have.
    """
    policies = organization.policies.in_order()
    collected: list[PolicyWarning] = []
    settings = environment.settings
    steps = policy_warnings(
        policies if unsaved is None else [*policies, unsaved],
        _known(organization),
        ServerSettings(refuses_raw_payloads=settings.refuse_raw_payloads),
        alternatives(environment.catalogue),
        policy_ids,
        [user.mfa_policies for user in organization.users.values() if user.mfa_policies],
    )
    await environment.share.each(organization.id, collected.extend, steps)
    return collected


def _known(organization: Organization) -> KnownIds:
    tags = organization.tags.values()
    return KnownIds(
        users=frozenset(organization.users),
        user_tags=frozenset(tag.tag_id for tag in tags if tag.tag_type is TagType.USER),
        wallets=frozenset(organization.wallets),
        private_keys=frozenset(organization.private_keys),
        private_key_tags=frozenset(tag.tag_id for tag in tags if tag.tag_type is TagType.PRIVATE_KEY),
        are_uuids=True,
    )
