"""Who asked for an activity and who voted, with which of their credentials."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_CREDENTIALS = (("API key", "apiKeys", "apiKeyName"), ("passkey", "authenticators", "authenticatorName"))
"""Each type of credential: its name for people, the member of a user with the list, the member with the name."""


def asker_of(activity: Mapping[str, Any]) -> str:
    """The name of who asked for an activity: its first voter, and the operator of the server if it has no votes."""
    votes = activity.get("votes")
    return name_of(votes[0]) if votes else "the operator"


def name_of(vote: Mapping[str, Any]) -> str:
    """The voter's name; the id if the vote has no user."""
    return str(vote.get("user", {}).get("userName") or vote["userId"])


def credential_of(vote: Mapping[str, Any]) -> str:
    """The credential that stamped the vote, by its name in the voter's record; "" if the vote names no key."""
    user, key = vote.get("user", {}), vote.get("publicKey")
    if not key:
        return ""
    for kind, member, name in _CREDENTIALS:
        for each in user.get(member, ()):
            if each.get("credential", {}).get("publicKey") == key:
                return f"{kind} {each.get(name)!r}"
    return f"a key that is no longer the user's, {key[:20]}…"
