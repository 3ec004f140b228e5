"""Tables of test files, read strictly: a misspelt member is refused, not read as absent.

Here: structs from decoded TOML or JSON, and values checked against the types of the language. Their range is not
checked: as in a real request, it fails the expression that reads them. Not here: the use of the tables
(`organization`, `cases`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar, assert_never

import msgspec

from keystead.api.catalogue import activity_kind
from keystead.api.choices import did_you_mean, expected_words
from keystead.policies.closed_sets import WORDS
from keystead.policies.language.namespaces import KEYWORDS, PARAMS, Clause
from keystead.policies.language.types import ListOf, MapOf, NamedByOrganization, Scalar, StructOf, Type, type_name
from keystead.policies.language.values import is_integer

_ANY = "a string, an integer, a boolean, a list or a table"
_AT = re.compile(r" - at `\$(?P<path>[^`]*)`\Z")

_MISSING = re.compile(r"Object missing required field `(?P<field>[^`]*)`")
_WORD = re.compile(r"Invalid enum value '(?P<word>.*)'(?: - at .*)?", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<field>[^`]*)`")

TableT = TypeVar("TableT", bound="TomlTable")


class MalformedTable(ValueError):
    """A table is malformed, or several are. Each of `problems` says where, and what is expected."""

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(f"{where}: {reason}")
        self.problems = [f"{where}: {reason}"]


class MalformedTables:
    """The problems of tables that are read one after the other, so that one answer names all of them."""

    def __init__(self) -> None:
        self._first: MalformedTable | None = None

    @contextmanager
    def collect(self) -> Iterator[None]:
        """Collect a MalformedTable that the block raises, instead of raising it."""
        try:
            yield
        except MalformedTable as refused:
            if self._first is None:
                self._first = refused
            else:
                self._first.problems += refused.problems

    def check(self) -> None:
        """Raise the first MalformedTable with the problems of all, if there was one."""
        if self._first is not None:
            raise self._first


class TomlTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of the tables."""


def read(value: Any, kind: type[TableT], where: str) -> TableT:
    """A decoded table as one of these. Raises MalformedTable."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as refused:
        message = str(refused)
        match = _AT.search(message)
        path = match["path"] if match else ""
        words = _in_words(_AT.sub("", message), "" if path else _fields(kind))
        if given := _WORD.fullmatch(message):
            expected = expected_words(kind, path.lstrip("."), given["word"])
            words = f"{given['word']!r} is unknown: {expected}" if expected else words
        raise MalformedTable(where + path, words) from None


def _fields(kind: type[TomlTable]) -> str:
    return ", ".join(field.encode_name for field in msgspec.structs.fields(kind))


def _in_words(message: str, fields: str) -> str:
    """The message for people. `fields`: the names of the table's fields; "" if the error is in a table inside
    it."""
    if missing := _MISSING.fullmatch(message):
        return f"{missing['field']!r} is missing"
    if unknown := _UNKNOWN.fullmatch(message):
        near = did_you_mean(unknown["field"], fields.split(", "))
        return f"there is no {unknown['field']!r} here" + (f", only {fields}{near}" if fields else "")
    return message[:1].lower() + message[1:].replace("`object`", "a table")


def check_params(activity_type: str, params: Mapping[str, Any], where: str) -> None:
    """Raise MalformedTable unless policies see these parameters of an activity of this type."""
    fields = PARAMS.get(activity_kind(activity_type), {})
    if params and not fields:
        raise MalformedTable(where, f"policies see no parameter of {activity_type}")
    _check(params, StructOf(fields), where, "activity.params")


def check_resources(resources: Mapping[str, Any], where: str) -> None:
    """Raise MalformedTable unless these are keywords of a condition, with fields that they have."""
    keywords = {name: kind for name, kind in KEYWORDS[Clause.CONDITION].items() if name != "activity"}
    for name, value in resources.items():
        _check_member(keywords, name, value, where, name)


def _check(value: Any, kind: Type, where: str, path: str) -> None:
    """Raise MalformedTable unless the value is of this type. `path`: the path of the field, as in `closed_sets`."""
    match kind:
        case StructOf(fields=fields):
            for name, member in _members(value, where):
                _check_member(fields, name, member, where, f"{path}.{name}")
        case MapOf(value=of) | NamedByOrganization(value=of):
            for name, member in _members(value, where):
                _check(member, of, f"{where}.{name}", f"{path}[]")
        case ListOf(item=item):
            if not isinstance(value, list):
                raise MalformedTable(where, "expected a list")
            for index, member in enumerate(value):
                _check(member, item, f"{where}[{index}]", f"{path}[]")
        case Scalar():
            if not _is_scalar(value, kind):
                raise MalformedTable(where, f"expected {_ANY if kind is Scalar.DYNAMIC else type_name(kind)}")
            if path in WORDS and value not in WORDS[path]:
                expected = did_you_mean(value, WORDS[path]) or f": expected {' or '.join(sorted(WORDS[path]))}"
                raise MalformedTable(where, f"{value[:60]!r} is unknown{expected}")
        case _:
            assert_never(kind)


def _check_member(fields: Mapping[str, Type], name: str, value: Any, where: str, path: str) -> None:
    if name not in fields:
        near = did_you_mean(str(name), fields)
        raise MalformedTable(where, f"there is no {name!r} here, only {', '.join(fields)}{near}")
    _check(value, fields[name], f"{where}.{name}", path)


def _members(value: Any, where: str) -> list[tuple[str, Any]]:
    if not isinstance(value, Mapping):
        raise MalformedTable(where, "expected a table")
    return list(value.items())


def _is_scalar(value: Any, kind: Scalar) -> bool:
    match kind:
        case Scalar.STRING | Scalar.ACTIVITY_TYPE | Scalar.HEX | Scalar.ADDRESS:
            return isinstance(value, str)
        case Scalar.BOOL:
            return isinstance(value, bool)
        case Scalar.INT | Scalar.NUMERAL | Scalar.TIMESTAMP:
            return is_integer(value)
        case Scalar.NOTHING:
            return False  # the items of an empty list literal, which no field has
        case Scalar.DYNAMIC:
            return isinstance(value, bool | int | str | list | Mapping)
        case _:
            assert_never(kind)
