"""The limits in bytes: of an organization, of the records that one activity changes, and of a user.

The other limits count records and characters. Together they allow organizations of gigabytes. Pure.
"""

from __future__ import annotations

import msgspec

from keystead.api.records import User
from keystead.organizations.kinds.profile import CHANGED_BYTES, ORGANIZATION_BYTES
from keystead.organizations.kinds.users import USER_BYTES
from keystead.organizations.limits import Limits, check_limit
from keystead.organizations.organization import Change, Organization, Put

_encode = msgspec.json.Encoder().encode


class ChangeSizes:
    """Checks the changes of one activity, one by one, and the organization after them."""

    def __init__(self, before: Organization, limits: Limits) -> None:
        self._before = before
        self._limits = limits
        self._changed_bytes = 0

    def check_change(self, change: Change) -> None:
        """Raise LimitReached if a record of the change, or the records of all changes so far, have too many
        bytes."""
        if not isinstance(change, Put):
            return
        size = len(change.body)
        self._changed_bytes += size
        check_limit(0, self._changed_bytes, CHANGED_BYTES, self._limits)
        if isinstance(change.record, User) and size > self._limits[USER_BYTES]:
            before = self._before.users.get(change.record.user_id)
            have = 0 if before is None else len(_encode(before))
            if size > have:  # a user who is larger than a new limit can still become smaller
                check_limit(have, size - have, USER_BYTES, self._limits)

    def check_growth(self, after: Organization) -> None:
        """Raise LimitReached if the organization is larger than before and has too many bytes."""
        have, growth = self._before.bytes, after.bytes - self._before.bytes
        if growth > 0:
            check_limit(have, growth, ORGANIZATION_BYTES, self._limits)
