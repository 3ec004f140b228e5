"""A submission's body: envelope, intent in the version it names, time, fingerprint."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from keystead.api.errors import InvalidRequest
from keystead.operations import CATALOGUE
from keystead.pipeline.operation import ActivityOperation
from keystead.pipeline.submission import (
    Liveness,
    check_liveness,
    fingerprint,
    read_submission,
    recorded_envelope,
)
from tests.organizations.records import NOW_MS

ORGANIZATION_ID = "0197b0a6-2b8b-7a52-8e2f-8a4b6e1f2c3d"
WINDOW = Liveness(past_ms=3_600_000, future_ms=300_000)


def body(**members: Any) -> bytes:
    envelope = {
        "type": "ACTIVITY_TYPE_CREATE_USER_TAG",
        "timestampMs": str(NOW_MS),
        "organizationId": ORGANIZATION_ID,
        "parameters": {"userTagName": "ops", "userIds": []},
    }
    return json.dumps({name: value for name, value in (envelope | members).items() if value != ...}).encode()


def read(raw: bytes, name: str = "create_user_tag") -> Any:
    operation = CATALOGUE.at(f"/public/v1/submit/{name}")
    assert isinstance(operation, ActivityOperation)
    return read_submission(operation, raw)


AT = [
    ("now", NOW_MS, True),
    ("an hour ago", NOW_MS - 3_600_000, False),
    ("a millisecond less", NOW_MS - 3_599_999, True),
    ("five minutes ahead", NOW_MS + 300_000, True),
    ("a millisecond more", NOW_MS + 300_001, False),
    ("the epoch", 0, False),
    ("twenty digits", 10**20 - 1, False),
]


@pytest.mark.parametrize(("name", "sent_ms", "is_live"), AT, ids=[name for name, *_ in AT])
def test_liveness(name: str, sent_ms: int, is_live: bool) -> None:
    envelope = recorded_envelope(body(timestampMs=str(sent_ms)))
    if is_live:
        check_liveness(envelope, (NOW_MS,), WINDOW)
    else:
        with pytest.raises(
            InvalidRequest, match=rf"`timestampMs`: {sent_ms} .* server's time {NOW_MS}; .* 3600 s .* 300 s"
        ):
            check_liveness(envelope, (NOW_MS,), WINDOW)


@pytest.mark.parametrize("text", ["", " ", "-1", "+1", "1.0", "1e12", "0x1", "now", "١", "1 ", "1_000", '"'])
def test_malformed_time(text: str) -> None:
    with pytest.raises(
        InvalidRequest, match="`timestampMs`: expected milliseconds since the epoch as decimal text"
    ):
        check_liveness(recorded_envelope(body(timestampMs=text)), (NOW_MS,), WINDOW)


def test_leading_zeros_are_ignored() -> None:
    check_liveness(recorded_envelope(body(timestampMs=f"000{NOW_MS}")), (NOW_MS,), WINDOW)


def test_submission() -> None:
    raw = b" " + body(generateAppProofs=True) + b"\n"
    submission = read(raw)
    assert submission.request == raw
    assert submission.fingerprint == f"sha256:{hashlib.sha256(raw).hexdigest()}" == fingerprint(raw)
    assert (submission.intent.user_tag_name, submission.envelope.generate_app_proofs) == ("ops", True)


BAD = [
    ({"type": ...}, "missing field `type`"),
    ({"timestampMs": ...}, "missing field `timestampMs`"),
    ({"organizationId": ...}, "missing field `organizationId`"),
    ({"parameters": ...}, "missing field `parameters`"),
    ({"parameters": None}, "field `parameters`: expected an object, got null"),
    ({"parameters": []}, "field `parameters`: expected an object, got a list"),
    ({"parameters": {}}, "missing field `parameters."),
    ({"timestampMs": NOW_MS}, "field `timestampMs`: expected text, got a number"),
    ({"generateAppProofs": "true"}, "field `generateAppProofs`: expected true or false or null, got text"),
    ({"more": 1}, "unknown field `more`"),
    ({"type": "ACTIVITY_TYPE_CREATE_WALLET"}, "Invalid activity type: field `type`: 'ACTIVITY_TYPE_CREATE_WALLET'"),
    ({"parameters": {"userTagName": "x", "userIds": [], "more": 1}}, "unknown field `parameters.more`"),
    (
        {"parameters": {"userTagName": "x", "userIds": [], "generateAppProofs": 1, "more": 1}},
        "unknown field `parameters.more`",
    ),
]


@pytest.mark.parametrize(("members", "message"), BAD, ids=[message for _, message in BAD])
def test_bad(members: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        read(body(**members))
    assert message in refused.value.message


@pytest.mark.parametrize("wish", [True, False, None, "any"])
def test_a_request_for_app_proofs_among_the_parameters(wish: Any) -> None:
    submission = read(body(parameters={"userTagName": "ops", "userIds": [], "generateAppProofs": wish}))
    assert (submission.intent.user_tag_name, submission.envelope.generate_app_proofs) == ("ops", None)


def test_an_activity_type_of_another_path_is_refused_with_the_expected_types() -> None:
    with pytest.raises(
        InvalidRequest, match=r"expected ACTIVITY_TYPE_CREATE_API_KEYS_V2 or ACTIVITY_TYPE_CREATE_API_KEYS$"
    ):
        read(body(), "create_api_keys")


def test_the_same_member_twice_at_any_depth() -> None:
    for twice in (b'"userIds": []', b'"type": "ACTIVITY_TYPE_CREATE_USER_TAG"'):
        with pytest.raises(InvalidRequest, match="appears twice"):
            read(body().replace(twice, twice + b", " + twice))


def test_the_envelope_of_every_record_can_be_read_again() -> None:
    envelope = recorded_envelope(body(generateAppProofs=None))
    assert (envelope.organization_id, envelope.timestamp_ms) == (ORGANIZATION_ID, str(NOW_MS))
