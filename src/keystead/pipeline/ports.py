"""What the pipeline needs from outside: a clock, identities, providers of OAuth 2.0.

Here: the protocols and the values that cross them. Not here: the store (`store`), the signer (`signer_port`), any
implementation, any rule.
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from keystead.api.enums import Oauth2Provider
from keystead.organizations.credentials.identities import ProvenIdentity


class Clock(Protocol):
    def now_ms(self) -> int:
        """Milliseconds since the epoch."""
        ...


class ServerClock(Clock, Protocol):
    """The clock that all parts of a server use."""

    def caller_times_ms(self) -> tuple[int, ...]:
        """The times that a caller's clock may show, in milliseconds since the epoch: the server's first."""
        ...


class Identities(Protocol):
    """The identities that ID tokens of OpenID Connect issuers prove."""

    async def verify_token(self, token: str, field: str) -> ProvenIdentity:
        """The identity that a token proves now. `field` is where the request has the token.

        Raises InvalidRequest (INVALID_OIDC_TOKEN), which names the field and never the token, and Unavailable
        while the keys of the issuer cannot be fetched.
        """
        ...


class AuthorizationCode(msgspec.Struct, frozen=True, kw_only=True):
    """What an OAuth 2.0 provider exchanges for a bearer token. Its repr shows no secret."""

    client_id: str
    client_secret: str
    code: str
    redirect_uri: str
    code_verifier: str

    def __repr__(self) -> str:
        return f"AuthorizationCode(client_id={self.client_id!r})"


class OAuth2Person(msgspec.Struct, frozen=True):
    """The person that a code identifies. `subject` looks like x:123. `bearer_token` authorizes requests to the
    provider."""

    subject: str
    bearer_token: str

    def __repr__(self) -> str:
        return f"OAuth2Person(subject={self.subject!r})"


class OAuth2(Protocol):
    """OAuth 2.0 providers that issue no ID tokens."""

    own_issuer: str
    """The issuer of the tokens that this server signs about people of these providers."""

    async def person(self, provider: Oauth2Provider, code: AuthorizationCode) -> OAuth2Person:
        """The person that the code identifies.

        Raises InvalidRequest if the provider refuses the code, Unavailable if the provider cannot be reached.
        """
        ...
