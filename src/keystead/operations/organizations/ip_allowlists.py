"""IP allow-lists of an organization and of its API keys: set, remove, get, and whether a change refuses its caller.

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
from keystead.operations.votes import ApproveActivityIntent
from keystead.organizations.bounds import IP_RULES_MAX
from keystead.organizations.credentials.api_keys import normalized_public_key
from keystead.organizations.ip_allowlists import networks_of_rules, refusal_of
from keystead.organizations.kinds.ip_allowlists import IP_ALLOWLISTS, IpAllowlist, IpAllowlists
from keystead.organizations.limits import Limits, check_limit
from keystead.organizations.organization import Change, Organization, Put, Remove, apply
from keystead.pipeline.decision_basis import operation_of
from keystead.pipeline.execution import Execution, Output
from keystead.pipeline.submission import recorded_request

PublicKeyText = Annotated[str, Meta(max_length=200)]
"""The public key of an API key, in hex. Absent or "": the whole organization."""


class IpAllowlistRuleParams(RequestStruct, frozen=True):
    cidr: Annotated[str, Meta(max_length=100)]
    label: ShortText | None = None


class SetIpAllowlistIntent(RequestStruct, frozen=True):
    """`enabled`: for the organization's list only. `on_evaluation_error`: DENY if absent."""

    rules: Annotated[tuple[IpAllowlistRuleParams, ...], Meta(max_length=10 * IP_RULES_MAX)]
    public_key: PublicKeyText | None = None
    enabled: bool | None = None
    on_evaluation_error: OnEvaluationError | None = None


class SetIpAllowlistResult(Wire, frozen=True):
    pass


class RemoveIpAllowlistIntent(RequestStruct, frozen=True):
    public_key: PublicKeyText | None = None


class RemoveIpAllowlistResult(Wire, frozen=True):
    pass


@activity("ACTIVITY_TYPE_SET_IP_ALLOWLIST", also_does=("REMOVE_IP_ALLOWLIST",))
def set_ip_allowlist(execution: Execution, intent: SetIpAllowlistIntent) -> Output[SetIpAllowlistResult]:
    """Set from which networks requests to the organization, or with one API key, may come."""
    changes = _changes_of_set(execution.organization, intent, execution.limits, execution.now_ms)
    return Output(result=SetIpAllowlistResult(), changes=changes)


@activity("ACTIVITY_TYPE_REMOVE_IP_ALLOWLIST", also_does=("SET_IP_ALLOWLIST",))
def remove_ip_allowlist(execution: Execution, intent: RemoveIpAllowlistIntent) -> Output[RemoveIpAllowlistResult]:
    """Remove the allow-list of the organization, or of one API key."""
    changes = _changes_of_removal(execution.organization, intent)
    return Output(result=RemoveIpAllowlistResult(), changes=changes)


def _changes_of_set(
    organization: Organization, intent: SetIpAllowlistIntent, limits: Limits, now_ms: int
) -> tuple[Change, ...]:
    lists, public_key = _lists_of_parent(organization), normalized_public_key(intent.public_key or "")
    keys = organization.users.by_public_key
    if public_key:
        if public_key not in keys:
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
    of_deleted_keys = [key for key in lists if key and key not in keys]
    check_limit(len(lists) - len(of_deleted_keys), 0 if public_key in lists else 1, IP_ALLOWLISTS, limits)
    networks = networks_of_rules((rule.cidr for rule in intent.rules), "parameters.rules")
    record = IpAllowlist(
        public_key=public_key,
        enabled=intent.enabled is not False,
        rules=tuple(
            IpAllowlistRule(cidr=str(network), label=intent.rules[index].label or "", created_at=str(now_ms))
            for network, index in networks.items()
        ),
        on_evaluation_error=intent.on_evaluation_error or OnEvaluationError.DENY,
    )
    return (*[Remove(IpAllowlist, key) for key in of_deleted_keys], Put(record))


def _changes_of_removal(organization: Organization, intent: RemoveIpAllowlistIntent) -> tuple[Change, ...]:
    lists, public_key = _lists_of_parent(organization), normalized_public_key(intent.public_key or "")
    if public_key not in lists:
        of_key = f" for API key {json.dumps(public_key)}" if public_key else ""
        raise NotFound(f"organization {organization.id} has no IP allow-list{of_key}")
    return (Remove(IpAllowlist, public_key),)


def _lists_of_parent(organization: Organization) -> IpAllowlists:
    """The lists of the organization. Raises InvalidRequest for a sub-organization."""
    if organization.profile.parent_id is not None:
        raise InvalidRequest(
            "activity not callable by sub-organizations: IP allow-lists apply to parent organizations only",
            machine_code="INVALID_ACTIVITY_CALLER",
        )
    return organization.of(IpAllowlists)


class CheckIpAllowlistRequest(QueryRequest, frozen=True):
    """What is about to be sent: the parameters of one of these operations. Without any, today's lists count."""

    set_ip_allowlist: SetIpAllowlistIntent | None = None
    remove_ip_allowlist: RemoveIpAllowlistIntent | None = None
    approve_activity: ApproveActivityIntent | None = None


class CheckIpAllowlistResponse(Wire, frozen=True):
    """`address`: the caller's, as this server sees it; absent if it cannot be determined. `refusal`: why requests
    of this caller from this address would be refused; absent if they would not."""

    address: str | None = None
    refusal: str | None = None


@query(own=True)
async def check_ip_allowlist(reading: Reading, request: CheckIpAllowlistRequest) -> CheckIpAllowlistResponse:
    """Whether a change of an IP allow-list, once executed, would refuse the caller who asks.

    The caller is the credential that stamps this query, at the address from which the query comes. Raises what the
    submission would raise.
    """
    changes = await _changes_to_check(reading, request)
    after = apply(reading.organization, changes, reading.organization.version)
    address = reading.source.address
    return CheckIpAllowlistResponse(
        address=None if address is None else str(address),
        refusal=refusal_of(after, reading.caller.proven.public_key, reading.source),
    )


async def _changes_to_check(reading: Reading, request: CheckIpAllowlistRequest) -> tuple[Change, ...]:
    asked = (request.set_ip_allowlist, request.remove_ip_allowlist, request.approve_activity)
    intents: list[RequestStruct] = [intent for intent in asked if intent is not None]
    if len(intents) > 1:
        raise InvalidRequest("invalid request body: give the parameters of one operation")
    for intent in intents:
        if isinstance(intent, ApproveActivityIntent):
            intent = await _intent_voted_on(reading, intent.fingerprint)
        if isinstance(intent, SetIpAllowlistIntent):
            limits = reading.environment.settings.limits
            return _changes_of_set(reading.organization, intent, limits, reading.now_ms)
        if isinstance(intent, RemoveIpAllowlistIntent):
            return _changes_of_removal(reading.organization, intent)
    return ()


async def _intent_voted_on(reading: Reading, fingerprint: str) -> RequestStruct:
    activity = await reading.store.activities.with_fingerprint(reading.organization.id, fingerprint)
    if activity is None:
        raise NotFound(f"unable to find an activity with fingerprint {fingerprint}")
    version = operation_of(activity, reading.environment).version_of(activity.type)
    assert version is not None, activity.type
    return recorded_request(version, activity.request)[1]


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
