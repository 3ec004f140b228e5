"""Requests to an issuer for its keys: when they are sent, which answers are accepted, how long keys are cached."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import httpx
import pytest

from keystead.api.errors import InvalidRequest, ServiceError, Unavailable
from keystead.identities import web_answers
from keystead.identities.bounds import ANSWER_BYTES_MAX
from keystead.identities.discovery import CACHED_DEFAULT_S, CACHED_MAX_S, CACHED_MIN_S, PAUSE_S, Discovery
from keystead.identities.issuers import KnownIssuers
from keystead.identities.web_answers import check_address
from keystead.organizations.credentials.identities import ProvenIdentity
from tests.support.issuers import Issuer

NOW_S = 1_800_000_000
ISSUER = Issuer()
ROTATED = Issuer(generation=2)
DOCUMENT, KEYS = "https://issuer.example/.well-known/openid-configuration", "https://keys.example/jwks?v=1"
T = TypeVar("T")


class ManualClock:
    def now_ms(self) -> int:
        return NOW_S * 1000


def arriving(answer: httpx.Response) -> httpx.Response:
    """The answer as it comes from a network, not yet read."""
    return httpx.Response(answer.status_code, headers=answer.headers, stream=httpx.ByteStream(answer.content))


class DiscoveryHarness:
    """An issuer on the network, as `answers` has it, and a server that asks. `seconds` is the monotonic clock."""

    def __init__(self, **answers: Callable[[httpx.Request], httpx.Response]) -> None:
        self.issuer = ISSUER
        self.seconds = 1_000.0
        self.asked: list[str] = []
        self.keys_headers: dict[str, str] = {}
        self.answers = {"document": self._document, "keys": self._keys} | answers
        self.gate: asyncio.Event | None = None
        self.discovery = Discovery(
            [ISSUER.url], transport=httpx.MockTransport(self._answer), monotonic=lambda: self.seconds
        )
        self.known = KnownIssuers(ManualClock(), discovery=self.discovery)

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(str(request.url))
        if self.gate is not None:
            await self.gate.wait()
        answer = self.answers["document" if request.url.path.endswith("openid-configuration") else "keys"](request)
        return arriving(answer)

    def _document(self, _: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json={"issuer": ISSUER.url, "jwks_uri": KEYS, "more": ["of", "it"]})

    def _keys(self, _: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json=self.issuer.jwks(), headers=self.keys_headers)

    async def proves(self, token: str) -> ProvenIdentity:
        return await self.known.verify_token(token, "place")

    def after(self, seconds: float) -> DiscoveryHarness:
        self.seconds += seconds
        return self


def run(awaitable: Awaitable[T]) -> T:
    async def awaited() -> T:
        return await awaitable

    return asyncio.run(awaited())


def test_the_keys_are_fetched_and_cached() -> None:
    harness = DiscoveryHarness()
    for _ in range(3):
        assert run(harness.proves(ISSUER.token(NOW_S))).sub == "somebody"
    assert harness.asked == [DOCUMENT, KEYS]


@pytest.mark.parametrize(
    ("url", "is_accepted"),
    [
        ("https://issuer.example", True),
        ("https://issuer.example:8443/keys", True),
        ("http://127.0.0.1:8080/keys", True),
        ("http://issuer.example/keys", False),
        ("https://issuer.example:0/keys", False),
        ("https://somebody@issuer.example/keys", False),
        ("https://issuer.example/keys#first", False),
        ("https:///keys", False),
    ],
)
def test_addresses(url: str, is_accepted: bool) -> None:
    with contextlib.nullcontext() if is_accepted else pytest.raises(ValueError, match="expected"):
        check_address(url)


def test_an_issuer_whose_name_ends_in_a_slash() -> None:
    named = Issuer(url="https://issuer.example/tenant/")
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(str(request.url))
        is_document = request.url.path.endswith("openid-configuration")
        return arriving(
            answering(json={"issuer": named.url, "jwks_uri": KEYS} if is_document else named.jwks())(request)
        )

    there = Discovery([named.url], transport=httpx.MockTransport(answer))
    assert (
        run(KnownIssuers(ManualClock(), discovery=there).verify_token(named.token(NOW_S), "place")).iss == named.url
    )
    assert asked[0] == "https://issuer.example/tenant/.well-known/openid-configuration"


@pytest.mark.parametrize(
    "issuer", ["https://evil.example", "https://issuer.example.evil.example", "http://issuer.example"]
)
def test_no_other_issuer_is_asked(issuer: str) -> None:
    harness = DiscoveryHarness()
    with pytest.raises(InvalidRequest, match="KEYSTEAD_OIDC_ISSUERS"):
        run(harness.proves(Issuer(url=issuer).token(NOW_S)))
    assert harness.asked == []


def test_a_malformed_token_causes_no_request() -> None:
    harness = DiscoveryHarness()
    for token in ("a.b.c", ISSUER.token(NOW_S, header={"alg": "none"})):
        with pytest.raises(InvalidRequest):
            run(harness.proves(token))
    assert harness.asked == []


def test_pinned_keys_are_never_fetched() -> None:
    harness = DiscoveryHarness()
    pinned = KnownIssuers(ManualClock(), {ISSUER.url: ISSUER.key_set()}, harness.discovery)
    assert run(pinned.verify_token(ISSUER.token(NOW_S), "place")).iss == ISSUER.url
    with pytest.raises(InvalidRequest, match="no such key"):
        run(pinned.verify_token(ROTATED.token(NOW_S), "place"))
    assert harness.asked == []


LIFETIMES: dict[str, tuple[dict[str, str], int]] = {
    "nothing said": ({}, CACHED_DEFAULT_S),
    "an hour": ({"cache-control": "public, max-age=3600, must-revalidate"}, 3600),
    "in capitals": ({"cache-control": "Max-Age=3600"}, 3600),
    "an hour, of which half is over": ({"cache-control": "max-age=3600", "age": "1800"}, 1800),
    "older than it may be": ({"cache-control": "max-age=3600", "age": "9999"}, CACHED_MIN_S),
    "an age in words": ({"cache-control": "max-age=3600", "age": "old"}, 3600),
    "a second": ({"cache-control": "max-age=1"}, CACHED_MIN_S),
    "not at all": ({"cache-control": "no-store, max-age=3600"}, CACHED_MIN_S),
    "a year": ({"cache-control": "max-age=31536000"}, CACHED_MAX_S),
    "for ever": ({"cache-control": "max-age=" + "9" * 10}, CACHED_MAX_S),
    "nonsense": ({"cache-control": "max-age=soon"}, CACHED_DEFAULT_S),
}


@pytest.mark.parametrize(("headers", "seconds"), LIFETIMES.values(), ids=LIFETIMES.keys())
def test_how_long_keys_are_cached(headers: dict[str, str], seconds: int) -> None:
    harness = DiscoveryHarness()
    harness.keys_headers = headers
    token = ISSUER.token(NOW_S)
    run(harness.proves(token))
    run(harness.after(seconds - 1).proves(token))
    assert len(harness.asked) == 2
    run(harness.after(1).proves(token))
    assert len(harness.asked) == 4


def test_a_rotation() -> None:
    """A token by a key that is not known asks again, but not within a minute; the old key is then gone."""
    harness = DiscoveryHarness()
    run(harness.proves(ISSUER.token(NOW_S)))
    harness.issuer = ROTATED
    for _ in range(3):
        with pytest.raises(InvalidRequest, match="key 'RSA-2': the issuer has no such key"):
            run(harness.after(19).proves(ROTATED.token(NOW_S)))
    assert len(harness.asked) == 2
    assert run(harness.after(3).proves(ROTATED.token(NOW_S))).iss == ISSUER.url
    assert len(harness.asked) == 4
    with pytest.raises(InvalidRequest, match="key 'RSA-1': the issuer has no such key"):
        run(harness.proves(ISSUER.token(NOW_S)))
    assert len(harness.asked) == 4


def test_a_bad_signature_causes_no_further_request() -> None:
    harness = DiscoveryHarness()
    forged = Issuer(generation=2).token(NOW_S, header={"kid": "RSA-1"})
    for _ in range(3):
        with pytest.raises(InvalidRequest, match="the signature is not the issuer's"):
            run(harness.after(CACHED_MIN_S + 1).proves(forged))
    assert len(harness.asked) == 2


def test_one_question_at_a_time() -> None:
    async def many() -> None:
        harness = DiscoveryHarness()
        harness.gate = asyncio.Event()
        waiting = [asyncio.create_task(harness.proves(ISSUER.token(NOW_S, sub=str(n)))) for n in range(20)]
        await asyncio.sleep(0.01)
        assert harness.asked == [DOCUMENT]
        waiting[0].cancel()  # who asked first may go away: the others get their answer
        harness.gate.set()
        done = await asyncio.gather(*waiting, return_exceptions=True)
        assert isinstance(done[0], asyncio.CancelledError)
        assert [one.sub for one in done[1:] if isinstance(one, ProvenIdentity)] == [str(n) for n in range(1, 20)]
        assert harness.asked == [DOCUMENT, KEYS]

    asyncio.run(many())


def answering(status: int = 200, **rest: Any) -> Callable[[httpx.Request], httpx.Response]:
    return lambda _: httpx.Response(status, **rest)


def failing(error: Exception) -> Callable[[httpx.Request], httpx.Response]:
    def fail(_: httpx.Request) -> httpx.Response:
        raise error

    return fail


def document(**members: Any) -> Callable[[httpx.Request], httpx.Response]:
    return answering(json={"issuer": ISSUER.url, "jwks_uri": KEYS} | members)


TOO_LONG = json.dumps(ISSUER.jwks()).encode() + b" " * ANSWER_BYTES_MAX
OUTAGES: dict[str, tuple[dict[str, Callable[[httpx.Request], httpx.Response]], str, list[str]]] = {
    "nobody there": ({"document": failing(httpx.ConnectError("secret"))}, "it cannot be reached", [DOCUMENT]),
    "no answer": ({"document": failing(httpx.ReadTimeout("secret"))}, "did not answer in time", [DOCUMENT]),
    "an error": ({"document": answering(500)}, "it answered with status 500", [DOCUMENT]),
    "elsewhere": ({"document": answering(302, headers={"location": KEYS})}, "with status 302", [DOCUMENT]),
    "no JSON": ({"document": answering(text="<html>secret")}, "its discovery document lacks", [DOCUMENT]),
    "another issuer": ({"document": document(issuer="https://evil.example")}, "is of another issuer", [DOCUMENT]),
    "a slash more": ({"document": document(issuer=ISSUER.url + "/")}, "is of another issuer", [DOCUMENT]),
    "no address of keys": ({"document": answering(json={"issuer": ISSUER.url})}, "lacks", [DOCUMENT]),
    "keys over HTTP": ({"document": document(jwks_uri="http://keys.example/")}, "not an https address", [DOCUMENT]),
    "keys in a file": ({"document": document(jwks_uri="file:///etc/passwd")}, "not an https address", [DOCUMENT]),
    "keys nowhere": ({"document": document(jwks_uri="https://")}, "not an https address", [DOCUMENT]),
    "keys by a user": ({"document": document(jwks_uri="https://a:b@keys.example/")}, "not an https", [DOCUMENT]),
    "keys at no port": ({"document": document(jwks_uri="https://keys.example:99999/")}, "not an https", [DOCUMENT]),
    "keys at no address": (
        {"document": document(jwks_uri="https://keys:port/")},
        "not an https address",
        [DOCUMENT],
    ),
    "keys at no host": ({"keys": failing(UnicodeError("secret"))}, "its address is malformed", [DOCUMENT, KEYS]),
    "keys elsewhere": ({"keys": answering(307, headers={"location": DOCUMENT})}, "status 307", [DOCUMENT, KEYS]),
    "keys gone": ({"keys": answering(404)}, "it answered with status 404", [DOCUMENT, KEYS]),
    "no keys": ({"keys": answering(json={"keys": []})}, "its keys: no key in it", [DOCUMENT, KEYS]),
    "too long": ({"keys": answering(content=TOO_LONG)}, "longer than", [DOCUMENT, KEYS]),
    "compressed": (
        {"keys": answering(content=b"x", headers={"content-encoding": "br"})},
        "in a content encoding that was not requested",
        [DOCUMENT, KEYS],
    ),
}


@pytest.mark.parametrize(("answers", "why", "asked"), OUTAGES.values(), ids=OUTAGES.keys())
def test_an_outage(
    answers: dict[str, Callable[[httpx.Request], httpx.Response]],
    why: str,
    asked: list[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Is a 503 that says why, once more without asking for a few seconds, and over when the issuer is back."""
    harness = DiscoveryHarness(**answers)
    for _ in range(2):
        with pytest.raises(
            Unavailable, match=f"the keys of issuer '{ISSUER.url}' cannot be fetched now"
        ) as refused:
            run(harness.proves(ISSUER.token(NOW_S)))
        assert why in refused.value.message
        assert "secret" not in refused.value.message + caplog.text
    assert harness.asked == asked
    assert [record.__dict__["issuer"] for record in caplog.records] == [ISSUER.url]
    harness.answers |= {"document": harness._document, "keys": harness._keys}
    assert run(harness.after(PAUSE_S).proves(ISSUER.token(NOW_S))).iss == ISSUER.url


def test_an_outage_while_keys_are_cached() -> None:
    """Known keys serve for as long as they are fresh, and no longer."""
    harness = DiscoveryHarness()
    run(harness.proves(ISSUER.token(NOW_S)))
    harness.answers["document"] = answering(500)
    assert run(harness.after(CACHED_DEFAULT_S - 1).proves(ISSUER.token(NOW_S))).sub == "somebody"
    with pytest.raises(Unavailable):
        run(harness.proves(ROTATED.token(NOW_S)))
    with pytest.raises(Unavailable):
        run(harness.after(1).proves(ISSUER.token(NOW_S)))


def test_a_request_to_a_slow_issuer_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_answers, "ANSWERS_WITHIN_S", 0.02)
    harness = DiscoveryHarness()

    async def patient() -> None:
        harness.gate = asyncio.Event()
        with pytest.raises(ServiceError, match="it did not answer in time"):
            await harness.proves(ISSUER.token(NOW_S))

    asyncio.run(patient())


@pytest.mark.parametrize(
    "issuer",
    [
        "http://issuer.example",
        "issuer.example",
        "https://",
        "https://a@b.example",
        "https://b.example?x=1",
        "https://b.example:port",
    ],
)
def test_issuers_that_cannot_be_asked(issuer: str) -> None:
    with pytest.raises(ValueError, match=r"expected|not a URL"):
        Discovery([issuer])
