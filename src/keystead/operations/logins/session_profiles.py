"""Session profiles: create one, and query those of an organization and its parent."""

from __future__ import annotations

import json
from functools import partial
from typing import Annotated

from msgspec import Meta

from keystead.api.decoding import Label, Notes
from keystead.api.errors import NotFound
from keystead.api.identifiers import Uuid
from keystead.api.parameters import QueryRequest, RequestStruct, ShortText
from keystead.api.records import SessionProfile, Timestamp, Wire
from keystead.operations.declare import Reading, activity, query
from keystead.operations.policies.policies import ExpressionText
from keystead.organizations.credentials.sessions import session_seconds
from keystead.organizations.kinds.session_profiles import SessionProfiles
from keystead.organizations.organization import Organization, Put
from keystead.pipeline.execution import Execution, Output
from keystead.policies.policy import check_scope
from keystead.primitives.share import Work


class CreateSessionProfileIntent(RequestStruct, frozen=True):
    """`scope`: a condition of the policy language. `expiration_seconds`: the longest session under the profile."""

    session_profile_name: Label
    scope: Annotated[ExpressionText, Meta(min_length=1)]
    expiration_seconds: ShortText | None = None
    notes: Notes | None = None


class CreateSessionProfileResult(Wire, frozen=True):
    session_profile_id: str


@activity("ACTIVITY_TYPE_CREATE_SESSION_PROFILE")
async def create_session_profile(
    execution: Execution, intent: CreateSessionProfileIntent
) -> Output[CreateSessionProfileResult]:
    """Add a profile that limits what sessions may do. It can be neither changed nor deleted."""
    profiles = execution.organization.session_profiles
    profiles.check_limit(1, execution.limits)
    SessionProfiles.check_label(intent.session_profile_name, profiles.labels(), "parameters.sessionProfileName")
    check = partial(check_scope, intent.scope, execution.organization.velocity_controls.labels())
    await execution.share.run(execution.organization.id, Work.COMPILING, check, len(intent.scope))
    seconds = intent.expiration_seconds
    if seconds is not None:
        seconds = str(session_seconds(seconds, None, execution.limits, "parameters.expirationSeconds"))
    now = Timestamp.from_ms(execution.now_ms)
    profile = SessionProfile(
        session_profile_id=execution.new_id(),
        session_profile_name=intent.session_profile_name,
        scope=intent.scope,
        expiration_seconds=seconds,
        notes=intent.notes,
        created_at=now,
        updated_at=now,
    )
    return Output(
        result=CreateSessionProfileResult(session_profile_id=profile.session_profile_id),
        changes=(Put(profile),),
    )


class GetSessionProfileRequest(QueryRequest, frozen=True):
    session_profile_id: Uuid


class GetSessionProfileResponse(Wire, frozen=True):
    session_profile: SessionProfile


@query()
async def get_session_profile(reading: Reading, request: GetSessionProfileRequest) -> GetSessionProfileResponse:
    """One session profile of the organization or of its parent."""
    for organization in await _with_parent(reading):
        profile = organization.session_profiles.get(request.session_profile_id)
        if profile is not None:
            return GetSessionProfileResponse(session_profile=profile)
    raise NotFound(
        f"unable to find session profile {json.dumps(request.session_profile_id)} in organization "
        f"{reading.organization.id} or its parent"
    )


class GetSessionProfilesRequest(QueryRequest, frozen=True):
    pass


class GetSessionProfilesResponse(Wire, frozen=True):
    session_profiles: tuple[SessionProfile, ...]


@query()
async def get_session_profiles(reading: Reading, _: GetSessionProfilesRequest) -> GetSessionProfilesResponse:
    """All session profiles for sessions of the organization: its own and its parent's."""
    organizations = await _with_parent(reading)
    return GetSessionProfilesResponse(
        session_profiles=tuple(
            profile for organization in organizations for profile in organization.session_profiles.in_order()
        )
    )


async def _with_parent(reading: Reading) -> list[Organization]:
    parent_id = reading.organization.profile.parent_id
    parent = None if parent_id is None else await reading.store.organization(parent_id)
    return [reading.organization, *([] if parent is None else [parent])]
