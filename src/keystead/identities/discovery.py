"""Fetches the keys of an issuer over HTTPS (OpenID Connect Discovery 1.0), and caches them.

Only issuers that the operator named are asked. Not here: the use of the keys (`key_sets`). Slow to import, so only
servers with such issuers import it.
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
from keystead.identities.key_sets import BadKeySet, KeySet
from keystead.identities.web_answers import (
    ANSWERS_WITHIN_S,
    FAILURES,
    BadAnswer,
    answered,
    check_address,
    web_client,
    words_of,
)

KEPT_MIN_S, KEPT_S, KEPT_MAX_S = 60, 600, 86_400
"""Seconds that keys are cached: at least, by default, and at most. Within the minimum, a token that names an
unknown key does not make the server ask again."""

PAUSE_S = 5
"""Seconds after a failed request before the issuer is asked again."""

_WELL_KNOWN = "/.well-known/openid-configuration"
_MAX_AGE = re.compile(r'max-age\s*=\s*"?(\d{1,10})"?', re.ASCII)
_UNKEPT = re.compile(r"\bno-(store|cache)\b")

_log = logging.getLogger("keystead")


class _DiscoveryDocument(msgspec.Struct, frozen=True):
    issuer: str
    jwks_uri: str


class _CachedKeys(msgspec.Struct, frozen=True):
    """Cached keys. Times are seconds of the monotonic clock."""

    key_set: KeySet
    asked_at: float
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
            check_address(issuer)
        self._transport = transport
        self._monotonic = monotonic
        self._kept: dict[str, _CachedKeys] = {}
        self._asking: dict[str, asyncio.Task[_CachedKeys | str]] = {}
        self._failed: dict[str, tuple[float, str]] = {}

    async def key_set(self, issuer: str) -> KeySet:
        """The issuer's keys, fetched if the cached ones are not fresh. Raises Unavailable."""
        kept = self._kept.get(issuer)
        if kept is None or self._monotonic() >= kept.fresh_until:
            kept = await self._asked(issuer)
        return kept.key_set

    async def newer_key_set(self, issuer: str, known: KeySet) -> KeySet:
        """The issuer's keys, fetched again because `known` lacks one; `known` itself if it was fetched moments ago.

        Raises Unavailable.
        """
        kept = self._kept.get(issuer)
        if kept is None or (kept.key_set is known and self._monotonic() >= kept.asked_at + KEPT_MIN_S):
            kept = await self._asked(issuer)
        return kept.key_set

    async def _asked(self, issuer: str) -> _CachedKeys:
        """The issuer's answer. Concurrent callers share one request."""
        asking = self._asking.get(issuer)
        if asking is None:
            until, why = self._failed.get(issuer, (0.0, ""))
            if why and self._monotonic() < until:
                raise _unavailable(issuer, why)
            asking = self._asking[issuer] = asyncio.create_task(self._answer(issuer))
        answer = await asyncio.shield(asking)
        if isinstance(answer, str):
            raise _unavailable(issuer, answer)
        return answer

    async def _answer(self, issuer: str) -> _CachedKeys | str:
        """The keys, or the reason why they cannot be had."""
        asked_at = self._monotonic()
        try:
            key_set, lifetime_s = await self._fetched(issuer)
        except (BadAnswer, *FAILURES) as failed:
            why = words_of(failed)
            self._failed[issuer] = self._monotonic() + PAUSE_S, why
            _log.warning(
                "the keys of an OpenID Connect issuer cannot be fetched", extra={"issuer": issuer, "why": why}
            )
            return why
        else:
            self._failed.pop(issuer, None)
            kept = self._kept[issuer] = _CachedKeys(key_set, asked_at, asked_at + lifetime_s)
            return kept
        finally:
            del self._asking[issuer]

    async def _fetched(self, issuer: str) -> tuple[KeySet, float]:
        """The issuer's keys, and for how many seconds they may be cached."""
        async with (
            asyncio.timeout(ANSWERS_WITHIN_S),
            web_client(self._transport) as http,
        ):
            body, _ = await answered(http, http.build_request("GET", issuer.rstrip("/") + _WELL_KNOWN))
            try:
                document = msgspec.json.decode(body, type=_DiscoveryDocument)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                raise BadAnswer("its discovery document lacks `issuer` or `jwks_uri`") from None
            if document.issuer != issuer:
                raise BadAnswer("its discovery document is of another issuer")
            try:
                check_address(document.jwks_uri, with_query=True)
            except ValueError:
                raise BadAnswer("the `jwks_uri` in its discovery document is not an https address") from None
            body, headers = await answered(http, http.build_request("GET", document.jwks_uri))
            try:
                return KeySet(body), _lifetime_s(headers)
            except BadKeySet as bad:
                raise BadAnswer(f"its keys: {bad}") from None


def _lifetime_s(headers: httpx.Headers) -> float:
    """How long an answer may be cached, in seconds: what it says (RFC 9111), within the bounds of this module."""
    directives = headers.get("cache-control", "").lower()
    found = _MAX_AGE.search(directives)
    if _UNKEPT.search(directives):
        lifetime = 0
    elif found:
        age = headers.get("age", "0").strip()
        lifetime = int(found[1]) - (int(age) if re.fullmatch(r"[0-9]{1,10}", age) else 0)
    else:
        lifetime = KEPT_S
    return min(max(lifetime, KEPT_MIN_S), KEPT_MAX_S)


def _unavailable(issuer: str, why: str) -> Unavailable:
    return Unavailable(
        f"the keys of issuer {issuer!r} cannot be fetched now: {why}; nothing was changed, send the same "
        "request again"
    )
