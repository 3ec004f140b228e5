"""The same bytes again return the same activity, for every caller, at any later time, and concurrently."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.support.callers import Caller, answered, now_ms, refusal, unique
from tests.support.databases import Database
from tests.support.passkeys import SoftPasskey
from tests.support.servers import Installation, Server

PATH = "/public/v1/submit/create_user_tag"


def tag_body(caller: Caller, **envelope: Any) -> bytes:
    return caller.submit_body("create_user_tag", {"userTagName": unique("tag"), "userIds": []}, **envelope)


def submitted(caller: Caller, body: bytes) -> Any:
    return answered(caller.post(PATH, body))["activity"]


def test_again(caller: Caller, database: Database) -> None:
    body = tag_body(caller)
    first = submitted(caller, body)
    before = database.counts()
    assert submitted(caller, body) == first
    assert database.counts() == before


def test_with_the_very_same_stamp(caller: Caller) -> None:
    body = tag_body(caller)
    headers = caller.stamped(body)
    first, second = (caller.http.post(PATH, content=body, headers=headers) for _ in range(2))
    assert answered(first) == answered(second)


def test_with_another_signature_the_first_stays_on_record(caller: Caller) -> None:
    body = tag_body(caller)
    one, other = caller.stamped(body), caller.stamped(body)
    assert one != other
    first, second = (caller.http.post(PATH, content=body, headers=headers) for headers in (one, other))
    assert answered(first) == answered(second)


def test_by_another_user_who_may_not_even_submit_it(caller: Caller, database: Database) -> None:
    """It counts as nothing: no vote is added."""
    other = caller.new_user()
    body = tag_body(caller)
    assert refusal(other.post(PATH, tag_body(other)))[0] == 403
    first = submitted(caller, body)
    before = database.counts()
    assert submitted(other, body) == first
    assert database.counts() == before


def test_by_a_passkey(caller: Caller) -> None:
    passkey = SoftPasskey()
    caller.submitted("create_authenticators", {"userId": caller.user_id, "authenticators": [passkey.params()]})
    body = tag_body(caller)
    first = submitted(caller, body)
    response = caller.http.post(PATH, content=body, headers=passkey.stamp(body))
    assert answered(response)["activity"] == first


def test_by_an_outsider(caller: Caller, server: Server) -> None:
    """Knowing the bytes of a request is not enough to read its activity."""
    body = tag_body(caller)
    submitted(caller, body)
    key = caller.new_user().key
    stranger = caller.with_key(key, organization_id=caller.organization_id)
    assert stranger.post(PATH, body).status_code == 200
    assert refusal(caller.http.post(PATH, content=body))[0] == 401


def test_other_bytes_of_the_same_meaning_are_another_activity(caller: Caller) -> None:
    body = caller.submit_body("create_user_tag", {"userTagName": unique("tag"), "userIds": []})
    submitted(caller, body)
    status, message = refusal(caller.post(PATH, body + b" "))
    assert (status, "label must be unique" in message) == (400, True)


def test_refused_bytes_are_judged_afresh(caller: Caller) -> None:
    """Nothing is on record of a refusal: what stood in the way may be gone."""
    other = caller.new_user()
    body = other.submit_body("create_user_tag", {"userTagName": unique("tag"), "userIds": []})
    assert [refusal(other.post(PATH, body))[0] for _ in range(2)] == [403, 403]
    assert submitted(caller, body)["votes"][0]["userId"] == caller.user_id


def test_long_after(installation: Installation, start: Callable[..., Server]) -> None:
    """A server on the same database to which their time is too long past knows them all the same."""
    timely, late = start(installation), start(installation, timestamp_past_s=1)
    body, never = (tag_body(timely.caller, timestampMs=str(now_ms() - 60_000)) for _ in range(2))
    first = submitted(timely.caller, body)
    assert submitted(late.caller, body) == first
    status, message = refusal(late.caller.post(PATH, never))
    assert (status, "is too far from the server's time" in message) == (400, True)


def at_once(callers: list[Caller], body: bytes) -> list[Any]:
    with ThreadPoolExecutor(len(callers)) as threads:
        return list(threads.map(lambda caller: submitted(caller, body), callers))


def test_at_once(caller: Caller, database: Database) -> None:
    other = caller.new_user()
    for _ in range(10):
        body = tag_body(caller)
        before = database.counts()
        first, *others = at_once([caller] * 8, body)
        assert all(activity == first for activity in others)
        assert submitted(other, body) == first
        changed = {name: count - before[name] for name, count in database.counts().items() if count != before[name]}
        assert changed == {"activity": 1, "policy_evaluation": 1, "record": 1, "vote": 1}


def test_at_once_at_two_servers(installation: Installation, start: Callable[..., Server]) -> None:
    servers = [start(installation), start(installation)]
    for _ in range(20):
        body = tag_body(servers[0].caller)
        first, *others = at_once([servers[number % 2].caller for number in range(8)], body)
        assert all(activity == first for activity in others)
    counts = installation.database.counts()
    assert (counts["activity"], counts["vote"]) == (20, 20)
