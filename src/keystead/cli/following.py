"""`keystead activities --follow`: every activity that is new or has changed, until it is stopped.

Here: the queries of each poll, and which of their activities are new. Not here: how they are shown (`activities`).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from keystead.api.enums import FINAL_STATUSES, ActivityStatus
from keystead.cli.instants import made_at_ms
from keystead.client.client import Client
from keystead.client.errors import (
    ConnectionFailed,
    LimitReached,
    NotFound,
    RequestTimedOut,
    ServerError,
)

PAGE = 100
OPEN_PAGES_MAX = 2
"""Of the activities that wait, each poll reads only the newest: so many pages of them."""
OVERLAP_MS = 10_000
"""An id is made before its activity is committed, so it may appear below a newer one: polls look back so far."""

_OPEN = [status.value for status in ActivityStatus if status not in FINAL_STATUSES]
_PASSING = (ConnectionFailed, RequestTimedOut, ServerError, LimitReached)

Record = dict[str, Any]
Ask = Callable[[str, Mapping[str, Any]], Record]
Show = Callable[[Record], None]


def follow(client: Client, limit: int, interval_s: float, show: Show) -> None:
    """Show the newest activities, then each new or changed one, until Ctrl-C. Waits for a server that is away.

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
                news = feed.look()
            except _PASSING as failed:
                if not lost:
                    _note(f"{failed}; waiting for the server")
                lost = True
                continue
            if lost:
                _note("the server answers again")
            lost = False
            for activity in news:
                show(activity)
    except KeyboardInterrupt:
        return


def _note(text: str) -> None:
    print(f"keystead: {' '.join(text.split())}", file=sys.stderr, flush=True)


class Feed:
    """The known activities of an organization; each poll returns those that are new. A poll that fails changes
    nothing."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._cursor = ""
        self._known: dict[str, str] = {}
        self._open: set[str] = set()

    def begin(self, limit: int) -> list[Record]:
        """The newest activities, the oldest of them first."""
        newest = self._page({"limit": str(limit)}, {})
        waiting, _ = self._waiting()
        self._cursor = newest[-1]["id"] if newest else ""
        self._learn([*newest, *waiting])
        return newest[::-1]

    def look(self) -> list[Record]:
        """The activities that are new or changed since the last poll, in the order of their changes."""
        found = {activity["id"]: activity for activity in self._newer()}
        waiting, oldest = self._waiting()
        for activity in waiting:
            found.setdefault(activity["id"], activity)
        # It waited, and is no longer among those that wait: it is final, or beyond the last page.
        for activity_id in sorted(self._open - found.keys()):
            if activity_id >= oldest and (ended := self._one(activity_id)) is not None:
                found[activity_id] = ended
        news = [activity for activity in found.values() if self._is_news(activity)]
        self._learn(list(found.values()))
        return sorted(news, key=_changed_at)

    def _is_news(self, activity: Record) -> bool:
        known = self._known.get(activity["id"])
        # An unknown one below the cursor has waited for long, beyond the pages that were read.
        return activity["id"] > self._cursor if known is None else known != _mark(activity)

    def _learn(self, activities: list[Record]) -> None:
        for activity in activities:
            activity_id = activity["id"]
            self._known[activity_id] = _mark(activity)
            (self._open.add if activity["status"] in _OPEN else self._open.discard)(activity_id)
        if not self._known:
            return
        # The cursor is the newest activity that is so old that none can still appear below it.
        settled_ms = made_at_ms(max(self._known)) - OVERLAP_MS
        self._cursor = max([self._cursor, *(each for each in self._known if made_at_ms(each) <= settled_ms)])
        for activity_id in [each for each in self._known if each < self._cursor and each not in self._open]:
            del self._known[activity_id]

    def _newer(self) -> Iterator[Record]:
        """The activities beyond the cursor; all activities, if there is no cursor yet."""
        cursor = self._cursor
        beyond = "before" if cursor else "after"
        while True:
            page = self._page({"limit": str(PAGE), **({beyond: cursor} if cursor else {})}, {})
            yield from page
            if len(page) < PAGE:
                return
            # The newest come first: the next page begins at the end that is away from where this one began.
            cursor = page[0]["id"] if beyond == "before" else page[-1]["id"]

    def _waiting(self) -> tuple[list[Record], str]:
        """The newest of those that wait, and the id below which more may wait; "" if these are all."""
        waiting: list[Record] = []
        options = {"limit": str(PAGE)}
        for _ in range(OPEN_PAGES_MAX):
            page = self._page(options, {"filterByStatus": _OPEN})
            waiting += page
            if len(page) < PAGE:
                return waiting, ""
            options["after"] = page[-1]["id"]
        return waiting, waiting[-1]["id"]

    def _page(self, options: Mapping[str, str], filters: Mapping[str, Any]) -> list[Record]:
        answer = self._ask("query/list_activities", {"paginationOptions": options, **filters})
        activities: list[Record] = answer["activities"]
        return activities

    def _one(self, activity_id: str) -> Record | None:
        try:
            activity: Record = self._ask("query/get_activity", {"activityId": activity_id})["activity"]
        except NotFound:
            return None
        return activity


def _mark(activity: Record) -> str:
    """A value that changes whenever the activity changes."""
    return f"{activity['status']} {activity['updatedAt']} {len(activity['votes'])}"


def _changed_at(activity: Record) -> tuple[int, int, str]:
    updated = activity["updatedAt"]
    if isinstance(updated, Mapping):
        return int(updated["seconds"]), int(updated["nanos"]), activity["id"]
    return 0, 0, f"{updated} {activity['id']}"
