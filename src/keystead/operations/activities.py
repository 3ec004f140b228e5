"""Activities as records: reading one, and reading them by page."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from keystead.api.enums import ActivityStatus
from keystead.api.errors import InvalidRequest, NotFound
from keystead.api.identifiers import Uuid
from keystead.api.parameters import Pagination, QueryRequest
from keystead.api.public_schema import ACTIVITY_TYPES
from keystead.api.records import Activity, ActivityResponse, AppProof, Wire
from keystead.operations.declare import CATALOGUE, Reading, query
from keystead.operations.pages import page_of, unknown_cursor
from keystead.pipeline.activity import Activity as RecordedActivity
from keystead.pipeline.requests import Submission
from keystead.pipeline.states import is_final
from keystead.pipeline.view import view


class GetActivityRequest(QueryRequest, frozen=True):
    activity_id: Uuid


@query()
async def get_activity(reading: Reading, request: GetActivityRequest) -> ActivityResponse:
    """One activity, as its reader may vote on it."""
    activity = await reading.store.activity(reading.organization.id, request.activity_id)
    if activity is None:
        raise NotFound(f"unable to find activity {request.activity_id} in organization {reading.organization.id}")
    return ActivityResponse(activity=await shown(reading, activity))


async def shown(reading: Reading, activity: RecordedActivity, submission: Submission | None = None) -> Activity:
    """The activity as its reader sees it, who has perhaps just sent `submission`.

    A parent's user reads a sub-organization's and votes on none.
    """
    user_id, decisions = reading.caller.user.user_id, reading.decisions
    activity = decisions.now(activity)
    may_vote = lacks_proofs = False
    if not is_final(activity.status) and user_id in reading.organization.users:
        case = await decisions.case_of(activity, reading.organization, user_id)
        may_vote = decisions.may_vote(case, reading.organization, user_id)
        lacks_proofs = may_vote and decisions.lacks_proofs(case, reading.organization, user_id)
    return view(activity, CATALOGUE, user_id, may_vote=may_vote, lacks_proofs=lacks_proofs, submission=submission)


class ListActivitiesRequest(QueryRequest, frozen=True):
    """Activities of any of these statuses and any of these types; no filter means all."""

    filter_by_status: Annotated[tuple[ActivityStatus, ...], Meta(max_length=20)] | None = None
    filter_by_type: Annotated[tuple[str, ...], Meta(max_length=200)] | None = None
    pagination_options: Pagination | None = None


class ListActivitiesResponse(Wire, frozen=True):
    activities: tuple[Activity, ...]


@query()
async def list_activities(reading: Reading, request: ListActivitiesRequest) -> ListActivitiesResponse:
    """Activities of the organization, newest first, by page."""
    page = page_of(request.pagination_options)
    for index, activity_type in enumerate(request.filter_by_type or ()):
        if activity_type not in ACTIVITY_TYPES:
            raise InvalidRequest(
                f"invalid request body: field `filterByType[{index}]`: {activity_type[:100]!r} is no activity type"
            )
    activities = await reading.store.activities(
        reading.organization.id, request.filter_by_status or (), request.filter_by_type or (), page
    )
    if activities is None:
        raise unknown_cursor(page)
    return ListActivitiesResponse(activities=tuple([await shown(reading, activity) for activity in activities]))


class ListAppProofsRequest(QueryRequest, frozen=True):
    activity_id: Uuid


class ListAppProofsResponse(Wire, frozen=True):
    app_proofs: tuple[AppProof, ...]


@query()
async def list_app_proofs(reading: Reading, request: ListAppProofsRequest) -> ListAppProofsResponse:
    """The app proofs that were asked for with an activity."""
    activity = await reading.store.activity(reading.organization.id, request.activity_id)
    if activity is None:
        raise NotFound(f"unable to find activity {request.activity_id} in organization {reading.organization.id}")
    return ListAppProofsResponse(app_proofs=activity.app_proofs)
