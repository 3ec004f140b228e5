"""Values that differ from run to run, replaced by others of the same form, so that the pages are reproducible.

An example is real: a server answered it. Identifiers, keys, signatures, addresses and times in it are replaced by
values that depend only on the order in which they first appear. Equal values stay equal.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from typing import Any

TIME_MS = 1_764_000_000_000
"""The time in every example, in milliseconds since the epoch."""

LIST_LENGTH = 2
TEXT_LENGTH = 240
OPAQUE_LENGTH = 96
_HEX = "0123456789abcdef"
_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

_POINTS = {66: "02", 130: "04"}
"""The first byte of a compressed and of an uncompressed public key, by the number of digits."""

_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_VOLATILE = re.compile(
    rf"(?P<uuid>{_UUID})"
    r"|(?P<jwt>eyJ[\w-]+\.[\w-]+\.[\w-]+)"
    r"|(?P<moment>20\d\d-\d\d-\d\dT[\d:.]+Z)"
    r"|(?P<named>(?<=[A-Za-z][ _])[0-9a-f]{8}(?![0-9a-f]))"
    r"|(?P<mailbox>(?<=ada-)[0-9a-f]{12}(?=@))"
    r"|(?P<hex>(?<![\w-])(?:0x)?(?:[0-9a-f]{16,}|[0-9A-F]{16,}|(?<=0x)[0-9a-fA-F]{40})(?![\w-]))"
    r"|(?P<path>(?<=44'/60'/)\d{2,10}(?='))"
    r"|(?P<epoch>(?<!\d)1[78]\d{8}(?:\d{3})?(?!\d))"
    r"|(?P<order>(?<=parameters\.order`: )\d+)"
    r"|(?P<base58>(?<![\w/+-])[1-9A-HJ-NP-Za-km-z]{43,44}(?![\w/+-]))"
    r"|(?P<opaque>(?<![\w/+-])(?=[\w+/-]*[a-z])(?=[\w+/-]*[A-Z])(?=[\w+/-]*\d)[\w+/-]{20,}={0,2}(?![\w-]))"
)
"""The last two alternatives guess: 43 or 44 letters and digits are base58; 20 and more of both cases are opaque."""

_OPAQUE_MEMBERS = {"credentialId", "challenge", "clientDataJson", "clientDataJSON", "attestationObject", "rawId"}
"""Members whose text is base64url of random bytes, which may lack digits."""

_FIXED_MEMBERS = {"nanos": "0", "v": "00", "order": 1}


class Stable:
    """The replacements of one example. `known`: what replaces certain values, such as the organization's id."""

    def __init__(self, known: dict[str, str]) -> None:
        self._replaced = dict(known)
        self._counts: dict[str, int] = {}

    def value(self, value: Any) -> Any:
        """The JSON value with what is volatile replaced, long lists and long texts cut."""
        match value:
            case dict():
                return {key: self._member(key, part) for key, part in value.items()}
            case list():
                return [self.value(part) for part in value[:LIST_LENGTH]]
            case str():
                return self._cut(self.text(value))
            case _:
                return value

    def text(self, text: str) -> str:
        return _VOLATILE.sub(self._replace, text)

    def _member(self, key: str, value: Any) -> Any:
        if key in _FIXED_MEMBERS:
            return _FIXED_MEMBERS[key]
        if key in _OPAQUE_MEMBERS and isinstance(value, str):
            return self._cut(self._replaced_by("opaque", value))
        return self.value(value)

    def _replace(self, match: re.Match[str]) -> str:
        kind, found = match.lastgroup or "", match[0]
        if kind in ("moment", "epoch"):
            return _time(kind, found)
        return self._replaced_by("opaque" if kind == "base58" else kind, found)

    def _replaced_by(self, kind: str, found: str) -> str:
        if found not in self._replaced:
            number = self._counts[kind] = self._counts.get(kind, 0) + 1
            self._replaced[found] = _MAKE[kind](found, number)
        return self._replaced[found]

    @staticmethod
    def _cut(text: str) -> str:
        """Text without blanks is opaque, so less of it is shown."""
        length = TEXT_LENGTH if " " in text else OPAQUE_LENGTH
        return text if len(text) <= length else f"{text[: length // 3]}…"


def _time(kind: str, found: str) -> str:
    if kind == "moment":
        return "2025-11-24T16:00:00Z"
    return str(TIME_MS) if len(found) == 13 else str(TIME_MS // 1000)


def _uuid(_: str, number: int) -> str:
    return f"019ab700-0000-7000-8000-{number:012d}"


def _hex(found: str, number: int) -> str:
    prefix = "0x" if found.startswith("0x") else ""
    digits = found.removeprefix("0x")
    made = "".join(_letters(f"hex {number}", _HEX, len(digits)))
    if not prefix and len(digits) in _POINTS:
        made = _POINTS[len(digits)] + made[2:]
    return prefix + (made.upper() if digits.isupper() else made)


def _opaque(found: str, number: int) -> str:
    length = 44 if len(found) == 43 else len(found)  # base58 of 32 bytes has 43 or 44 characters
    return "".join(_letters(f"opaque {number}", _BASE58, length))


def _letters(seed: str, alphabet: str, count: int) -> Iterator[str]:
    stream = hashlib.shake_256(seed.encode()).digest(count)
    return (alphabet[byte % len(alphabet)] for byte in stream)


_MAKE: dict[str, Callable[[str, int], str]] = {
    "uuid": _uuid,
    "hex": _hex,
    "opaque": _opaque,
    "jwt": lambda _, number: f"eyJ…{number}",
    "named": lambda _, number: str(number),
    "order": lambda _, number: str(number),
    "mailbox": lambda _, number: str(number),
    "path": lambda _, number: str(number),
}
