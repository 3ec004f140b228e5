"""OAuth 2.0 providers without ID tokens: the person of an authorization code. Implements `pipeline.ports.OAuth2`.

A code is exchanged for a bearer token (RFC 6749, section 4.1.3, with RFC 7636), which authorizes the query for the
person. Not here: the token that this server issues for the person (`operations.logins.oauth2_credentials`). Slow to
import, so it is imported at the first such login.
"""

from __future__ import annotations

import asyncio
import logging
from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import Annotated
from urllib.parse import quote

import httpx
import msgspec

from keystead.api.enums import Oauth2Provider
from keystead.api.errors import InvalidRequest, Unavailable
from keystead.api.secret_fields import repr_without_secrets
from keystead.identities import web_answers
from keystead.pipeline.ports import AuthorizationCode, OAuth2Person

_log = logging.getLogger("keystead")


class ProviderAddresses(msgspec.Struct, frozen=True):
    """The address at which a provider exchanges codes, and the one at which it names the person of a bearer
    token."""

    token_url: str
    user_url: str


class _Tokens(msgspec.Struct, frozen=True):
    access_token: Annotated[str, msgspec.Meta(pattern=r"^[\x20-\x7e]+\Z")]

    __repr__ = repr_without_secrets


class _UserWithId(msgspec.Struct, frozen=True):
    id: str


class _XUser(msgspec.Struct, frozen=True):
    data: _UserWithId


def _subject_of_x(body: bytes) -> str:
    return f"x:{msgspec.json.decode(body, type=_XUser).data.id}"


def _subject_of_discord(body: bytes) -> str:
    return f"discord:{msgspec.json.decode(body, type=_UserWithId).id}"


_SUBJECTS: Mapping[Oauth2Provider, Callable[[bytes], str]] = {
    Oauth2Provider.X: _subject_of_x,
    Oauth2Provider.DISCORD: _subject_of_discord,
}


class OAuth2Providers:
    """The providers at these addresses. `own_issuer`: the issuer of this server's tokens for people.

    `transport`: for tests. Raises ValueError for an address that is not allowed (`check_address`).
    """

    def __init__(
        self,
        own_issuer: str,
        addresses: Mapping[Oauth2Provider, ProviderAddresses],
        *,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.own_issuer = own_issuer
        self._addresses = addresses
        self._transport = transport
        for provider_addresses in addresses.values():
            web_answers.check_address(provider_addresses.token_url)
            web_answers.check_address(provider_addresses.user_url, with_query=True)

    async def person(self, provider: Oauth2Provider, code: AuthorizationCode) -> OAuth2Person:
        """The person that the code identifies. Raises InvalidRequest for a code that the provider refuses,
        Unavailable if the provider does not answer."""
        addresses = self._addresses[provider]
        try:
            async with (
                asyncio.timeout(web_answers.ANSWERS_WITHIN_S),
                web_answers.web_client(self._transport) as http,
            ):
                bearer_token = await _bearer_token(http, addresses.token_url, code)
                user_request = http.build_request("GET", addresses.user_url, headers=_bearer(bearer_token))
                body, _ = await web_answers.fetch(http, user_request)
                return OAuth2Person(subject=_subject(provider, body), bearer_token=bearer_token)
        except (web_answers.BadAnswer, *web_answers.FAILURES) as failed:
            why = web_answers.failure_reason(failed)
            _log.warning("an OAuth 2.0 provider did not name a person", extra={"provider": provider, "why": why})
            raise Unavailable(f"{provider} did not name the person: {why}; start the login again") from None


async def _bearer_token(http: httpx.AsyncClient, url: str, code: AuthorizationCode) -> str:
    credentials = f"{quote(code.client_id, safe='')}:{quote(code.client_secret, safe='')}"
    request = http.build_request(
        "POST",
        url,
        data={
            "grant_type": "authorization_code",
            "code": code.code,
            "redirect_uri": code.redirect_uri,
            "code_verifier": code.code_verifier,
            "client_id": code.client_id,
        },
        headers={"authorization": f"Basic {b64encode(credentials.encode()).decode()}"},
    )
    try:
        body, _ = await web_answers.fetch(http, request)
    except web_answers.BadAnswer as bad:
        if bad.status in (400, 401, 403):
            raise InvalidRequest(
                "OAuth 2.0 authentication failed: the provider refused the authorization code: field "
                "`parameters.authCode`, `redirectUri`, `codeVerifier`, or the credential's client id or secret"
            ) from None
        raise
    try:
        return msgspec.json.decode(body, type=_Tokens).access_token
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise web_answers.BadAnswer("its answer lacks an `access_token` in ASCII") from None


def _bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def _subject(provider: Oauth2Provider, body: bytes) -> str:
    try:
        subject = _SUBJECTS[provider](body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise web_answers.BadAnswer("its answer lacks the person's `id`") from None
    if not subject.isprintable() or len(subject) > 255 or subject.endswith(":"):
        raise web_answers.BadAnswer("its answer's `id` is not an identifier")
    return subject
