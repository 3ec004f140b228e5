"""Master keys for commands and servers: they name, create and open them.

Here: the only access from outside this package to `keystead.keys`. Not here: how a key is read from its file
(`keys.master_key`) or used in its token (`keys.token_key`).
"""

from __future__ import annotations

from pathlib import Path

from keystead.keys import master_key
from keystead.keys.master_key_source import (
    KeyFile,
    KeyText,
    MasterKeySource,
    MasterKeySources,
    create_master_key,
    open_master_key,
    open_master_keys,
    parse_source,
)
from keystead.keys.sealing import Master, MasterKey, MasterKeyMissing, SealBroken
from keystead.keys.secret_files import MasterKeyError
from keystead.keys.token_key import TokenKeyName

__all__ = [
    "KeyFile",
    "KeyText",
    "Master",
    "MasterKeyError",
    "MasterKeyMissing",
    "MasterKeySource",
    "MasterKeySources",
    "SealBroken",
    "TokenKeyName",
    "create_development_key",
    "create_master_key",
    "open_master_key",
    "open_master_keys",
    "parse_source",
]


def create_development_key(path: Path, secret: bytes | None) -> Master:
    """Write a master key to a new file: these 32 bytes, or a new key if None. Raises MasterKeyError."""
    return master_key.create(path, None if secret is None else MasterKey(secret))
