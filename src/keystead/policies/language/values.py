"""The values of a request as values of the language: which values fit a type, and how two of them are compared.

Here: letter case, quoted numbers, values of no fixed type. Not here: which types can be compared (`types`), what a
comparison with an unreadable value gives (`operators`).
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any, assert_never

from keystead.chains.addresses.comparison import address_key
from keystead.policies.language.types import (
    ComparisonKind,
    ListOf,
    MapOf,
    NamedByOrganization,
    Scalar,
    StructOf,
    Type,
)
from keystead.primitives.unreadable import Unreadable

_WITH_0X = re.compile(r"0[xX][0-9a-fA-F]*")
_DECIMAL = re.compile(r"0|[1-9][0-9]{0,77}")


class Incomparable(Exception):
    """Two values that cannot be compared. The message says why."""


def is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


def is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_readable(value: Any) -> bool:
    return value is not None and not isinstance(value, Unreadable)


def _is_nothing(_: Any) -> bool:
    return False


_FITS: dict[Scalar, Callable[[Any], bool]] = {
    Scalar.BOOL: lambda value: isinstance(value, bool),
    Scalar.INT: is_integer,
    Scalar.STRING: _is_text,
    Scalar.ACTIVITY_TYPE: _is_text,
    Scalar.HEX: _is_text,
    Scalar.ADDRESS: _is_text,
    Scalar.NUMERAL: is_integer,
    Scalar.TIMESTAMP: is_integer,
    Scalar.DYNAMIC: _is_readable,
    Scalar.NOTHING: _is_nothing,
}


def fits(kind: Type) -> Callable[[Any], bool]:
    """A function that says whether a value of the request is of this type. An absent value (None) and an Unreadable
    are of no type.

    The items of a list, map or struct are not checked here. They are checked when they are read.
    """
    match kind:
        case Scalar():
            return _FITS[kind]
        case ListOf():
            return is_list
        case MapOf() | StructOf() | NamedByOrganization():
            return _is_readable
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
    ComparisonKind.NUMERAL: int,
}
"""The form in which two values are equal if and only if they compare as equal."""


def dynamic_pair(left: Any, right: Any, *, ordered: bool = False) -> tuple[Any, Any]:
    """Two values of dynamic type in the forms that Python compares as the language does. Raises Incomparable unless
    both are integers, both are strings or both are booleans.

    Two strings of 0x and hex digits are equal in either case. With `ordered`, both must be integers.
    """
    if is_integer(left) and is_integer(right):
        return left, right
    if not ordered and isinstance(left, str) and isinstance(right, str):
        return _hexadecimal(left), _hexadecimal(right)
    if not ordered and isinstance(left, bool) and isinstance(right, bool):
        return left, right
    raise Incomparable(f"{_kind_text(left)} does not compare with {_kind_text(right)}")


def quotes_number(literal: bool | int | str) -> bool:
    """Whether a literal is an integer in quotes, as `str` writes it."""
    return isinstance(literal, str) and _DECIMAL.fullmatch(literal) is not None


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
