"""The issuers whose tokens count here. Implements `activities.ports.Identities`.

Here: from a token to whom it proves, by keys that are pinned or asked for. Not here: reading a token (`tokens`),
its signature (`key_sets`), asking for keys (`discovery`), the file of pinned keys (`pinned`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from keystead.api.errors import InvalidRequest
from keystead.api.parameters import OidcClaims
from keystead.identities.tokens import Announced, BadToken, announced, identity
from keystead.pipeline.ports import Clock

if TYPE_CHECKING:  # slow to import, and of no use to a server that knows no issuer
    from keystead.identities.discovery import Discovery
    from keystead.identities.key_sets import KeySet


class KnownIssuers:
    """`pinned`: keys by issuer, which nobody is asked for. Without `discovery`, there are no others."""

    def __init__(
        self, clock: Clock, pinned: Mapping[str, KeySet] | None = None, discovery: Discovery | None = None
    ) -> None:
        self._clock = clock
        self._pinned = pinned or {}
        self._discovery = discovery

    async def proven(self, token: str, field: str) -> OidcClaims:
        try:
            said = announced(token)
            keys = await self._keys_for(said)
            return identity(keys.verified(token, said), self._clock.now_ms())
        except BadToken as bad:
            raise InvalidRequest(
                f"invalid OIDC token: field `{field}`: {bad}", machine_code="INVALID_OIDC_TOKEN"
            ) from None

    async def _keys_for(self, said: Announced) -> KeySet:
        """The keys of the issuer that the token names, anew if the one it names is not among them."""
        issuer, discovery = said.issuer, self._discovery
        if issuer in self._pinned:
            return self._pinned[issuer]
        if discovery is None or issuer not in discovery.issuers:
            raise BadToken(
                f"issuer {issuer[:200]!r} is not one whose tokens this server takes: an operator names them in "
                "KEYSTEAD_OIDC_KEYS_FILE or KEYSTEAD_OIDC_ISSUERS"
            )
        keys = await discovery.key_set(issuer)
        return keys if keys.has_key_for(said) else await discovery.newer_key_set(issuer, keys)
