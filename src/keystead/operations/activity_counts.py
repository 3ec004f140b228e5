"""How many activities and refused requests there are over time: a query of our own, for charts.

The words are those of the metric `keystead_activities_total`. That counts answers, from the start of a process on;
this query counts what is on record. Not here: the activities themselves (`activities`).
"""

from __future__ import annotations

import itertools
from typing import Annotated

from msgspec import Meta

from keystead.api.enums import ActivityStatus
from keystead.api.errors import InvalidRequest
from keystead.api.parameters import QueryRequest
from keystead.api.records import Wire
from keystead.operations.bounds import COUNTED_PERIODS_MAX
from keystead.operations.declare import Reading, query

CountedTimeMs = Annotated[int, Meta(ge=0, le=2**53)]


class CountActivitiesRequest(QueryRequest, frozen=True):
    """`bounds_ms`: milliseconds since the epoch, rising. A period begins at each bound, and ends before the next.
    Without `filter_by_status`, activities of every status count."""

    bounds_ms: Annotated[tuple[CountedTimeMs, ...], Meta(min_length=2, max_length=COUNTED_PERIODS_MAX + 1)]
    filter_by_status: Annotated[tuple[ActivityStatus, ...], Meta(max_length=20)] | None = None


class CountedActivities(Wire, frozen=True):
    """How many activities have this type and this status."""

    activity_type: str
    status: ActivityStatus
    count: int


class PeriodCounts(Wire, frozen=True):
    """What was submitted in one period. `refused_requests`: how many requests were refused in it, of those that are
    still on record."""

    activities: tuple[CountedActivities, ...]
    refused_requests: int


class CountActivitiesResponse(Wire, frozen=True):
    """One entry for each period, in order."""

    periods: tuple[PeriodCounts, ...]


@query(own=True)
async def count_activities(reading: Reading, request: CountActivitiesRequest) -> CountActivitiesResponse:
    """How many activities and refused requests there are in each of several periods."""
    bounds = request.bounds_ms
    if any(after <= before for before, after in itertools.pairwise(bounds)):
        raise InvalidRequest("invalid request body: field `boundsMs`: expected times that rise")
    organization_id = reading.organization.id
    statuses = request.filter_by_status or tuple(ActivityStatus)
    counted: list[list[CountedActivities]] = [[] for _ in bounds[1:]]
    for one in await reading.store.activities.counts(organization_id, statuses, bounds):
        counted[one.period].append(
            CountedActivities(activity_type=one.activity_type, status=one.status, count=one.count)
        )
    refused = await reading.store.refused_requests.counts(organization_id, bounds)
    return CountActivitiesResponse(
        periods=tuple(
            PeriodCounts(activities=tuple(activities), refused_requests=number)
            for activities, number in zip(counted, refused, strict=True)
        )
    )
