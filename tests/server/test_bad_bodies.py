"""Bodies that are not a request. They are refused before anything is looked up, and nothing is written."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from keystead.api.catalogue import Operation
from tests.support.callers import Caller, now_ms, refusal
from tests.support.databases import Database
from tests.support.operation_examples import EXAMPLED, example_body
from tests.support.organization_fixtures import UNKNOWN_IDS

pytestmark = pytest.mark.one_engine

MIB = 1_048_576


class Case(NamedTuple):
    """`change` makes the body from a good one, which is an object whose first member is a string."""

    name: str
    change: Callable[[bytes], bytes]
    message: str
    status: int = 400


def padded(length: int) -> Callable[[bytes], bytes]:
    return lambda good: good + b" " * (length - len(good))


def member(text: bytes) -> Callable[[bytes], bytes]:
    """With a member more, of a name that the request can have."""
    return lambda good: (
        good[:-1] + (b',"generateAppProofs":' if b"timestampMs" in good else b',"filterByType":') + text + b"}"
    )


CASES = [
    Case("empty", lambda _: b"", "not valid JSON"),
    Case("blank", lambda _: b" \n", "not valid JSON"),
    Case("text", lambda _: b"organizationId", "not valid JSON"),
    Case("cut short", lambda good: good[:-1], "not valid JSON"),
    Case("more after the end", lambda good: good + b"x", "not valid JSON"),
    Case("two values", lambda good: good + good, "not valid JSON"),
    Case("single quotes", lambda good: good.replace(b'"', b"'"), "not valid JSON"),
    Case("a comment", lambda good: b"/**/" + good, "not valid JSON"),
    Case("a comma too many", lambda good: good[:-1] + b",}", "not valid JSON"),
    Case("a byte-order mark", lambda good: b"\xef\xbb\xbf" + good, "not valid JSON"),
    Case("UTF-16", lambda good: good.decode().encode("utf-16"), "not valid JSON"),
    Case("NaN", member(b"NaN"), "not valid JSON"),
    Case("Infinity", member(b"-Infinity"), "not valid JSON"),
    Case("a control character in a text", member(b'"\n"'), "not valid JSON"),
    Case("a lone surrogate", member(b'"\\ud800"'), "bad request body"),
    Case("a lone surrogate in a name", lambda good: good[:-1] + b',"\\ud800":1}', "bad request body"),
    Case("null", lambda _: b"null", "expected an object, got null"),
    Case("a list", lambda good: b"[" + good + b"]", "expected an object, got a list"),
    Case("a text of JSON", lambda good: json.dumps(good.decode()).encode(), "expected an object, got text"),
    Case("a number", lambda _: b"1", "expected an object, got a number"),
    Case("a very long number", lambda _: b"1" * 100_000, "number out of range"),
    Case("the same member twice", lambda good: good[:-1] + b"," + good[1:], "appears twice"),
    Case("a list nested 100,000 deep", lambda _: b"[" * 100_000, "expected an object, got a list"),
    Case("an object nested 80,000 deep", lambda _: b'{"surprise":' * 80_000, "`surprise`"),
    Case("a member nested 100,000 deep", member(b"[" * 100_000 + b"]" * 100_000), "ot a list"),
    Case("one byte more than 1 MiB", padded(MIB + 1), "larger than 1048576 bytes", 413),
    Case("twenty times 1 MiB", padded(20 * MIB), "larger than 1048576 bytes", 413),
]

QUERY, SUBMISSION = "/public/v1/query/list_activities", "/public/v1/submit/create_user_tag"


def good_body(caller: Caller, path: str) -> bytes:
    if path == QUERY:
        return caller.query_body()
    return caller.submit_body("create_user_tag", {"userTagName": "never", "userIds": []})


@pytest.mark.parametrize("path", [QUERY, SUBMISSION])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_bad_body(case: Case, path: str, caller: Caller, database: Database) -> None:
    before = database.counts()
    status, message = refusal(caller.post(path, case.change(good_body(caller, path))))
    assert (status, case.message in message) == (case.status, True), message
    assert database.counts() == before


@pytest.mark.parametrize("operation", EXAMPLED, ids=lambda operation: operation.name)
def test_the_same_member_twice(operation: Operation, caller: Caller, database: Database) -> None:
    """At any depth: two readers of the same signed bytes could disagree."""
    body = example_body(caller, operation, UNKNOWN_IDS)
    before = database.counts()
    status, message = refusal(caller.post(operation.path, _doubled(body)))
    assert (status, "appears twice" in message) == (400, True), message
    assert database.counts() == before


@pytest.mark.parametrize("operation", EXAMPLED, ids=lambda operation: operation.name)
def test_invalid_utf8(operation: Operation, caller: Caller, database: Database) -> None:
    body = example_body(caller, operation, UNKNOWN_IDS)
    before = database.counts()
    status, message = refusal(caller.post(operation.path, _with_invalid_utf8(body)))
    assert (status, "UTF-8" in message or "utf-8" in message) == (400, True), message
    assert database.counts() == before


def _doubled(body: bytes) -> bytes:
    """With the first member of the innermost object once more; the decoders of structs keep the last."""
    request = json.loads(body)
    inner = _innermost(request)
    name = next(iter(inner))
    inner["@@@"] = inner[name]
    return json.dumps(request).encode().replace(b"@@@", name.encode())


def _with_invalid_utf8(body: bytes) -> bytes:
    """In the first text of the innermost object."""
    request = json.loads(body)
    inner = _innermost(request)
    name = next(name for name, value in inner.items() if isinstance(value, str))
    inner[name] += "@@@"
    return json.dumps(request).encode().replace(b"@@@", b"\xff")


def _innermost(value: Any) -> Any:
    """The first object that holds texts but no further objects."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for item in inside:
        if (found := _innermost(item)) is not None:
            return found
    return value if isinstance(value, dict) and any(isinstance(item, str) for item in value.values()) else None


STALE = [
    ("missing", None, "missing field `timestampMs`"),
    ("empty", "", "field `timestampMs`: expected milliseconds since the epoch"),
    ("in words", "now", "field `timestampMs`: expected milliseconds since the epoch"),
    ("negative", "-1", "field `timestampMs`: expected milliseconds since the epoch"),
    ("a fraction", "1766000000000.5", "field `timestampMs`: expected milliseconds since the epoch"),
    ("in other digits", "١٧٦٦٠٠٠٠٠٠٠٠٠", "field `timestampMs`: expected milliseconds since the epoch"),
    ("in seconds", str(now_ms() // 1000), "field `timestampMs`: "),
    ("an hour and a second ago", str(now_ms() - 3_601_000), "is too far from the server's time"),
    ("a while ahead", str(now_ms() + 3_600_000), "is too far from the server's time"),
    ("of twenty digits", "9" * 20, "is too far from the server's time"),
]


@pytest.mark.parametrize(("name", "timestamp_ms", "expected"), STALE, ids=[name for name, *_ in STALE])
def test_timestamp(name: str, timestamp_ms: str | None, expected: str, caller: Caller, database: Database) -> None:
    body = json.loads(good_body(caller, SUBMISSION))
    body |= {"timestampMs": timestamp_ms}
    if timestamp_ms is None:
        del body["timestampMs"]
    before = database.counts()
    status, message = refusal(caller.post(SUBMISSION, json.dumps(body).encode()))
    assert (status, expected in message) == (400, True), message
    assert database.counts() == before


TYPES = [
    ("of another path", "ACTIVITY_TYPE_CREATE_WALLET"),
    ("unknown", "ACTIVITY_TYPE_CREATE_EVERYTHING"),
    ("empty", ""),
    ("in lower case", "activity_type_create_user_tag"),
]


@pytest.mark.parametrize(("name", "activity_type"), TYPES, ids=[name for name, _ in TYPES])
def test_type_that_does_not_fit_the_path(name: str, activity_type: str, caller: Caller, database: Database) -> None:
    before = database.counts()
    response = caller.submit("create_user_tag", {"userTagName": "x", "userIds": []}, type=activity_type)
    status, message = refusal(response)
    assert (status, message.startswith("Invalid activity type"), "`type`" in message) == (400, True, True), message
    assert database.counts() == before
