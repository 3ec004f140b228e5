"""The sources of a process's master keys, as values that another process can receive and open.

Not here: what a key does (`sealing`), reading a key file (`master_key`), calling a token (`token_key`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, assert_never
from urllib.parse import unquote

import msgspec

from keystead.keys.master_key import create, from_environment, load
from keystead.keys.sealing import Master, MasterKeys
from keystead.keys.secret_files import MasterKeyError
from keystead.keys.token_key import TokenKeyName


class KeyFile(msgspec.Struct, frozen=True, tag="file"):
    """A file for `master_key.load`."""

    path: str


class KeyText(msgspec.Struct, frozen=True, tag="text"):
    """A key from the environment variable `name`."""

    name: str
    value: str

    def __repr__(self) -> str:
        return f"KeyText(name={self.name!r})"


MasterKeySource = KeyFile | KeyText | TokenKeyName

_URI_SCHEME: Final = "pkcs11:"
_URI_PARTS: Final = ("token", "object", "module-path")


def parse_source(place: str, pin: str = "") -> MasterKeySource:
    """Parse what an operator wrote: a file's path, or a PKCS#11 URI (RFC 7512) such as

        pkcs11:token=keystead;object=master?module-path=/usr/lib/softhsm/libsofthsm2.so&pin-source=/etc/keystead/pin

    `pin` is the PIN if the URI names no file with it. Raises MasterKeyError for a URI that lacks a part, has an
    unknown part, or holds the PIN itself: others can see the URI on the command line.
    """
    if not place.startswith(_URI_SCHEME):
        return KeyFile(place)
    path, _, query = place.removeprefix(_URI_SCHEME).partition("?")
    pairs = [pair.partition("=") for pair in (*path.split(";"), *query.split("&")) if pair]
    parts = {name: unquote(value) for name, _, value in pairs}
    if "pin-value" in parts:
        raise MasterKeyError("a PKCS#11 URI must not hold the PIN: use pin-source, or KEYSTEAD_PKCS11_PIN")
    if unknown := sorted(parts.keys() - {*_URI_PARTS, "pin-source"}):
        raise MasterKeyError(f"the PKCS#11 URI has an unknown part: {unknown[0][:100]!a}")
    if missing := [name for name in _URI_PARTS if not parts.get(name)]:
        raise MasterKeyError(f"the PKCS#11 URI lacks {missing[0]}: pkcs11:token=…;object=…?module-path=…")
    pin_file = parts.get("pin-source", "").removeprefix("file:")
    if not pin_file and not pin:
        raise MasterKeyError("no PIN for the PKCS#11 token: set pin-source in the URI, or KEYSTEAD_PKCS11_PIN")
    module, token, key = parts["module-path"], parts["token"], parts["object"]
    return TokenKeyName(module=module, token=token, key=key, pin="" if pin_file else pin, pin_file=pin_file)


class MasterKeySources(msgspec.Struct, frozen=True):
    """The key that seals, and other keys that only open what they sealed before."""

    sealing: MasterKeySource
    others: tuple[MasterKeySource, ...] = ()


def open_master_keys(sources: MasterKeySources) -> Master:
    """Open all keys. Raises MasterKeyError if one cannot be opened."""
    sealing = open_master_key(sources.sealing)
    return (
        MasterKeys(sealing, [open_master_key(source) for source in sources.others]) if sources.others else sealing
    )


def create_master_key(source: MasterKeySource) -> Master:
    """Create a new key. Raises MasterKeyError if it exists already or cannot be created."""
    match source:
        case KeyFile(path):
            return create(Path(path))
        case TokenKeyName():
            from keystead.keys.token_key import create_token_key

            return create_token_key(source)
        case KeyText(name):
            raise MasterKeyError(
                f"a key cannot be created in the environment variable {name}: name a file or a token"
            )
        case _:
            assert_never(source)


def open_master_key(source: MasterKeySource) -> Master:
    """Open a key. Raises MasterKeyError if it cannot be opened."""
    match source:
        case KeyFile(path):
            return load(Path(path))
        case KeyText(name, value):
            return from_environment(name, value)
        case TokenKeyName():
            from keystead.keys.token_key import open_token_key  # needs a library that few installations have

            return open_token_key(source)
        case _:
            assert_never(source)
