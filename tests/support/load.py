"""Submissions by several concurrent threads, and checks of the activities on record afterwards."""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.support.callers import Caller
from tests.support.databases import Database

PATH = "/public/v1/submit/create_user_tag"
NO_TAG_LIMIT = {"limit_tags": 1_000_000}
"""The settings of a server under load."""

_PAUSE_S = 0.05
"""The pause of a thread after a temporary failure. Clients pause for longer, as `Retry-After` tells them."""

_numbers = itertools.count()


@dataclass
class Load:
    """Creates tags until it is stopped. Each body is sent once; its result is in one of three lists."""

    callers: list[Caller]
    threads: int = 8
    acknowledged: list[tuple[bytes, str]] = field(default_factory=list)
    """A body, and the id of its activity."""
    refused: list[tuple[bytes, httpx.Response]] = field(default_factory=list)
    unanswered: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._stop = threading.Event()
        self._running: list[threading.Thread] = []

    def __enter__(self) -> Load:
        self._stop.clear()
        self._running = [
            threading.Thread(target=self._submit, args=(self.callers[number % len(self.callers)],))
            for number in range(self.threads)
        ]
        for thread in self._running:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._running:
            thread.join()

    def wait_for(self, count: int) -> None:
        """Wait until `count` more submissions are acknowledged, or until nothing submits any more."""
        enough = len(self.acknowledged) + count
        while len(self.acknowledged) < enough and any(thread.is_alive() for thread in self._running):
            self._stop.wait(0.01)

    def wait_for_refusals(self, count: int) -> None:
        while len(self.refused) < count and any(thread.is_alive() for thread in self._running):
            self._stop.wait(0.01)

    def _submit(self, caller: Caller) -> None:
        while not self._stop.is_set():
            body = tag_body(caller)
            try:
                response = caller.post(PATH, body)
            except httpx.TransportError:
                self.unanswered.append(body)
                return
            self._note(body, response)
            if response.status_code == 503:
                self._stop.wait(_PAUSE_S)

    def send_unanswered_again(self, caller: Caller) -> None:
        """Send the body again after temporary failures, as a client does."""
        self._send_again(caller, self.unanswered)

    def send_refused_again(self, caller: Caller) -> None:
        self._send_again(caller, [body for body, _ in self.refused])
        self.refused = [(body, response) for body, response in self.refused if body not in dict(self.acknowledged)]

    def _send_again(self, caller: Caller, bodies: list[bytes]) -> None:
        for body in bodies:
            self._note(body, caller.post(PATH, body))
        self.unanswered.clear()

    def _note(self, body: bytes, response: httpx.Response) -> None:
        if response.status_code == 200:
            self.acknowledged.append((body, response.json()["activity"]["id"]))
        else:
            self.refused.append((body, response))


def tag_body(caller: Caller) -> bytes:
    return caller.submit_body("create_user_tag", {"userTagName": f"tag {next(_numbers)}", "userIds": []})


def check_record(database: Database, organization_id: str, acknowledged: list[tuple[bytes, str]]) -> None:
    """Everything acknowledged is there, nothing is there twice, and versions have no gaps: every version but the
    first is that of exactly one tag, made by exactly one activity."""
    activities: dict[str, bytes] = dict(database.rows("SELECT id, request FROM activity"))
    ids = [activity_id for _, activity_id in acknowledged]
    assert not [name for name, count in Counter(ids).items() if count > 1]
    assert [body for body, activity_id in acknowledged if activities.get(activity_id) != body] == []
    assert len(set(activities.values())) == len(activities)
    (version,) = database.rows(f"SELECT version, changed_by FROM organization WHERE id = '{organization_id}'")
    tags = database.rows("SELECT version FROM record WHERE kind = 'tag'")
    assert sorted(number for (number,) in tags) == list(range(2, version[0] + 1))
    assert len(activities) == len(tags) == database.counts()["vote"]


def integrity(database: Database) -> list[Any]:
    """The result of SQLite's integrity check."""
    return database.rows("PRAGMA integrity_check") if database.url.startswith("sqlite") else [("ok",)]
