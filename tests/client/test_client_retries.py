"""Which failures are tried again, with which bytes, how long, and what is raised in the end."""

from __future__ import annotations

import ssl
from collections.abc import Callable

import httpx
import pytest

from keystead import (
    ApiError,
    ConnectionFailed,
    KeysteadError,
    LimitReached,
    ProtocolError,
    RequestTimedOut,
    Retries,
    Unavailable,
    UsageError,
)
from keystead.client.retries import Tries
from tests.support.stub_server import Answer, ClientUnderTest, StubServer, activity, ok, refused

Make = Callable[..., ClientUnderTest]

PASSING: list[tuple[str, Answer, type[KeysteadError]]] = [
    ("connection refused", httpx.ConnectError("refused"), ConnectionFailed),
    ("connection broken while reading", httpx.ReadError("reset"), ConnectionFailed),
    ("connection closed without an answer", httpx.RemoteProtocolError("closed"), ConnectionFailed),
    ("no connection in time", httpx.ConnectTimeout("slow"), RequestTimedOut),
    ("no answer in time", httpx.ReadTimeout("slow"), RequestTimedOut),
    ("429", refused(429, {"code": 8, "message": "slow down"}), LimitReached),
    ("502 of a proxy", httpx.Response(502, text="<html>bad gateway</html>"), Unavailable),
    ("503", refused(503, {"code": 14, "message": "starting"}), Unavailable),
    ("504", refused(504, {"code": 4, "message": "late"}), Unavailable),
]


@pytest.mark.parametrize(("failure", "raised"), [row[1:] for row in PASSING], ids=[row[0] for row in PASSING])
class TestAFailureThatMayPass:
    def test_is_tried_again_with_the_same_bytes(
        self, driven: Make, failure: Answer, raised: type[KeysteadError]
    ) -> None:
        server = StubServer(failure, failure, ok(activity()))
        made = driven(server).call(lambda c: c.create_wallet(wallet_name="w", accounts=[]))
        assert made.wallet_id == "wallet-1"
        assert len(server.requests) == 3
        assert len({(request.content, request.headers["X-Stamp"]) for request in server.requests}) == 1

    def test_is_raised_after_the_last_try(self, driven: Make, failure: Answer, raised: type[KeysteadError]) -> None:
        server = StubServer(failure)
        with pytest.raises(raised):
            driven(server).call(lambda c: c.list_wallets())
        assert len(server.requests) == 3

    def test_is_raised_without_repetition_if_one_try_is_allowed(
        self, driven: Make, failure: Answer, raised: type[KeysteadError]
    ) -> None:
        server = StubServer(failure)
        with pytest.raises(raised):
            driven(server, retries=Retries(tries=1)).call(lambda c: c.list_wallets())
        assert len(server.requests) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 408, 409, 413, 431, 500, 501])
def test_other_refusals_are_final(driven: Make, status: int) -> None:
    server = StubServer(refused(status))
    with pytest.raises(ApiError):
        driven(server).call(lambda c: c.list_wallets())
    assert len(server.requests) == 1


def test_an_unreadable_answer_is_final(driven: Make) -> None:
    server = StubServer(httpx.Response(200, text="<html>"))
    with pytest.raises(ProtocolError):
        driven(server).call(lambda c: c.create_wallet(wallet_name="w", accounts=[]))
    assert len(server.requests) == 1


def test_the_cause_is_kept(driven: Make) -> None:
    cause = httpx.ConnectError("refused")
    with pytest.raises(ConnectionFailed, match=r"keystead\.test:8080.*refused") as raised:
        driven(StubServer(cause)).call(lambda c: c.whoami())
    assert raised.value.__cause__ is cause


def test_a_connection_that_fails_says_what_to_do(driven: Make) -> None:
    unreachable = httpx.ConnectError("refused")
    with pytest.raises(ConnectionFailed, match=r"refused; start the server, or correct its address$"):
        driven(StubServer(unreachable)).call(lambda c: c.whoami())
    untrusted = httpx.ConnectError("certificate verify failed")
    untrusted.__cause__ = ssl.SSLCertVerificationError()
    with pytest.raises(ConnectionFailed, match=r"certificate verify failed$"):
        driven(StubServer(untrusted)).call(lambda c: c.whoami())


def test_each_try_has_no_more_time_than_is_left(driven: Make) -> None:
    server = StubServer(ok({"wallets": []}))
    driven(server, retries=Retries(deadline_s=2)).call(lambda c: c.list_wallets())
    timeouts = server.requests[0].extensions["timeout"]
    assert all(1 < seconds <= 2 for seconds in timeouts.values())


def pauses(retries: Retries, failure: KeysteadError, *at_s: float) -> list[float | None]:
    tries = Tries(retries, 100.0)
    return [tries.pause_after(failure, 100.0 + now_s) for now_s in at_s]


BROKEN = ConnectionFailed("no")
SLOW_DOWN = ApiError("slow down", http_status=429, retry_after_s=7)


def test_pauses_double_up_to_a_bound_and_vary() -> None:
    retries = Retries(tries=6, pause_s=1, pause_max_s=4)
    for _ in range(50):
        *waited, last = pauses(retries, BROKEN, 0, 0, 0, 0, 0, 0)
        assert last is None
        for pause_s, longest_s in zip(waited, [1, 2, 4, 4, 4], strict=True):
            assert pause_s is not None
            assert longest_s / 2 <= pause_s <= longest_s
    assert len({pauses(retries, BROKEN, 0)[0] for _ in range(20)}) > 1


def test_a_server_is_not_asked_sooner_than_it_says() -> None:
    assert pauses(Retries(tries=2), SLOW_DOWN, 0) == [7]


def test_no_try_begins_after_the_deadline() -> None:
    assert pauses(Retries(deadline_s=6), SLOW_DOWN, 0) == [None]
    assert pauses(Retries(deadline_s=8), SLOW_DOWN, 0) == [7]
    assert pauses(Retries(deadline_s=8, pause_s=0), BROKEN, 8.1) == [None]


@pytest.mark.parametrize("retries", [{"tries": 0}, {"deadline_s": 0}, {"deadline_s": float("nan")}])
def test_retries_that_make_no_sense(retries: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="retries"):
        Retries(**retries)  # type: ignore[arg-type]
