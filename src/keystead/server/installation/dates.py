"""When an installation got its master key, and when its last backup began. Both are stored with the installation.

Operators watch both ages. Not here: the key itself (`signer`), how a backup is made (`storage.sqlite.backup`, and
the tools of PostgreSQL).
"""

from __future__ import annotations

from typing import Final

import msgspec

from keystead.api.rendering import encode
from keystead.storage.store import DatabaseStore

MASTER_KEY_SINCE: Final = "master_key_since"
_LAST_BACKUP: Final = "last_backup"


class MasterKeySince(msgspec.Struct, frozen=True):
    """`key_id`: the master key that seals. `since_ms`: since when, in milliseconds since the epoch."""

    key_id: str
    since_ms: int


class LastBackup(msgspec.Struct, frozen=True):
    """When the newest backup began, in milliseconds since the epoch."""

    at_ms: int


async def record_master_key(store: DatabaseStore, key_id: str, now_ms: int) -> None:
    """Record that this master key seals from now on. Changes nothing if it is the recorded one. Raises
    Unavailable."""
    known = await master_key_since(store)
    if known is None or known.key_id != key_id:
        await store.installation.set_value(MASTER_KEY_SINCE, encode(MasterKeySince(key_id, now_ms)))


async def master_key_since(store: DatabaseStore) -> MasterKeySince | None:
    """The recorded master key; None if the installation was made before this was recorded. Raises Unavailable."""
    value = await store.installation.value(MASTER_KEY_SINCE)
    return None if value is None else msgspec.json.decode(value, type=MasterKeySince)


async def record_backup(store: DatabaseStore, at_ms: int) -> None:
    """Record a complete backup that began at this time, unless a newer one is recorded. Raises Unavailable."""
    known = await last_backup_ms(store)
    if known is None or known < at_ms:
        await store.installation.set_value(_LAST_BACKUP, encode(LastBackup(at_ms)))


async def last_backup_ms(store: DatabaseStore) -> int | None:
    """When the newest backup began, in milliseconds since the epoch; None if none is on record.

    Raises Unavailable.
    """
    value = await store.installation.value(_LAST_BACKUP)
    return None if value is None else msgspec.json.decode(value, type=LastBackup).at_ms
