"""`keystead activities --follow`: every activity that is new or has changed, until it is stopped.

Here: the queries of each poll, and which of their activities are new. Not here: how they are shown (`activities`).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from keystead.api.enums import FINAL_STATUSES, ActivityStatus
from keystead.cli.columns import JsonRecord
from keystead.cli.instants import made_at_ms
from keystead.client import errors
from keystead.client.client import Client

PAGE = 100
OPEN_PAGES_MAX = 2
"""How many pages of the newest waiting activities each poll reads."""

OVERLAP_MS = 10_000
"""How far back each poll reads: an id is made before its activity is committed, so it may appear after a newer
one."""

_OPEN = [status.value for status in ActivityStatus if status not in FINAL_STATUSES]
_TEMPORARY = (errors.ConnectionFailed, errors.RequestTimedOut, errors.ServerError, errors.LimitReached)

Ask = Callable[[str, Mapping[str, Any]], JsonRecord]
Show = Callable[[JsonRecord], None]


def follow(client: Client, limit: int, interval_s: float, show: Show) -> None:
    """Show the newest activities, then each new or changed one, until Ctrl-C. If the server does not answer, it
    waits.

    Raises KeysteadError if the first poll fails, or a later one with an error that is not temporary.
    """
    feed = Feed(client.request)
    try:
        for activity in feed.begin(limit):
            show(activity)
        lost = False
        while True:
            time.sleep(interval_s)
            try:
                changes = feed.poll()
            except _TEMPORARY as failed:
                if not lost:
                    _note(f"{failed}; waiting for the server")
                lost = True
                continue
            if lost:
                _note("the server answers again")
            lost = False
            for activity in changes:
                show(activity)
    except KeyboardInterrupt:
        return


def _note(text: str) -> None:
    print(f"keystead: {' '.join(text.split())}", file=sys.stderr, flush=True)


class Feed:
    """Remembers the activities of an organization, so that each poll returns those that are new or changed. A poll
    that fails changes nothing."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._cursor = ""
        self._known: dict[str, str] = {}
        self._open: set[str] = set()

    def begin(self, limit: int) -> list[JsonRecord]:
        """The newest activities, the oldest of them first."""
        newest = self._page({"limit": str(limit)}, {})
        waiting, _ = self._waiting()
        self._cursor = newest[-1]["id"] if newest else ""
        self._learn([*newest, *waiting])
        return newest[::-1]

    def poll(self) -> list[JsonRecord]:
        """The activities that are new or changed since the last poll, in the order of their changes."""
        activities = {activity["id"]: activity for activity in self._newer()}
        waiting, oldest = self._waiting()
        for activity in waiting:
            activities.setdefault(activity["id"], activity)
        # An activity that waited, and is not in these pages: it is final now, or beyond the last page.
        for activity_id in sorted(self._open - activities.keys()):
            if activity_id >= oldest and (ended := self._get(activity_id)) is not None:
                activities[activity_id] = ended
        changes = [activity for activity in activities.values() if self._is_change(activity)]
        self._learn(list(activities.values()))
        return sorted(changes, key=_changed_at)

    def _is_change(self, activity: JsonRecord) -> bool:
        known = self._known.get(activity["id"])
        # An unknown activity below the cursor is old: it waited beyond the pages that earlier polls read.
        return activity["id"] > self._cursor if known is None else known != _mark(activity)

    def _learn(self, activities: list[JsonRecord]) -> None:
        for activity in activities:
            activity_id = activity["id"]
            self._known[activity_id] = _mark(activity)
            (self._open.add if activity["status"] in _OPEN else self._open.discard)(activity_id)
        if not self._known:
            return
        # The cursor is the newest id below which no new id can appear any more.
        settled_ms = made_at_ms(max(self._known)) - OVERLAP_MS
        self._cursor = max([self._cursor, *(known for known in self._known if made_at_ms(known) <= settled_ms)])
        for activity_id in [known for known in self._known if known < self._cursor and known not in self._open]:
            del self._known[activity_id]

    def _newer(self) -> Iterator[JsonRecord]:
        """The activities beyond the cursor; all activities, if there is no cursor yet."""
        cursor = self._cursor
        beyond = "before" if cursor else "after"
        while True:
            page = self._page({"limit": str(PAGE), **({beyond: cursor} if cursor else {})}, {})
            yield from page
            if len(page) < PAGE:
                return
            # The newest come first, so newer pages continue from the first record, and older pages from the last.
            cursor = page[0]["id"] if beyond == "before" else page[-1]["id"]

    def _waiting(self) -> tuple[list[JsonRecord], str]:
        """The newest waiting activities, and the id below which there may be more of them; "" if these are all."""
        waiting: list[JsonRecord] = []
        options = {"limit": str(PAGE)}
        for _ in range(OPEN_PAGES_MAX):
            page = self._page(options, {"filterByStatus": _OPEN})
            waiting += page
            if len(page) < PAGE:
                return waiting, ""
            options["after"] = page[-1]["id"]
        return waiting, waiting[-1]["id"]

    def _page(self, options: Mapping[str, str], filters: Mapping[str, Any]) -> list[JsonRecord]:
        answer = self._ask("query/list_activities", {"paginationOptions": options, **filters})
        activities: list[JsonRecord] = answer["activities"]
        return activities

    def _get(self, activity_id: str) -> JsonRecord | None:
        try:
            activity: JsonRecord = self._ask("query/get_activity", {"activityId": activity_id})["activity"]
        except errors.NotFound:
            return None
        return activity


def _mark(activity: JsonRecord) -> str:
    """A value that changes whenever the activity changes."""
    return f"{activity['status']} {activity['updatedAt']} {len(activity['votes'])}"


def _changed_at(activity: JsonRecord) -> tuple[int, int, str]:
    updated = activity["updatedAt"]
    if isinstance(updated, Mapping):
        return int(updated["seconds"]), int(updated["nanos"]), activity["id"]
    return 0, 0, f"{updated} {activity['id']}"
