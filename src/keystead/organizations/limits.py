"""How much of everything one organization may hold, and the refusal when it is full.

Settings, with these defaults; wallet accounts and activities are unbounded.
"""

from __future__ import annotations

import msgspec

from keystead.api.errors import LimitReached


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Most records per organization; those named so per user."""

    users: int = 10_000
    wallets: int = 10_000
    private_keys: int = 1_000
    contract_interfaces: int = 1_000
    tags: int = 1_000
    policies: int = 1_000
    policy_characters: int = 200_000
    characters_per_policy: int = 10_000
    invitations: int = 1_000
    authenticators_per_user: int = 10
    long_lived_api_keys_per_user: int = 10
    expiring_api_keys_per_user: int = 10
    oauth_providers_per_user: int = 10
    mfa_policies_per_user: int = 10
    mfa_policy_characters_per_user: int = 10_000


def check_room(have: int, adding: int, most: int, what: str) -> None:
    """Raise LimitReached if `adding` more of `what` would exceed `most`."""
    if have + adding > most:
        raise LimitReached(
            f"this organization cannot execute activities because it is over its allotted quota: "
            f"{what}: {have} of {most} are in use, {adding} more were asked for"
        )
