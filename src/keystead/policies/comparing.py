"""Equality and order of two values, once their types say how they are compared.

Here: letter case, quoted numbers, values of no fixed type. Not here: which types compare at all (`types`).
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any

from keystead.policies.types import Comparison

INT_MIN, INT_MAX = -(2**127), 2**127 - 1

_HEX_ADDRESS = re.compile(r"0[xX][0-9a-fA-F]*")
_DECIMAL = re.compile(r"-?[0-9]{1,39}")

OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class Incomparable(Exception):
    """Two values that have no order or equality between them."""


def same(value: Any) -> Any:
    return value


def hex_digits(text: str) -> str:
    return text.lower() if text.isascii() else text


def address(text: str) -> str:
    return text.lower() if _HEX_ADDRESS.fullmatch(text) else text


FORMS: dict[Comparison, Callable[[Any], Any]] = {
    Comparison.EXACT: same,
    Comparison.HEX: hex_digits,
    Comparison.ADDRESS: address,
}
"""The form in which values are equal if and only if the originals compare as equal."""


def dynamic_pair(left: Any, right: Any, *, ordered: bool) -> tuple[Any, Any]:
    """Two values of no fixed type as two that Python compares rightly. Raises Incomparable.

    Two strings compare as addresses do; a number compares with a number, or with a string that is its decimal
    digits. With `ordered`, strings must be such numbers.
    """
    if isinstance(left, bool) or isinstance(right, bool):
        if isinstance(left, bool) and isinstance(right, bool) and not ordered:
            return left, right
        raise Incomparable(f"{_described(left)} does not compare with {_described(right)}")
    if isinstance(left, str) and isinstance(right, str) and not ordered:
        return address(left), address(right)
    return _number(left, right), _number(right, left)


def _number(value: Any, other: Any) -> int:
    if isinstance(value, str) and _DECIMAL.fullmatch(value):
        value = int(value)
    elif not isinstance(value, int):
        raise Incomparable(f"{_described(value)} does not compare with {_described(other)}")
    if not INT_MIN <= value <= INT_MAX:
        raise Incomparable("the number is beyond the range of integers, 128 bit")
    return int(value)


def _described(value: Any) -> str:
    match value:
        case bool():
            return "a boolean"
        case int():
            return "a number"
        case str():
            return "a string"
        case list() | tuple():
            return "a list"
        case _:
            return "a struct"
