"""IP allow-lists of an organization and of its API keys: set, remove, get.

Not here: which addresses a list has, and which list applies (`organizations.ip_allowlists`).
"""

from __future__ import annotations

import json
from typing import Annotated

from msgspec import Meta

from keystead.api.enums import OnEvaluationError
from keystead.api.errors import InvalidRequest, NotFound
from keystead.api.parameters import QueryRequest, RequestStruct, ShortText
from keystead.api.records import IpAllowlistRule, Wire
from keystead.operations.declare import Reading, activity, query
from keystead.organizations.api_keys import normalized_public_key
from keystead.organizations.ip_allowlists import RULES_MAX, networks_of_rules
from keystead.organizations.kinds.ip_allowlists import IP_ALLOWLISTS, IpAllowlist, IpAllowlists
from keystead.organizations.limits import check_limit
from keystead.organizations.organization import Organization, Put, Remove
from keystead.pipeline.execution_values import Execution, ExecutionOutput

PublicKeyText = Annotated[str, Meta(max_length=200)]
"""The public key of an API key, in hex. Absent or "": the whole organization."""


class IpAllowlistRuleParams(RequestStruct, frozen=True):
    cidr: Annotated[str, Meta(max_length=100)]
    label: ShortText | None = None


class SetIpAllowlistIntent(RequestStruct, frozen=True):
    """`enabled`: for the organization's list only. `on_evaluation_error`: DENY if absent."""

    rules: Annotated[tuple[IpAllowlistRuleParams, ...], Meta(max_length=10 * RULES_MAX)]
    public_key: PublicKeyText | None = None
    enabled: bool | None = None
    on_evaluation_error: OnEvaluationError | None = None


class SetIpAllowlistResult(Wire, frozen=True):
    pass


@activity("ACTIVITY_TYPE_SET_IP_ALLOWLIST", also_does=("REMOVE_IP_ALLOWLIST",))
def set_ip_allowlist(execution: Execution, intent: SetIpAllowlistIntent) -> ExecutionOutput[SetIpAllowlistResult]:
    """Set from which networks requests to the organization, or with one API key, may come."""
    organization, public_key = (
        _checked_parent(execution.organization),
        normalized_public_key(intent.public_key or ""),
    )
    lists = organization.of(IpAllowlists)
    if public_key:
        if public_key not in organization.users.by_public_key:
            raise NotFound(f"unable to find API key {json.dumps(public_key)} in organization {organization.id}")
        if intent.enabled is False:
            raise InvalidRequest(
                "invalid request: field `parameters.enabled`: the allow-list of an API key is always enabled; "
                "leave the field out, or use remove_ip_allowlist"
            )
    elif intent.enabled is None:
        raise InvalidRequest(
            "invalid request: field `parameters.enabled` is missing: true enforces the organization's allow-list, "
            "false only stores it"
        )
    keys = organization.users.by_public_key
    of_deleted_keys = [key for key in lists if key and key not in keys]
    check_limit(len(lists) - len(of_deleted_keys), 0 if public_key in lists else 1, IP_ALLOWLISTS, execution.limits)
    networks = networks_of_rules((rule.cidr for rule in intent.rules), "parameters.rules")
    record = IpAllowlist(
        public_key=public_key,
        enabled=intent.enabled is not False,
        rules=tuple(
            IpAllowlistRule(
                cidr=str(network), label=intent.rules[index].label or "", created_at=str(execution.now_ms)
            )
            for network, index in networks.items()
        ),
        on_evaluation_error=intent.on_evaluation_error or OnEvaluationError.DENY,
    )
    removed = [Remove(IpAllowlist, key) for key in of_deleted_keys]
    return ExecutionOutput(result=SetIpAllowlistResult(), changes=(*removed, Put(record)))


class RemoveIpAllowlistIntent(RequestStruct, frozen=True):
    public_key: PublicKeyText | None = None


class RemoveIpAllowlistResult(Wire, frozen=True):
    pass


@activity("ACTIVITY_TYPE_REMOVE_IP_ALLOWLIST", also_does=("SET_IP_ALLOWLIST",))
def remove_ip_allowlist(
    execution: Execution, intent: RemoveIpAllowlistIntent
) -> ExecutionOutput[RemoveIpAllowlistResult]:
    """Remove the allow-list of the organization, or of one API key."""
    organization, public_key = (
        _checked_parent(execution.organization),
        normalized_public_key(intent.public_key or ""),
    )
    if public_key not in organization.of(IpAllowlists):
        of_key = f" for API key {json.dumps(public_key)}" if public_key else ""
        raise NotFound(f"organization {organization.id} has no IP allow-list{of_key}")
    return ExecutionOutput(result=RemoveIpAllowlistResult(), changes=(Remove(IpAllowlist, public_key),))


class ShownIpAllowlist(Wire, frozen=True):
    """`enabled` is for the organization's list only; `public_key` for the list of an API key only."""

    organization_id: str
    rules: tuple[IpAllowlistRule, ...]
    public_key: str | None = None
    enabled: bool | None = None
    on_evaluation_error: OnEvaluationError | None = None


class GetIpAllowlistRequest(QueryRequest, frozen=True):
    public_key: PublicKeyText | None = None


class GetIpAllowlistResponse(Wire, frozen=True):
    allowlist: ShownIpAllowlist


@query()
def get_ip_allowlist(reading: Reading, request: GetIpAllowlistRequest) -> GetIpAllowlistResponse:
    """The IP allow-list of the organization, or of one API key. Without an allow-list, the answer has no rules."""
    public_key = normalized_public_key(request.public_key or "")
    allowlist = reading.organization.of(IpAllowlists).get(public_key)
    return GetIpAllowlistResponse(
        allowlist=ShownIpAllowlist(
            organization_id=reading.organization.id,
            rules=() if allowlist is None else allowlist.rules,
            public_key=public_key or None,
            enabled=None if public_key else allowlist is not None and allowlist.enabled,
            on_evaluation_error=OnEvaluationError.DENY if allowlist is None else allowlist.on_evaluation_error,
        )
    )


def _checked_parent(organization: Organization) -> Organization:
    """The organization. Raises InvalidRequest for a sub-organization."""
    if organization.profile.parent_id is not None:
        raise InvalidRequest(
            "activity not callable by sub-organizations: IP allow-lists apply to parent organizations only",
            machine_code="INVALID_ACTIVITY_CALLER",
        )
    return organization
