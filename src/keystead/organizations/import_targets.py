"""Import targets: how many a user may have open, and for how long.

Pure. Not here: the keys themselves (`keys.importing`).
"""

from __future__ import annotations

from typing import Final

from keystead.organizations.kinds.import_targets import ImportKind, ImportTarget
from keystead.organizations.organization import Organization, Remove

LASTS_MS: Final = 3_600_000
"""How long a target is open: whoever holds it that long has had the time, and none lies about for ever."""

OPEN_MAX: Final = 10
"""Targets of one user and kind. A message does not say which target it is for, so each of them is tried."""


def open_targets(
    organization: Organization, user_id: str, kind: ImportKind, now_ms: int
) -> tuple[ImportTarget, ...]:
    """The targets that this user's import of this kind may be sealed to, newest first, at most OPEN_MAX."""
    newest_first = sorted(organization.import_targets.values(), key=lambda target: target.id, reverse=True)
    mine = [target for target in newest_first if target.user_id == user_id and target.kind is kind]
    return tuple(target for target in mine if not _is_over(target, now_ms))[:OPEN_MAX]


def outdated(organization: Organization, user_id: str, kind: ImportKind, now_ms: int) -> tuple[Remove, ...]:
    """What goes when this user gets a further target of this kind: whatever is over, and the oldest beyond room."""
    kept = {target.id for target in open_targets(organization, user_id, kind, now_ms)[: OPEN_MAX - 1]}
    return tuple(
        Remove(ImportTarget, target.id)
        for target in organization.import_targets.values()
        if _is_over(target, now_ms) or (target.user_id == user_id and target.kind is kind and target.id not in kept)
    )


def _is_over(target: ImportTarget, now_ms: int) -> bool:
    return now_ms >= target.created_at_ms + LASTS_MS
