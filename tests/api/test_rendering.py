"""The two forms of an answer, and of a refusal."""

from __future__ import annotations

import inspect
import json
import re
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keystead.api import errors, records
from keystead.api.enums import ActivityStatus, CredentialType
from keystead.api.errors import InvalidRequest, PermissionDenied, ServiceError
from keystead.api.records import Activity, ActivityResponse, ApiKey, Credential, Status, Timestamp, User, Wire
from keystead.api.rendering import Form, answer, encode, error_answer, rfc3339, to_documented_form
from tests.support.commit_samples import a_user

TIME = Timestamp.from_ms(1_795_287_180_123)
KEY = ApiKey(
    credential=Credential(public_key="02ab", type=CredentialType.API_KEY_P256),
    api_key_id="1",
    api_key_name="key",
    created_at=TIME,
    updated_at=TIME,
)


class Inner(Wire, frozen=True):
    text: str | None = None


class Intent(Wire, frozen=True):
    name: str
    text: str | None = None
    number: int | None = None
    flag: bool | None = None
    items: tuple[Inner, ...] = ()
    inner: Inner | None = None


def an_activity(**members: Any) -> Activity:
    return Activity(
        id="1",
        organization_id="2",
        status=ActivityStatus.COMPLETED,
        type="ACTIVITY_TYPE_X",
        intent={"intent": Intent(name="n", items=(Inner(),))},
        result={"result": msgspec.Raw(b'{"id":"3"}')},
        votes=(),
        fingerprint="sha256:00",
        can_approve=False,
        can_reject=True,
        created_at=TIME,
        updated_at=TIME,
        timestamp_ms="1795287180000",
        **members,
    )


def rendered(response: Wire, form: Form) -> Any:
    return json.loads(answer(response, form))


def test_documented_record_has_every_text() -> None:
    assert rendered(KEY, Form.DOCUMENTED) == {
        "credential": {"publicKey": "02ab", "type": "CREDENTIAL_TYPE_API_KEY_P256", "sessionProfileId": ""},
        "apiKeyId": "1",
        "apiKeyName": "key",
        "createdAt": {"seconds": "1795287180", "nanos": "123000000"},
        "updatedAt": {"seconds": "1795287180", "nanos": "123000000"},
        "expirationSeconds": "",
    }


def test_sdk_record_leaves_absent_members_out() -> None:
    sdk, full = rendered(KEY, Form.SDK), rendered(KEY, Form.DOCUMENTED)
    assert set(full) - set(sdk) == {"expirationSeconds"}
    assert set(full["credential"]) - set(sdk["credential"]) == {"sessionProfileId"}


def test_documented_activity() -> None:
    activity = rendered(ActivityResponse(activity=an_activity()), Form.DOCUMENTED)["activity"]
    assert (activity["createdAt"], activity["timestampMs"]) == ("2026-11-21T18:53:00.123Z", "1795287180000")
    assert activity["intent"] == {"intent": {"name": "n", "text": "", "items": [{"text": ""}]}}
    nested = activity["result"].pop("activity")
    assert nested == activity
    assert activity["result"] == {"result": {"id": "3"}}


def test_sdk_activity() -> None:
    activity = rendered(ActivityResponse(activity=an_activity()), Form.SDK)["activity"]
    assert set(activity["createdAt"]) == {"seconds", "nanos"}
    assert not {"timestampMs", "failure", "appProofs"} & set(activity)
    assert activity["result"] == {"result": {"id": "3"}}
    assert activity["intent"] == {"intent": {"name": "n", "items": [{}]}}


@pytest.mark.parametrize("form", Form)
def test_an_unfinished_activity_has_an_empty_result(form: Form) -> None:
    pending = msgspec.structs.replace(an_activity(), result={}, status=ActivityStatus.CONSENSUS_NEEDED)
    result = rendered(ActivityResponse(activity=pending), form)["activity"]["result"]
    assert {name: value for name, value in result.items() if name != "activity"} == {}


@pytest.mark.parametrize("form", Form)
def test_why_an_activity_failed(form: Form) -> None:
    failed = an_activity(failure=Status(code=3, message="no"))
    assert rendered(ActivityResponse(activity=failed), form)["activity"]["failure"]["code"] == 3


intents = st.builds(
    Intent,
    name=st.text(max_size=5),
    text=st.none() | st.text(max_size=5),
    number=st.none() | st.integers(-(2**63), 2**63 - 1),
    flag=st.none() | st.booleans(),
    items=st.lists(st.builds(Inner, text=st.none() | st.text(max_size=5)), max_size=3).map(tuple),
    inner=st.none() | st.builds(Inner, text=st.none() | st.text(max_size=5)),
)


@given(intents)
def test_documented_form_loses_nothing_and_adds_only_empty_texts(intent: Intent) -> None:
    assert _without_empty_texts(json.loads(encode(to_documented_form(intent)))) == _without_empty_texts(
        json.loads(msgspec.json.encode(msgspec.structs.asdict(intent)))
    )


def _without_empty_texts(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_empty_texts(item) for name, item in value.items() if item not in ("", None, [])}
    return [_without_empty_texts(item) for item in value] if isinstance(value, list) else value


WIRES = [
    record
    for record in vars(records).values()
    if inspect.isclass(record) and issubclass(record, Wire) and record is not Wire
]


@pytest.mark.parametrize("record", WIRES, ids=lambda record: record.__name__)
def test_every_record_is_camel_case_and_keeps_its_lists(record: type[Wire]) -> None:
    """A list or a text that a caller must find may not have a default: it would be left out where it is equal. A
    field that stored records lack has a factory that msgspec does not compare with."""
    for field in msgspec.structs.fields(record):
        assert re.fullmatch(r"[a-z]+([A-Z0-9][a-z0-9]*)*", field.encode_name), field.encode_name
        may_be_absent = field.default is None or record is Status
        assert field.required or may_be_absent or field.default_factory not in (list, dict, set, tuple), field.name


def test_a_list_that_stored_records_lack_is_in_answers() -> None:
    stored = msgspec.to_builtins(a_user())
    del stored["walletAuthenticators"]
    for form in Form:
        assert json.loads(answer(msgspec.convert(stored, User), form))["walletAuthenticators"] == []


TIMES = [
    (0, "1970-01-01T00:00:00.000Z"),
    (1, "1970-01-01T00:00:00.001Z"),
    (999, "1970-01-01T00:00:00.999Z"),
    (951_782_400_000, "2000-02-29T00:00:00.000Z"),
    (1_795_287_180_123, "2026-11-21T18:53:00.123Z"),
    (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
]


@pytest.mark.parametrize(("epoch_ms", "text"), TIMES)
def test_rfc3339(epoch_ms: int, text: str) -> None:
    assert rfc3339(epoch_ms) == text


@given(st.integers(0, 253_402_300_799_999))
def test_timestamps_keep_their_milliseconds(epoch_ms: int) -> None:
    assert Timestamp.from_ms(epoch_ms).epoch_ms == epoch_ms


def test_refusal() -> None:
    assert json.loads(error_answer(InvalidRequest("no"))) == {
        "code": 3,
        "message": "no",
        "details": [
            {"@type": "type.googleapis.com/errors.v1.TurnkeyErrorDetail", "turnkeyErrorCode": "REQUEST_INVALID"}
        ],
        "turnkeyErrorCode": "REQUEST_INVALID",
    }


def test_refusal_with_details_of_its_own() -> None:
    refused = PermissionDenied("no", machine_code="", details=[{"@type": "x", "policyEvaluations": []}])
    assert json.loads(error_answer(refused)) == {
        "code": 7,
        "message": "no",
        "details": [{"@type": "x", "policyEvaluations": []}],
        "turnkeyErrorCode": "",
    }


# The gateway mapping of activities.md, section 7, and the statuses that HTTP itself has.
GRPC_OF_HTTP = {
    400: {3, 9, 11},
    401: {16},
    403: {7},
    404: {5},
    405: {12},
    408: {4},
    409: {6, 10},
    413: {11},
    429: {8},
    431: {11},
    500: {2, 13, 15},
    501: {12},
    503: {14},
}
ERRORS = [kind for kind in vars(errors).values() if inspect.isclass(kind) and issubclass(kind, ServiceError)]


@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__name__)
def test_every_error_knows_its_codes(kind: type[ServiceError]) -> None:
    assert kind.grpc_code in GRPC_OF_HTTP[kind.http_status]
    error = kind("why")
    assert (error.message, str(error), error.machine_code) == ("why", "why", kind.default_machine_code)
    details = json.loads(error_answer(error))["details"]
    assert [detail["turnkeyErrorCode"] for detail in details] == [kind.default_machine_code][: len(details)]
