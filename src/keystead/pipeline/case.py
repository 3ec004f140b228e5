"""An activity to decide on, and how policies see it.

Here: the value. Not here: how it is made (`load_context`), the proofs in it (`proofs`), the decision
(`authorization`).
"""

from __future__ import annotations

from typing import Any

import msgspec

from keystead.api.errors import ServiceError
from keystead.api.parameters import RequestStruct
from keystead.organizations.organization import Organization
from keystead.pipeline.activity import Proof
from keystead.pipeline.operation import THE_SUBMITTER, ActivityOperation, IntentVersion
from keystead.pipeline.policy_set_cache import CompiledPolicies
from keystead.policies.expression import CompiledExpression
from keystead.policies.request import RequestedActivity, ResourceKeywords, visible_params


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """An activity to decide on: what it asks for, who submitted it and when, the proofs of the approvals so far.

    - `version`: the version of the activity type that was submitted. `intent`: what it asks for, in the current
      version.
    - `policies`: the organization's, with the MFA conditions of the submitter and of the users who approve.
    - `owner_id`: the user whose own credentials or session it is about; None if it is about anything else.
    - `submission`: the proof that the stamp of the submission gives; None for an activity of the operator.
    - `scope`: the scope of the session profile that it is under, for a new submission.
    - `refuses_raw_payloads`: the operator's setting, by which MFA policies about transactions apply to raw
      payloads.
    - `context`: what the operation looked up.
    - `missing`: the error, if the look-up failed because a record was deleted after the submission. Then policies
      see no resources, and the execution fails with this error.
    """

    operation: ActivityOperation
    version: IntentVersion
    intent: RequestStruct
    policies: CompiledPolicies
    submitter_id: str
    owner_id: str | None
    submission: Proof | None
    proofs: tuple[Proof, ...]
    now_ms: int
    scope: CompiledExpression | None = None
    refuses_raw_payloads: bool = False
    context: Any = None
    missing: ServiceError | None = None


def owner_of(operation: ActivityOperation, intent: RequestStruct, submitter_id: str) -> str | None:
    """The user whose own credentials or session the activity is about. None if it is about anything else, or if the
    user is not known."""
    owner = None if operation.owner is None else operation.owner(intent)
    return submitter_id if owner == THE_SUBMITTER else owner


def requested_activity(case: Case) -> RequestedActivity:
    """The activity as policies see it. Its parameters are always those of the current version, as values of the
    policy language: text, numbers and lists."""
    intent, type_ = case.intent, case.version.activity_type
    given = {
        name: list(value) if isinstance(value, tuple) else value
        for name in intent.__struct_fields__
        if (value := getattr(intent, name)) is not None and not isinstance(value, msgspec.Struct)
    }
    return RequestedActivity(type=type_, params=visible_params(type_, given))


def resource_keywords(case: Case, organization: Organization) -> ResourceKeywords:
    """The keywords that the activity has besides `activity`."""
    resources = case.operation.resources
    if resources is None or case.missing is not None:
        return ResourceKeywords()
    return resources(organization, case.intent, case.context)
