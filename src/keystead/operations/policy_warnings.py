"""Warnings about policies: a query of ours, and what the server logs. Not here: the warnings
(`policies.linting`)."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

from keystead.api.enums import TagType
from keystead.api.parameters import QueryRequest
from keystead.api.records import Policy, Wire
from keystead.operations.declare import Reading, query
from keystead.organizations.organization import Organization
from keystead.pipeline.environment import Rules
from keystead.policies.linting.literals import Known
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
    """In order of the policies' creation."""

    policy_warnings: tuple[PolicyWarningRecord, ...]


@query(of_version=True)
async def list_policy_warnings(reading: Reading, _: ListPolicyWarningsRequest) -> ListPolicyWarningsResponse:
    """Warnings about policies: those that never apply, deny nothing, or can be bypassed."""
    found = await warnings_of(reading.organization, reading.open_activities.environment.rules)
    return ListPolicyWarningsResponse(
        policy_warnings=tuple(
            [
                PolicyWarningRecord(
                    policy_id=warning.policy_id,
                    policy_name=warning.policy_name,
                    code=warning.code,
                    message=warning.message,
                )
                for warning in found
            ]
        )
    )


async def warnings_of(
    organization: Organization,
    rules: Rules,
    policy_ids: Collection[str] | None = None,
    *,
    unsaved: Policy | None = None,
) -> list[PolicyWarning]:
    """The warnings of the organization's policies, or of these alone. Other requests run in between.

    `unsaved`: a policy beside those of the organization.
    """
    policies = organization.policies.in_order()
    found: list[PolicyWarning] = []
    for warnings in policy_warnings(
        policies if unsaved is None else [*policies, unsaved],
        _known(organization),
        ServerSettings(
            fails_closed=rules.authorization.deny_policies_fail_closed,
            refuses_raw_payloads=rules.authorization.refuse_raw_payloads,
            legacy_without_chain_id=rules.transactions.legacy_without_chain_id,
        ),
        policy_ids,
    ):
        found += warnings
        await asyncio.sleep(0)
    return found


def _known(organization: Organization) -> Known:
    tags = organization.tags.values()
    return Known(
        users=frozenset(organization.users),
        user_tags=frozenset(tag.tag_id for tag in tags if tag.tag_type is TagType.USER),
        wallets=frozenset(organization.wallets),
        private_keys=frozenset(organization.private_keys),
        private_key_tags=frozenset(tag.tag_id for tag in tags if tag.tag_type is TagType.PRIVATE_KEY),
    )
