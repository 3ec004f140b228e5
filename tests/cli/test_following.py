"""`keystead activities --follow`: nothing is missed, nothing is told twice, and a server may go away."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from keystead.cli.following import OPEN_PAGES_MAX, OVERLAP_MS, PAGE, Feed
from keystead.client.errors import NotFound
from tests.support.terminal import FakeServer, Terminal, activity, refused, user, vote

ANA = user("Ana")
OPEN = "CONSENSUS_NEEDED"


def id_at(ms: int, number: int = 0) -> str:
    """A UUIDv7 of this time."""
    digits = f"{1_788_220_800_000 + ms:012x}7{number:03x}8{'0' * 15}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


class Activities:
    """An organization's activities, listed and cut to pages as a server does it. `changed`: plain JSON, by id."""

    def __init__(self) -> None:
        self._held: dict[str, Any] = {}
        self._clock = itertools.count(100)
        self.asked: list[str] = []

    def put(self, activity_id: str, status: str = "COMPLETED", votes: int = 1) -> str:
        made = activity(status, *[vote(ANA)] * votes, activity_id=activity_id)
        made |= {"updatedAt": {"seconds": str(next(self._clock)), "nanos": "0"}}
        self._held[activity_id] = made
        return activity_id

    def forget(self, activity_id: str) -> None:
        del self._held[activity_id]

    def __call__(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        self.asked.append(path)
        if path == "query/get_activity":
            if body["activityId"] not in self._held:
                raise NotFound("gone", http_status=404)
            return {"activity": self._held[body["activityId"]]}
        assert path == "query/list_activities"
        statuses = body.get("filterByStatus")
        ids = sorted(self._held, reverse=True)
        ids = [each for each in ids if not statuses or self._held[each]["status"] in statuses]
        options = body["paginationOptions"]
        limit = int(options["limit"])
        assert 1 <= limit <= 100
        if cursor := options.get("before"):
            ids = [each for each in ids if each > cursor][-limit:]
        elif cursor := options.get("after"):
            ids = [each for each in ids if each < cursor][:limit]
        if cursor:
            assert cursor in self._held, "a cursor must be an id of the list"
        return {"activities": [self._held[each] for each in ids[:limit]]}


def ids(activities: Iterable[Mapping[str, Any]]) -> list[str]:
    return [each["id"] for each in activities]


@pytest.fixture
def there() -> Activities:
    return Activities()


def test_begins_with_the_newest_in_order(there: Activities) -> None:
    made = [there.put(id_at(number)) for number in range(5)]
    feed = Feed(there)
    assert ids(feed.begin(3)) == made[2:]
    assert feed.poll() == []


def test_new_activities_are_returned_once(there: Activities) -> None:
    there.put(id_at(0))
    feed = Feed(there)
    feed.begin(20)
    changes = [there.put(id_at(number)) for number in (1, 2)]
    assert ids(feed.poll()) == changes
    assert feed.poll() == []


def test_an_empty_organization(there: Activities) -> None:
    feed = Feed(there)
    assert feed.begin(20) == []
    assert feed.poll() == []
    made = [there.put(id_at(number)) for number in range(PAGE * 2 + 5)]
    assert ids(feed.poll()) == made
    assert feed.poll() == []


def test_more_new_activities_than_a_page_holds(there: Activities) -> None:
    there.put(id_at(0))
    feed = Feed(there)
    feed.begin(1)
    changes = [there.put(id_at(1 + number)) for number in range(PAGE * 3)]
    assert ids(feed.poll()) == changes


def test_an_activity_that_is_committed_after_a_newer_one(there: Activities) -> None:
    there.put(id_at(0))
    feed = Feed(there)
    feed.begin(1)
    there.put(id_at(50_000))
    assert len(feed.poll()) == 1
    late = there.put(id_at(50_000 - OVERLAP_MS + 1))
    assert ids(feed.poll()) == [late]


def test_old_activities_are_not_read_again(there: Activities) -> None:
    for number in range(50):
        there.put(id_at(number))
    feed = Feed(there)
    feed.begin(100)
    there.put(id_at(10 * OVERLAP_MS))
    feed.poll()
    there.asked.clear()
    feed.poll()
    assert there.asked == ["query/list_activities"] * 2
    assert len(feed._known) < 5


def test_changes_are_told(there: Activities) -> None:
    waiting = there.put(id_at(0), OPEN)
    feed = Feed(there)
    feed.begin(20)
    there.put(waiting, OPEN, votes=2)
    (changes,) = feed.poll()
    assert len(changes["votes"]) == 2
    there.put(waiting, "COMPLETED", votes=3)
    (changes,) = feed.poll()
    assert changes["status"] == "ACTIVITY_STATUS_COMPLETED"
    assert feed.poll() == []


def test_an_older_activity_that_changes_is_returned(there: Activities) -> None:
    waiting = there.put(id_at(0), OPEN)
    for number in range(30):
        there.put(id_at(20 * OVERLAP_MS + number))
    feed = Feed(there)
    assert waiting not in ids(feed.begin(5))
    assert feed.poll() == []
    there.put(waiting, "REJECTED")
    assert ids(feed.poll()) == [waiting]


def test_an_old_waiting_activity_does_not_make_others_appear_again(there: Activities) -> None:
    there.put(id_at(0), OPEN)
    for number in range(300):
        there.put(id_at(20 * OVERLAP_MS + number))
    feed = Feed(there)
    assert len(feed.begin(5)) == 5
    assert feed.poll() == []


def test_only_the_newest_waiting_activities_are_watched(there: Activities) -> None:
    many = [there.put(id_at(number), OPEN) for number in range(PAGE * OPEN_PAGES_MAX + 10)]
    feed = Feed(there)
    feed.begin(5)
    there.put(many[0], "COMPLETED")
    there.put(many[50], "COMPLETED")
    assert ids(feed.poll()) == [many[50]]
    assert there.asked.count("query/get_activity") == 1


def test_changes_are_in_their_order(there: Activities) -> None:
    first, second = there.put(id_at(0), OPEN), there.put(id_at(1), OPEN)
    feed = Feed(there)
    feed.begin(20)
    there.put(second)
    there.put(first)
    third = there.put(id_at(2))
    assert ids(feed.poll()) == [second, first, third]


def test_an_activity_that_no_longer_exists_is_not_returned(there: Activities) -> None:
    there.put(id_at(0))
    waiting = there.put(id_at(1), OPEN)
    feed = Feed(there)
    feed.begin(20)
    there.forget(waiting)
    there.put(id_at(2))
    assert ids(feed.poll()) == [id_at(2)]


class Ticks:
    """In the place of `time.sleep`: does one thing at each tick, and then is Ctrl-C."""

    def __init__(self, *steps: Any) -> None:
        self._steps = list(steps)
        self.slept: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.slept.append(seconds)
        if not self._steps:
            raise KeyboardInterrupt
        self._steps.pop(0)()


@pytest.fixture
def followed(fake: FakeServer, there: Activities) -> FakeServer:
    there.put(id_at(0))
    fake.answers["query/list_activities"] = lambda body: there("query/list_activities", body)
    return fake


def test_lines(
    followed: FakeServer, there: Activities, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks = Ticks(lambda: there.put(id_at(1), OPEN, votes=2), lambda: None)
    monkeypatch.setattr("keystead.cli.following.time", SimpleNamespace(sleep=ticks))
    printed = terminal.run("activities", "--follow", "--interval", "2.5")
    assert (printed.code, printed.err) == (0, "")
    first, second = printed.out.splitlines()
    assert first.split()[:6] == ["1970-01-01", "00:01:40Z", id_at(0), "COMPLETED", "1", "vote"]
    assert first.endswith("  create wallet  by Ana")
    assert second.split()[2:6] == [id_at(1), "CONSENSUS_NEEDED", "2", "votes"]
    assert ticks.slept == [2.5] * 3


def test_json_lines(
    followed: FakeServer, there: Activities, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("keystead.cli.following.time", SimpleNamespace(sleep=Ticks(lambda: there.put(id_at(1)))))
    printed = terminal.run("activities", "-f", "--json", "--limit", "1")
    assert [json.loads(line)["id"] for line in printed.out.splitlines()] == [id_at(0), id_at(1)]


def test_a_server_that_does_not_answer_for_a_while(
    followed: FakeServer, there: Activities, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = followed.answers["query/list_activities"]

    def failing(*failures: Any) -> Any:
        waiting = list(failures)

        def fail(_: Any) -> Any:
            failure = waiting.pop(0) if len(waiting) > 1 else waiting[0]
            if isinstance(failure, Exception):
                raise failure
            return failure

        return lambda: followed.answers.update({"query/list_activities": fail})

    def answering() -> None:
        there.put(id_at(1))
        followed.answers["query/list_activities"] = answer

    steps = [failing(httpx.ConnectError("refused")), failing(refused(500)), lambda: None, answering]
    monkeypatch.setattr("keystead.cli.following.time", SimpleNamespace(sleep=Ticks(*steps)))
    monkeypatch.setattr("keystead.client.client.time", WITHOUT_PAUSES)
    printed = terminal.run("activities", "--follow")
    assert printed.code == 0
    assert [line.split()[2] for line in printed.out.splitlines()] == [id_at(0), id_at(1)]
    first, second = printed.err.splitlines()
    assert "waiting for the server" in first
    assert second == "keystead: the server answers again"


WITHOUT_PAUSES = SimpleNamespace(monotonic=time.monotonic, sleep=lambda _: None)
"""In the place of the client's clock: its own retries would wait."""


@pytest.mark.parametrize(("status", "step"), [(401, 1), (403, 1), (503, 0)])
def test_an_error_that_is_not_temporary_ends_the_command(
    status: int, step: int, followed: FakeServer, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first poll must succeed: with a wrong address, the command does not wait."""

    def spoil() -> None:
        followed.answers["query/list_activities"] = refused(status)

    monkeypatch.setattr("keystead.client.client.time", WITHOUT_PAUSES)
    if step == 0:
        spoil()
    monkeypatch.setattr("keystead.cli.following.time", SimpleNamespace(sleep=Ticks(spoil)))
    printed = terminal.run("activities", "--follow")
    assert printed.code == 1
    assert printed.err.startswith("keystead: no")
