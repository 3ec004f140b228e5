"""The types of the policy language, and which of them compare with which.

Here: the types as values, how a message names them. Not here: which field has which type (`namespaces`).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import assert_never

import msgspec


class Scalar(Enum):
    BOOL = "a boolean"
    INT = "an integer"
    """Exact, of any size."""
    STRING = "a string"
    ACTIVITY_TYPE = "an activity type"
    """A string that names one version of a kind of activity. It compares with strings, as a whole."""
    HEX = "a string of hexadecimal digits"
    """Compared without regard to letter case."""
    ADDRESS = "an address"
    """Compared by the destination that it names (`chains.addresses.comparison`)."""
    NUMERAL = "an integer (a literal may quote it, as '1')"
    TIMESTAMP = "a timestamp"
    DYNAMIC = "a value known at evaluation only"
    """An argument of a contract call or a member of typed data: string, number, boolean, list or struct."""
    NOTHING = "an item of an empty list"


class ListOf(msgspec.Struct, frozen=True):
    item: Type


class MapOf(msgspec.Struct, frozen=True):
    """A map from strings."""

    value: Type


class StructOf(msgspec.Struct, frozen=True, eq=False):
    """`is_namespace`: its fields are keywords, which an activity has or has not. A struct has all of its fields."""

    fields: Mapping[str, Type]
    is_namespace: bool = False


class NamedByOrganization(msgspec.Struct, frozen=True):
    """A struct whose fields an organization names, all of one type."""

    value: Type


Type = Scalar | ListOf | MapOf | StructOf | NamedByOrganization

TEXTS = frozenset({Scalar.STRING, Scalar.HEX, Scalar.ADDRESS})


class ComparisonKind(Enum):
    """How two values compare."""

    EXACT = "as they are"
    HEX = "as hexadecimal digits in either case"
    ADDRESS = "as addresses: by the destination that they name"
    ACTIVITY_TYPE = "as activity types: whether two versions of one kind are equal is unknown"
    NUMERAL = "as integers, which literals on one side quote"
    DYNAMIC = "by what they turn out to be"


def comparison(left: Type, right: Type) -> ComparisonKind | None:
    """How values of these types are compared for equality; None where they cannot be."""
    if not (isinstance(left, Scalar) and isinstance(right, Scalar)):
        return None
    pair = {left, right}
    if Scalar.NOTHING in pair:
        return ComparisonKind.EXACT
    if Scalar.ACTIVITY_TYPE in pair:
        return ComparisonKind.ACTIVITY_TYPE if pair <= {Scalar.ACTIVITY_TYPE, Scalar.STRING} else None
    if Scalar.DYNAMIC in pair:
        return None if Scalar.TIMESTAMP in pair else ComparisonKind.DYNAMIC
    if Scalar.NUMERAL in pair and pair <= TEXTS | {Scalar.INT, Scalar.NUMERAL}:
        return ComparisonKind.EXACT if pair <= {Scalar.INT, Scalar.NUMERAL} else ComparisonKind.NUMERAL
    if pair <= TEXTS:
        if Scalar.HEX in pair:
            return ComparisonKind.HEX
        if Scalar.ADDRESS in pair:
            return ComparisonKind.ADDRESS
        return ComparisonKind.EXACT
    return ComparisonKind.EXACT if len(pair) == 1 else None


def ordering(left: Type, right: Type) -> ComparisonKind | None:
    """How values of these types are ordered; None if they have no order. Strings and booleans have none."""
    for side in (left, right):
        if side in TEXTS or side in (Scalar.BOOL, Scalar.ACTIVITY_TYPE):
            return None
    return comparison(left, right)


def common_type(left: Scalar, right: Scalar) -> Scalar | None:
    """The type that the items of a list have in common; None if their types differ."""
    if Scalar.NOTHING in (left, right):
        return right if left is Scalar.NOTHING else left
    match comparison(left, right):
        case None | ComparisonKind.NUMERAL:
            return None
        case ComparisonKind.HEX:
            return Scalar.HEX
        case ComparisonKind.ADDRESS:
            return Scalar.ADDRESS
        case ComparisonKind.ACTIVITY_TYPE:
            return Scalar.ACTIVITY_TYPE
        case ComparisonKind.DYNAMIC:
            return Scalar.DYNAMIC
        case ComparisonKind.EXACT:
            return Scalar.INT if Scalar.NUMERAL in (left, right) else left
        case unknown:
            assert_never(unknown)


def type_name(kind: Type) -> str:
    """The type as a message says it."""
    match kind:
        case Scalar():
            return kind.value
        case ListOf(item=item):
            return "an empty list" if item is Scalar.NOTHING else f"a list (each item {type_name(item)})"
        case MapOf():
            return "a map"
        case StructOf() | NamedByOrganization():
            return "a struct"
        case unknown:
            assert_never(unknown)
