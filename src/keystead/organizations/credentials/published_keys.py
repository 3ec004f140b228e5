"""Keys whose private half is published, which nobody may register: everybody could act with them. Pure.

Here: the rule. Not here: which keys these are (`server.development.published`).
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from keystead.api.errors import InvalidRequest
from keystead.organizations.lookups import Lookup, LookupKind


class PublishedKeys(msgspec.Struct, frozen=True):
    """`public_keys`: lower-case hex. `addresses`: of Ethereum, in lower case."""

    public_keys: frozenset[str] = frozenset()
    addresses: frozenset[str] = frozenset()

    def check(self, added: Iterable[Lookup]) -> None:
        """Raise InvalidRequest if one of these new look-ups is of a published key. Every credential that proves a
        user by a key has a look-up, so this one check sees them all."""
        for lookup in added:
            is_published = (
                lookup.value in self.public_keys
                if lookup.kind is LookupKind.PUBLIC_KEY
                else lookup.kind is LookupKind.WALLET and lookup.value.split(" ")[1].lower() in self.addresses
            )
            if is_published:
                raise InvalidRequest(
                    f"invalid public key: {lookup.value}: the private key of a development server, which is "
                    "published; make a key of your own, for example with keystead api-key generate"
                )


NO_PUBLISHED_KEYS = PublishedKeys()
"""What development servers refuse: they use the published keys themselves."""
