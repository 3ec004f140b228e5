"""Mutations of JSON values and of bytes.

Here: one random step away from a valid input. Not here: what is valid, and what must hold of the rest.
"""

from __future__ import annotations

import json
import random
from typing import Any

HOSTILE: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    1.5,
    2**31,
    2**53 + 1,
    2**64,
    10**40,
    -(10**400),
    "",
    "0",
    "\0",
    "a" * 5_000,
    "\N{PILE OF POO}" * 300,
    "\u202e\u0000\ufffe",
    "0x",
    "0x" + "f" * 999,
    "1" * 4_500,
    "1e999",
    "../../etc/passwd",
    "' OR 1=1 --",
    "{{7*7}}",
    "ACTIVITY_TYPE_CREATE_USERS",
    "00000000-0000-0000-0000-000000000000",
    [],
    {},
    [[]] * 40,
    {"": ""},
    {"a": {"a": {"a": {"a": 1}}}},
    ["x"] * 3_000,
)
"""Values that have broken readers of JSON before, or that a field should refuse."""


def mutated_json(value: Any, chance: random.Random) -> Any:
    """A copy of `value` with one to three changes at random places."""
    changed = _copy(value)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        changed = _changed(changed, chance)
    return changed


def _changed(value: Any, chance: random.Random) -> Any:
    places = list(_places(value))
    if not places:
        return _copy(chance.choice(HOSTILE))
    holder, key = chance.choice(places)
    match chance.randrange(6):
        case 0:
            del holder[key]
        case 1:
            holder[key] = [holder[key]]
        case 2:
            other, name = chance.choice(places)
            holder[key] = _copy(other[name]) if name in other or isinstance(other, list) else None
        case 3 if isinstance(holder, dict):
            holder[f"{key}{chance.choice(['', 'X', ' ', chr(0)])}surprise"] = holder[key]
        case 4 if isinstance(holder[key], str) and holder[key]:
            text = holder[key]
            at = chance.randrange(len(text))
            holder[key] = text[:at] + chr(chance.choice((0, 10, 0x7F, 0xD7FF, 0x1F600, 48, 97))) + text[at + 1 :]
        case _:
            holder[key] = _copy(chance.choice(HOSTILE))
    return value


def _copy(value: Any) -> Any:
    return json.loads(json.dumps(value))


def _places(value: Any) -> Any:
    """Every (container, key) inside of the value."""
    if isinstance(value, dict):
        for key in value:
            yield value, key
            yield from _places(value[key])
    elif isinstance(value, list):
        for index in range(len(value)):
            yield value, index
            yield from _places(value[index])


def mutated_bytes(data: bytes, chance: random.Random) -> bytes:
    """One to four changes: a bit, a byte, a number of four bytes, something cut out, repeated, or put in."""
    changed = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(changed) + 1)
        length = chance.choice((1, 1, 2, 4, 8, 32, 64))
        match chance.randrange(7):
            case 0 if at < len(changed):
                changed[at] ^= 1 << chance.randrange(8)
            case 1 if at < len(changed):
                changed[at] = chance.choice((0, 1, 0x7F, 0x80, 0xB8, 0xBF, 0xC0, 0xF7, 0xFD, 0xFE, 0xFF))
            case 2:
                changed[at : at + 4] = chance.choice((b"\xff\xff\xff\xff", b"\0\0\0\0", b"\x7f\xff\xff\xff"))
            case 3:
                del changed[at : at + length]
            case 4:
                changed[at:at] = changed[at : at + length] * chance.choice((1, 1, 2, 50))
            case 5:
                changed[at:at] = chance.randbytes(length)
            case _:
                del changed[at:]
    return bytes(changed)
