"""Fetches the keys of an issuer over HTTPS (OpenID Connect Discovery 1.0), and caches them.

Only keys of issuers that the operator named are fetched. Not here: the use of the keys (`key_sets`). Slow to
import, so only servers with such issuers import it.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Callable, Iterable

import httpx
import msgspec

from keystead.api.errors import Unavailable
from keystead.identities import web_answers
from keystead.identities.key_sets import BadKeySet, KeySet

CACHED_MIN_S, CACHED_MAX_S, CACHED_DEFAULT_S = 60, 86_400, 600
"""Seconds for which keys are cached: at least, at most, and if the issuer does not say. Within the minimum, a token
that names an unknown key does not make the server fetch again."""

PAUSE_S = 5
"""Seconds after a failed request before the next request to the issuer."""

_WELL_KNOWN = "/.well-known/openid-configuration"
_MAX_AGE = re.compile(r'max-age\s*=\s*"?(\d{1,10})"?', re.ASCII)
_NOT_CACHEABLE = re.compile(r"\bno-(store|cache)\b")

_log = logging.getLogger("keystead")


class _DiscoveryDocument(msgspec.Struct, frozen=True):
    issuer: str
    jwks_uri: str


class _CachedKeys(msgspec.Struct, frozen=True):
    """Cached keys. `fetched_at`, `fresh_until`: seconds of the monotonic clock."""

    key_set: KeySet
    fetched_at: float
    fresh_until: float


class Discovery:
    """The keys of these issuers, fetched when they are first needed; one request at a time for each issuer.

    `transport` and `monotonic` are for tests.
    """

    def __init__(
        self,
        issuers: Iterable[str],
        *,
        transport: httpx.AsyncBaseTransport | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Raises ValueError for an issuer whose address is not allowed (`check_address`)."""
        self.issuers = frozenset(issuers)
        for issuer in sorted(self.issuers):
            web_answers.check_address(issuer)
        self._transport = transport
        self._monotonic = monotonic
        self._cached: dict[str, _CachedKeys] = {}
        self._requests: dict[str, asyncio.Task[_CachedKeys | str]] = {}
        self._failed: dict[str, tuple[float, str]] = {}

    async def key_set(self, issuer: str) -> KeySet:
        """The issuer's keys, fetched if the cached ones are not fresh. Raises Unavailable."""
        cached = self._cached.get(issuer)
        if cached is None or self._monotonic() >= cached.fresh_until:
            cached = await self._fetch_shared(issuer)
        return cached.key_set

    async def newer_key_set(self, issuer: str, known: KeySet) -> KeySet:
        """The issuer's keys, fetched again because `known` lacks one; `known` itself if it was fetched moments ago.

        Raises Unavailable.
        """
        cached = self._cached.get(issuer)
        if cached is None or (cached.key_set is known and self._monotonic() >= cached.fetched_at + CACHED_MIN_S):
            cached = await self._fetch_shared(issuer)
        return cached.key_set

    async def _fetch_shared(self, issuer: str) -> _CachedKeys:
        """The issuer's keys, fetched. Concurrent callers share one request. Raises Unavailable."""
        request = self._requests.get(issuer)
        if request is None:
            until, why = self._failed.get(issuer, (0.0, ""))
            if why and self._monotonic() < until:
                raise _unavailable(issuer, why)
            request = self._requests[issuer] = asyncio.create_task(self._fetch_or_reason(issuer))
        answer = await asyncio.shield(request)
        if isinstance(answer, str):
            raise _unavailable(issuer, answer)
        return answer

    async def _fetch_or_reason(self, issuer: str) -> _CachedKeys | str:
        """The keys, or the reason why they cannot be fetched."""
        fetched_at = self._monotonic()
        try:
            key_set, lifetime_s = await self._fetch_keys(issuer)
        except (web_answers.BadAnswer, *web_answers.FAILURES) as failed:
            why = web_answers.failure_reason(failed)
            self._failed[issuer] = self._monotonic() + PAUSE_S, why
            _log.warning(
                "the keys of an OpenID Connect issuer cannot be fetched", extra={"issuer": issuer, "why": why}
            )
            return why
        else:
            self._failed.pop(issuer, None)
            cached = self._cached[issuer] = _CachedKeys(key_set, fetched_at, fetched_at + lifetime_s)
            return cached
        finally:
            del self._requests[issuer]

    async def _fetch_keys(self, issuer: str) -> tuple[KeySet, float]:
        """The issuer's keys, and for how many seconds they may be cached."""
        async with (
            asyncio.timeout(web_answers.ANSWERS_WITHIN_S),
            web_answers.web_client(self._transport) as http,
        ):
            body, _ = await web_answers.fetch(http, http.build_request("GET", issuer.rstrip("/") + _WELL_KNOWN))
            try:
                document = msgspec.json.decode(body, type=_DiscoveryDocument)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                raise web_answers.BadAnswer("its discovery document lacks `issuer` or `jwks_uri`") from None
            if document.issuer != issuer:
                raise web_answers.BadAnswer("its discovery document is of another issuer")
            try:
                web_answers.check_address(document.jwks_uri, with_query=True)
            except ValueError:
                raise web_answers.BadAnswer(
                    "the `jwks_uri` in its discovery document is not an https address"
                ) from None
            body, headers = await web_answers.fetch(http, http.build_request("GET", document.jwks_uri))
            try:
                return KeySet(body), _lifetime_s(headers)
            except BadKeySet as bad:
                raise web_answers.BadAnswer(f"its keys: {bad}") from None


def _lifetime_s(headers: httpx.Headers) -> float:
    """How long an answer may be cached, in seconds: what it says (RFC 9111), within the bounds of this module."""
    directives = headers.get("cache-control", "").lower()
    max_age = _MAX_AGE.search(directives)
    if _NOT_CACHEABLE.search(directives):
        lifetime = 0
    elif max_age:
        age = headers.get("age", "0").strip()
        lifetime = int(max_age[1]) - (int(age) if re.fullmatch(r"[0-9]{1,10}", age) else 0)
    else:
        lifetime = CACHED_DEFAULT_S
    return min(max(lifetime, CACHED_MIN_S), CACHED_MAX_S)


def _unavailable(issuer: str, why: str) -> Unavailable:
    return Unavailable(
        f"the keys of issuer {issuer!r} cannot be fetched now: {why}; nothing was changed, send the same "
        "request again"
    )
