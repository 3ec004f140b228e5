"""Warnings about policies: a query of ours, and what the server logs. Not here: the warnings
(`policies.linting`)."""

from __future__ import annotations

import time
from collections.abc import Collection

from keystead.api.enums import TagType
from keystead.api.parameters import QueryRequest
from keystead.api.records import Policy, Wire
from keystead.operations.declare import Reading, query
from keystead.organizations.organization import Organization
from keystead.pipeline.environment import Environment
from keystead.pipeline.long_work import LONG_S
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
    """In order of the policies' creation; then those of MFA policies."""

    policy_warnings: tuple[PolicyWarningRecord, ...]


@query(of_version=True)
async def list_policy_warnings(reading: Reading, _: ListPolicyWarningsRequest) -> ListPolicyWarningsResponse:
    """Warnings about policies and MFA policies: those that never apply, deny nothing, or can be bypassed."""
    found = await warnings_of(reading.organization, reading.open_activities.environment)
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
    environment: Environment,
    policy_ids: Collection[str] | None = None,
    *,
    unsaved: Policy | None = None,
) -> list[PolicyWarning]:
    """The warnings of the organization's policies and MFA policies, or of those with these ids alone. Other
    requests run in between.

    `unsaved`: a policy beside those of the organization.
    """
    policies = organization.policies.in_order()
    found: list[PolicyWarning] = []
    settings = environment.settings
    steps = policy_warnings(
        policies if unsaved is None else [*policies, unsaved],
        _known(organization),
        ServerSettings(
            fails_closed=settings.authorization.deny_policies_fail_closed,
            refuses_raw_payloads=settings.authorization.refuse_raw_payloads,
            legacy_without_chain_id=settings.transactions.legacy_without_chain_id,
        ),
        policy_ids,
        [user.mfa_policies for user in organization.users.values() if user.mfa_policies],
    )
    is_done = False
    while not is_done:
        async with environment.long_work.turn(organization.id):
            until_s = time.thread_time() + LONG_S
            while not is_done and time.thread_time() < until_s:
                warnings = next(steps, None)
                is_done = warnings is None
                found += warnings or ()
    return found


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
