"""Whose own credentials or session an activity is about: the `owner` functions of the declarations.

Not here: what an owner may do without a policy (`policies.authorize`).
"""

from __future__ import annotations

from typing import Protocol

from keystead.pipeline.operation import THE_SUBMITTER


class _OfUser(Protocol):
    @property
    def user_id(self) -> str: ...


def named_user(intent: _OfUser) -> str:
    """The user whom the intent names as `userId`."""
    return intent.user_id


def submitting_user(_: object) -> str:
    """The user who submits the activity."""
    return THE_SUBMITTER
