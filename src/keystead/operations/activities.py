"""Queries about activities: one activity, a page of them, and the app proofs of one.

Here: the queries, what a reader sees of an activity, the bound in bytes on a page. Not here: the form of an
activity (`pipeline.submission`).
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from keystead.api.enums import FINAL_STATUSES, ActivityStatus
from keystead.api.errors import NotFound
from keystead.api.identifiers import Uuid
from keystead.api.parameters import Pagination, QueryRequest, ShortText
from keystead.api.records import Activity, ActivityResponse, AppProof, Wire
from keystead.operations.bounds import PAGE_BYTES_MAX
from keystead.operations.declare import CATALOGUE, Reading, query
from keystead.operations.pages import page_of, unknown_cursor
from keystead.pipeline.activity import RecordedActivity, voter_bytes
from keystead.pipeline.submission import SubmissionBody, view
from keystead.primitives.share import pause


class GetActivityRequest(QueryRequest, frozen=True):
    activity_id: Uuid


@query(before_session=True)
async def get_activity(reading: Reading, request: GetActivityRequest) -> ActivityResponse:
    """One activity, with the votes that the caller may cast on it."""
    activity = await activity_named(reading, request.activity_id)
    return ActivityResponse(activity=await shown_activity(reading, activity))


async def activity_named(reading: Reading, activity_id: str) -> RecordedActivity:
    """The activity of this id. Raises NotFound."""
    activity = await reading.store.activities.get(reading.organization.id, activity_id)
    if activity is None:
        raise NotFound(f"unable to find activity {activity_id} in organization {reading.organization.id}")
    return activity


async def shown_activity(
    reading: Reading, activity: RecordedActivity, body: SubmissionBody | None = None
) -> Activity:
    """The activity as the caller sees it. `body`: of the request that made the activity, if this is its answer.

    A user of the parent may read the activities of a sub-organization, but may not vote on them.
    """
    user_id, open_activities = reading.caller.user.user_id, reading.open_activities
    activity = open_activities.now(activity)
    may_vote = lacks_proofs = False
    if activity.status not in FINAL_STATUSES and user_id in reading.organization.users:
        may_vote, lacks_proofs = await open_activities.vote_rights(activity, reading.organization, user_id)
    return view(activity, CATALOGUE, user_id, may_vote=may_vote, lacks_proofs=lacks_proofs, body=body)


READ_AT_ONCE = 10
"""Activities that are read from the database together."""


class ListActivitiesRequest(QueryRequest, frozen=True):
    """Activities whose status and type are among the given ones. A filter that is left out accepts all. No activity
    has an unknown type."""

    filter_by_status: Annotated[tuple[ActivityStatus, ...], Meta(max_length=20)] | None = None
    filter_by_type: Annotated[tuple[ShortText, ...], Meta(max_length=200)] | None = None
    pagination_options: Pagination | None = None


class ListActivitiesResponse(Wire, frozen=True):
    activities: tuple[Activity, ...]


@query()
async def list_activities(reading: Reading, request: ListActivitiesRequest) -> ListActivitiesResponse:
    """Activities of the organization, newest first, by page. A page has a maximum number and a maximum size."""
    shown_activities = []
    for activity in await _page(reading, request):
        shown_activities.append(await shown_activity(reading, activity))
        await pause()  # to read a long request takes time: other requests run in between
    return ListActivitiesResponse(activities=tuple(shown_activities))


async def _page(reading: Reading, request: ListActivitiesRequest) -> list[RecordedActivity]:
    """The activities of the page, newest first: those nearest to the cursor, with at most PAGE_BYTES_MAX bytes
    together. A page has at least one activity if there is one."""
    page = page_of(request.pagination_options)
    statuses, types = request.filter_by_status or (), request.filter_by_type or ()
    activities: list[RecordedActivity] = []
    rest, size = page, 0
    while rest.limit > 0:
        limit = min(rest.limit, READ_AT_ONCE)
        read = await reading.store.activities.page(
            reading.organization.id, statuses, types, replace(rest, limit=limit)
        )
        if read is None:
            raise unknown_cursor(page)
        for activity in reversed(read) if page.before else read:  # those nearest to the cursor come first
            size += recorded_bytes(activity)
            if activities and size > PAGE_BYTES_MAX:
                return _newest_first(activities)
            activities.append(activity)
        if len(read) < limit:
            break
        farthest = activities[-1].id
        rest = replace(
            rest,
            limit=page.limit - len(activities),
            before=farthest if page.before else None,
            after=None if page.before else farthest,
        )
    return _newest_first(activities)


def _newest_first(activities: list[RecordedActivity]) -> list[RecordedActivity]:
    return sorted(activities, key=lambda activity: activity.id, reverse=True)


def recorded_bytes(activity: RecordedActivity) -> int:
    """Bytes of what makes an activity large: its request, what its voters signed, who they are, its result, its
    proofs."""
    return (
        len(activity.request)
        + sum(len(vote.message) + voter_bytes(vote.user) for vote in activity.votes)
        + sum(len(result) for result in activity.result.values())
        + sum(len(proof.proof_payload) for proof in activity.app_proofs)
    )


class ListAppProofsRequest(QueryRequest, frozen=True):
    activity_id: Uuid


class ListAppProofsResponse(Wire, frozen=True):
    app_proofs: tuple[AppProof, ...]


@query()
async def list_app_proofs(reading: Reading, request: ListAppProofsRequest) -> ListAppProofsResponse:
    """The app proofs of an activity that was submitted with `generateAppProofs`."""
    activity = await activity_named(reading, request.activity_id)
    return ListAppProofsResponse(app_proofs=activity.app_proofs)
