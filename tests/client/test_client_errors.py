"""From refusals, and from answers that are not of this API, to errors."""

from __future__ import annotations

import datetime
from collections.abc import Callable

import httpx
import pytest

import keystead
from keystead import (
    AlreadyExists,
    ApiError,
    Conflict,
    InvalidRequest,
    KeysteadError,
    LimitReached,
    NotFound,
    NotImplementedByServer,
    PermissionDenied,
    ProtocolError,
    Retries,
    ServerError,
    Unauthenticated,
    Unavailable,
)
from keystead.api import errors
from keystead.api.rendering import error_answer
from keystead.client import errors as client_errors
from keystead.client.answers import refusal
from tests.support.stub_server import ClientUnderTest, StubServer, ok

Make = Callable[..., ClientUnderTest]

BY_SERVER: dict[type[errors.ServiceError], type[ApiError]] = {
    errors.InvalidRequest: InvalidRequest,
    errors.Unauthenticated: Unauthenticated,
    errors.PermissionDenied: PermissionDenied,
    errors.NotFound: NotFound,
    errors.MethodNotAllowed: InvalidRequest,
    errors.RequestTimeout: InvalidRequest,
    errors.AlreadyExists: AlreadyExists,
    errors.Conflict: Conflict,
    errors.TooLarge: InvalidRequest,
    errors.LimitReached: LimitReached,
    errors.HeadersTooLarge: InvalidRequest,
    errors.NotImplementedHere: NotImplementedByServer,
    errors.Unavailable: Unavailable,
    errors.Internal: ServerError,
}


def test_every_refusal_of_the_server_has_a_row() -> None:
    """Those of the API: a command may have one of its own, which no server answers."""
    declared = {each for each in errors.ServiceError.__subclasses__() if each.__module__ == errors.__name__}
    assert set(BY_SERVER) == declared


@pytest.mark.parametrize("refused", BY_SERVER, ids=lambda refused: refused.__name__)
def test_a_refusal_keeps_what_the_server_said(refused: type[errors.ServiceError]) -> None:
    said = refused("field `x`: 7 is too much", machine_code="TOO_MUCH")
    error = refusal("query/x", refused.http_status, {"x-request-id": "r-1"}, error_answer(said))
    assert type(error) is BY_SERVER[refused]
    assert isinstance(error, ApiError)
    assert (error.http_status, error.code) == (refused.http_status, refused.grpc_code)
    assert (error.message, error.machine_code) == ("field `x`: 7 is too much", "TOO_MUCH")
    assert error.details[0]["turnkeyErrorCode"] == "TOO_MUCH"
    assert str(error) == (
        f"field `x`: 7 is too much (HTTP {refused.http_status}, code {refused.grpc_code}, TOO_MUCH, request r-1)"
    )


def refusal_of(status: int, body: bytes, **headers: str) -> ApiError:
    error = refusal("query/x", status, headers, body)
    assert isinstance(error, ApiError)
    return error


def test_the_machine_code_may_be_in_the_details_only() -> None:
    body = b'{"code":16,"message":"m","details":[{"@type":"t"},{"turnkeyErrorCode":"API_KEY_EXPIRED"}]}'
    assert refusal_of(401, body).machine_code == "API_KEY_EXPIRED"


@pytest.mark.parametrize(
    ("status", "kind"),
    [(404, NotFound), (418, InvalidRequest), (500, ServerError), (502, Unavailable), (599, ServerError)],
)
@pytest.mark.parametrize("body", [b"", b"<html>no</html>", b'{"error":"no"}', b"\xff", b"[]", b"[" * 5000])
def test_a_refusal_in_no_form_of_this_api(status: int, kind: type[ApiError], body: bytes) -> None:
    error = refusal_of(status, body)
    assert type(error) is kind
    assert (error.code, error.machine_code, error.details, error.request_id) == (2, "", (), None)
    assert "query/x" in error.message
    assert len(error.message) < 1000


NOW = datetime.datetime(2026, 11, 21, 19, 0, 0, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7),
        ("0", 0),
        ("Sat, 21 Nov 2026 19:00:30 GMT", 30),
        ("Sat, 21 Nov 2026 18:00:00 GMT", 0),
        ("soon", None),
        ("-1", None),
        ("1.5", None),
        ("", None),
    ],
)
def test_retry_after(header: str, seconds: float | None) -> None:
    error = refusal("query/x", 429, {"retry-after": header}, b"", NOW)
    assert isinstance(error, LimitReached)
    assert error.retry_after_s == seconds


def test_a_redirect_is_not_followed(driven: Make) -> None:
    server = StubServer(httpx.Response(308, headers={"Location": "https://elsewhere.example/"}))
    with pytest.raises(ProtocolError, match=r"HTTP 308\) to https://elsewhere\.example/.*base URL"):
        driven(server).call(lambda c: c.whoami())
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "not JSON"),
        (b"<html>", "<html>"),
        (b"\xff\xfe", "not JSON"),
        (b"[]", "Expected `object`"),
        (b"{}", "missing required field `wallets`"),
        (b'{"wallets":[{"walletId":7}]}', "wallet"),
        (b'{"wallets":null}', "query/list_wallets"),
        (b"[" * 100_000, "not JSON"),
    ],
)
def test_an_answer_that_cannot_be_read(driven: Make, body: bytes, says: str) -> None:
    server = StubServer(httpx.Response(200, content=body))
    with pytest.raises(ProtocolError, match=says) as raised:
        driven(server, retries=Retries(tries=1)).call(lambda c: c.list_wallets())
    assert len(str(raised.value)) < 1000


def test_members_of_a_newer_server_are_skipped(driven: Make) -> None:
    wallet = {
        "walletId": "w",
        "walletName": "n",
        "createdAt": {"seconds": "1", "nanos": "0", "zone": "UTC"},
        "updatedAt": {"seconds": "1", "nanos": "0"},
        "exported": False,
        "imported": True,
        "color": {"hue": 7},
    }
    answer = driven(StubServer(ok({"wallets": [wallet], "total": 1}))).call(lambda c: c.list_wallets())
    assert [(wallet.wallet_id, wallet.imported) for wallet in answer.wallets] == [("w", True)]


def test_one_hierarchy() -> None:
    raised = [
        kind for kind in vars(client_errors).values() if isinstance(kind, type) and issubclass(kind, Exception)
    ]
    assert len(raised) > 15
    for kind in raised:
        assert issubclass(kind, KeysteadError)
        assert getattr(keystead, kind.__name__) is kind
