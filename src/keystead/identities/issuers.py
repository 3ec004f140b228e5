"""The issuers whose tokens this server accepts. Implements `pipeline.ports.Identities`.

Here: from a token to the identity that it proves, with pinned or fetched keys. Not here: reading a token
(`tokens`), its signature (`key_sets`), fetching keys (`discovery`), the file of pinned keys (`key_sets`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from keystead.api.errors import InvalidRequest
from keystead.identities.tokens import BadToken, UnverifiedToken, proven_identity, read_unverified
from keystead.organizations.credentials.identities import ProvenIdentity
from keystead.pipeline.ports import Clock
from keystead.stamps.base64url import encode_base64url

if TYPE_CHECKING:  # slow to import, and a server without issuers does not need it
    from keystead.identities.discovery import Discovery
    from keystead.identities.key_sets import KeySet


class KnownIssuers:
    """The accepted issuers. `pinned`: keys by issuer, which are never fetched. `discovery`: the issuers whose keys
    are fetched; None for no others."""

    def __init__(
        self, clock: Clock, pinned: Mapping[str, KeySet] | None = None, discovery: Discovery | None = None
    ) -> None:
        self._clock = clock
        self._pinned = pinned or {}
        self._discovery = discovery
        self._own: tuple[str, bytes] | None = None

    def with_own(self, issuer: str, public_key: bytes) -> KnownIssuers:
        """These issuers and this server as an issuer, whose tokens verify under the P-256 key `public_key` (65
        bytes)."""
        known = KnownIssuers(self._clock, self._pinned, self._discovery)
        x, y = (encode_base64url(half) for half in (public_key[1:33], public_key[33:]))
        known._own = issuer, msgspec.json.encode({"keys": [{"kty": "EC", "crv": "P-256", "x": x, "y": y}]})
        return known

    async def verify_token(self, token: str, field: str) -> ProvenIdentity:
        """See `pipeline.ports.Identities.verify_token`."""
        try:
            unverified = read_unverified(token)
            keys = await self._keys_for(unverified)
            return proven_identity(keys.verify(token, unverified), self._clock.now_ms())
        except BadToken as bad:
            raise InvalidRequest(
                f"invalid OIDC token: field `{field}`: {bad}", machine_code="INVALID_OIDC_TOKEN"
            ) from None

    async def _keys_for(self, unverified: UnverifiedToken) -> KeySet:
        """The keys of the token's issuer, fetched again if the token's key is not among them."""
        issuer, discovery = unverified.issuer, self._discovery
        if self._own is not None and issuer == self._own[0]:
            from keystead.identities.key_sets import KeySet  # slow to import, and few servers need it

            return KeySet(self._own[1])
        if issuer in self._pinned:
            return self._pinned[issuer]
        if discovery is None or issuer not in discovery.issuers:
            raise BadToken(
                f"this server does not accept issuer {issuer[:200]!r}; an operator names issuers in "
                "KEYSTEAD_OIDC_KEYS_FILE or KEYSTEAD_OIDC_ISSUERS"
            )
        keys = await discovery.key_set(issuer)
        return keys if keys.has_key_for(unverified) else await discovery.newer_key_set(issuer, keys)
