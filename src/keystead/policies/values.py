"""The values of a request as values of the language: which values fit a type, and how two of them are compared.

Here: letter case, quoted numbers, values of no fixed type. Not here: which types can be compared (`types`).
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any, assert_never

from keystead.api.catalogue import activity_kind
from keystead.chains.addresses.comparison import address_key
from keystead.policies.types import ComparisonKind, ListOf, MapOf, Scalar, StructOf, Type

DIGITS_MAX = 600
"""The most digits of a string that is compared as a number. Reading a number takes quadratic time."""
_WITH_0X = re.compile(r"0[xX][0-9a-fA-F]*")
_DECIMAL = re.compile(rf"-?[0-9]{{1,{DIGITS_MAX}}}")


class Incomparable(Exception):
    """Two values that cannot be compared. The message says why."""


def is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


def is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_present(value: Any) -> bool:
    return value is not None


def _is_nothing(_: Any) -> bool:
    return False


_FITS: dict[Scalar, Callable[[Any], bool]] = {
    Scalar.BOOL: lambda value: isinstance(value, bool),
    Scalar.INT: is_integer,
    Scalar.STRING: _is_text,
    Scalar.ACTIVITY_TYPE: _is_text,
    Scalar.HEX: _is_text,
    Scalar.ADDRESS: _is_text,
    Scalar.NUMERAL: lambda value: isinstance(value, int | str) and not isinstance(value, bool),
    Scalar.TIMESTAMP: is_integer,
    Scalar.DYNAMIC: _is_present,
    Scalar.NOTHING: _is_nothing,
}


def fits(kind: Type) -> Callable[[Any], bool]:
    """A function that says whether a value of the request is of this type. An absent value, None, is of no type.

    The items of a list, map or struct are not checked here. They are checked when they are read.
    """
    match kind:
        case Scalar():
            return _FITS[kind]
        case ListOf():
            return is_list
        case MapOf() | StructOf():
            return _is_present
        case unknown:
            assert_never(unknown)


OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _same(value: Any) -> Any:
    return value


def _hex_digits(text: str) -> str:
    return text.lower() if text.isascii() else text


def _hexadecimal(text: str) -> str:
    return text.lower() if _WITH_0X.fullmatch(text) else text


FORMS: dict[ComparisonKind, Callable[[Any], Any]] = {
    ComparisonKind.EXACT: _same,
    ComparisonKind.HEX: _hex_digits,
    ComparisonKind.ADDRESS: address_key,
    ComparisonKind.ACTIVITY_TYPE: activity_kind,
}
"""The form in which two values are equal if and only if they compare as equal."""


def dynamic_pair(left: Any, right: Any, *, ordered: bool = False) -> tuple[Any, Any]:
    """Two values of dynamic type, converted so that Python compares them as the language does. Raises Incomparable.

    Two strings of 0x and hex digits are equal in either case. A number compares with a number, or with a string
    of its decimal digits. With `ordered`, every string must be decimal digits.
    """
    if isinstance(left, bool) or isinstance(right, bool):
        if isinstance(left, bool) and isinstance(right, bool) and not ordered:
            return left, right
        raise Incomparable(f"{_kind_text(left)} does not compare with {_kind_text(right)}")
    if isinstance(left, str) and isinstance(right, str) and not ordered:
        return _hexadecimal(left), _hexadecimal(right)
    return _number(left, right), _number(right, left)


def _number(value: Any, other: Any) -> int:
    if isinstance(value, str) and _DECIMAL.fullmatch(value):
        value = int(value)
    elif not isinstance(value, int):
        raise Incomparable(f"{_kind_text(value)} does not compare with {_kind_text(other)}")
    return int(value)


def _kind_text(value: Any) -> str:
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
