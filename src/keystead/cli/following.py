"""`keystead activities --follow`: every activity that is new or has changed, as long as nobody stops it.

Here: what to ask at each look, and what of the answers is news. Not here: the list without --follow (`tables`).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from keystead.api.enums import FINAL_STATUSES, ActivityStatus
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
"""Of the activities that wait, only the newest are looked at each time: this many pages of them."""
OVERLAP_MS = 10_000
"""An id is made before its activity is committed, so one may turn up below a newer one: look back this far."""

_OPEN = [status.value for status in ActivityStatus if status not in FINAL_STATUSES]
_PASSING = (ConnectionFailed, RequestTimedOut, ServerError, LimitReached)

Record = dict[str, Any]
Ask = Callable[[str, Mapping[str, Any]], Record]


def follow(client: Client, limit: int, interval_s: float, show: Callable[[Record], None]) -> None:
    """Show the newest activities, then whatever comes, until Ctrl-C. A server that is away is waited for.

    Raises KeysteadError if the first look fails, or a later one for a reason that does not pass.
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
    """What is known of an organization's activities; each look tells what is news. A look that fails forgets
    nothing and changes nothing."""

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
        """The activities that are new or changed since the last look, in the order of their changes."""
        found = {activity["id"]: activity for activity in self._newer()}
        waiting, oldest = self._waiting()
        for activity in waiting:
            found.setdefault(activity["id"], activity)
        # What waited and is not among those that wait: it came to its end, or is beyond the last page.
        for activity_id in sorted(self._open - found.keys()):
            if activity_id >= oldest and (ended := self._one(activity_id)) is not None:
                found[activity_id] = ended
        news = [activity for activity in found.values() if self._is_news(activity)]
        self._learn(list(found.values()))
        return sorted(news, key=_changed_at)

    def _is_news(self, activity: Record) -> bool:
        known = self._known.get(activity["id"])
        # One below the cursor that is not known has long waited, beyond the pages that were looked at.
        return activity["id"] > self._cursor if known is None else known != _mark(activity)

    def _learn(self, activities: list[Record]) -> None:
        for activity in activities:
            activity_id = activity["id"]
            self._known[activity_id] = _mark(activity)
            (self._open.add if activity["status"] in _OPEN else self._open.discard)(activity_id)
        if not self._known:
            return
        # The cursor is the newest activity that is so old that none can still turn up below it.
        settled_ms = _made_at_ms(max(self._known)) - OVERLAP_MS
        self._cursor = max([self._cursor, *(each for each in self._known if _made_at_ms(each) <= settled_ms)])
        for activity_id in [each for each in self._known if each < self._cursor and each not in self._open]:
            del self._known[activity_id]

    def _newer(self) -> Iterator[Record]:
        """Those beyond the cursor; all there are, if there is none yet."""
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
    """What changes when an activity does."""
    return f"{activity['status']} {activity['updatedAt']} {len(activity['votes'])}"


def _changed_at(activity: Record) -> tuple[int, int, str]:
    updated = activity["updatedAt"]
    if isinstance(updated, Mapping):
        return int(updated["seconds"]), int(updated["nanos"]), activity["id"]
    return 0, 0, f"{updated} {activity['id']}"


def _made_at_ms(activity_id: str) -> int:
    """The time in a UUIDv7 (RFC 9562, section 5.7): its first 48 bits."""
    return int(activity_id.replace("-", "")[:12], 16)
