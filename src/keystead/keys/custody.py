"""Where the master keys of a process come from: described by values to hand on, opened where they are used.

Not here: what a key does (`sealing`), how a file is read (`master_key`), how a token is spoken to (`token_key`).
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from keystead.keys.master_key import from_environment, load
from keystead.keys.sealing import Master, MasterKeys


class KeyFile(msgspec.Struct, frozen=True, tag="file"):
    """A file as `master_key.load` reads it."""

    path: str


class KeyText(msgspec.Struct, frozen=True, tag="text"):
    """A key that was given in the environment variable `name`."""

    name: str
    value: str

    def __repr__(self) -> str:
        return f"KeyText(name={self.name!r})"


class TokenKeyName(msgspec.Struct, frozen=True, kw_only=True, tag="token"):
    """A key that stays in a PKCS#11 token. `module` is the path of the library that speaks to it.

    The PIN of the token's user is `pin`, or the first line of `pin_file`.
    """

    module: str
    token: str
    key: str
    pin: str = ""
    pin_file: str = ""

    def __repr__(self) -> str:
        return f"TokenKeyName(module={self.module!r}, token={self.token!r}, key={self.key!r})"


KeySource = KeyFile | KeyText | TokenKeyName


class Custody(msgspec.Struct, frozen=True):
    """The key that seals, and those that only open what they sealed."""

    sealing: KeySource
    others: tuple[KeySource, ...] = ()


def opened(custody: Custody) -> Master:
    """The master keys. Raises MasterKeyError if one cannot be had."""
    sealing = open_source(custody.sealing)
    return MasterKeys(sealing, [open_source(one) for one in custody.others]) if custody.others else sealing


def open_source(source: KeySource) -> Master:
    """One master key. Raises MasterKeyError if it cannot be had."""
    match source:
        case KeyFile(path):
            return load(Path(path))
        case KeyText(name, value):
            return from_environment(name, value)
        case TokenKeyName():
            from keystead.keys.token_key import open_token_key  # a library of its own, which few installations need

            return open_token_key(source)
