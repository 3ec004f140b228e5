"""Import targets: how many a user may have open, and for how long.

Pure. Not here: the keys themselves (`keys.importing`).
"""

from __future__ import annotations

from typing import Final

from keystead.organizations import bounds
from keystead.organizations.kinds.import_targets import ImportKind, ImportTarget
from keystead.organizations.organization import Organization, Remove

LIFETIME_MS: Final = 3_600_000
"""How long a target is open, in milliseconds."""

OPEN_TARGETS: Final = {
    ImportKind.WALLET: bounds.KEY_IMPORT_TARGETS_MAX,
    ImportKind.PRIVATE_KEY: bounds.KEY_IMPORT_TARGETS_MAX,
    ImportKind.SECRET: bounds.SECRET_IMPORT_TARGETS_MAX,
}
"""The most open targets of one user, by kind. The message of a wallet or private key does not name its target, so
an import tries one target after the other."""


def open_targets(
    organization: Organization, user_id: str, kind: ImportKind, now_ms: int
) -> tuple[ImportTarget, ...]:
    """The targets that this user's import of this kind may be sealed to, newest first."""
    newest_first = sorted(organization.import_targets.values(), key=lambda target: target.id, reverse=True)
    of_user = [target for target in newest_first if target.user_id == user_id and target.kind is kind]
    return tuple(target for target in of_user if not _has_expired(target, now_ms))[: OPEN_TARGETS[kind]]


def removals_of_outdated(
    organization: Organization, user_id: str, kind: ImportKind, now_ms: int, *, adding: int = 1
) -> tuple[Remove, ...]:
    """The removals that make room for `adding` new targets of this kind: of expired targets, and of this user's
    oldest ones beyond OPEN_TARGETS."""
    kept = {
        target.id for target in open_targets(organization, user_id, kind, now_ms)[: OPEN_TARGETS[kind] - adding]
    }
    return tuple(
        Remove(ImportTarget, target.id)
        for target in organization.import_targets.values()
        if _has_expired(target, now_ms)
        or (target.user_id == user_id and target.kind is kind and target.id not in kept)
    )


def _has_expired(target: ImportTarget, now_ms: int) -> bool:
    return now_ms >= target.created_at_ms + LIFETIME_MS
