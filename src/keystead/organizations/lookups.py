"""By what a user can be found across organizations: the index that whoami and list_suborgs ask.

Here: which values of a user are indexed. Not here: the index (`storage`), and who may ask.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from keystead.api.records import User


class LookupKind(StrEnum):
    PUBLIC_KEY = "public_key"
    CREDENTIAL_ID = "credential_id"


class Lookup(msgspec.Struct, frozen=True):
    kind: LookupKind
    value: str
    user_id: str


def lookups(user: User) -> frozenset[Lookup]:
    """Every value by which this user can be found."""
    return frozenset(
        [Lookup(LookupKind.PUBLIC_KEY, key.credential.public_key, user.user_id) for key in user.api_keys]
        + [Lookup(LookupKind.CREDENTIAL_ID, passkey.credential_id, user.user_id) for passkey in user.authenticators]
    )
