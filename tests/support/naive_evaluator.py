"""A slow, simple evaluator of the policy language: it walks the tree and looks everything up each time.

It shares the tree and the tables with the evaluator, and nothing else. It knows no budget.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from btclib.script.script_pub_key import ScriptPubKey

from keystead.policies.namespaces import KEYWORDS, Clause
from keystead.policies.syntax import (
    Comparison,
    Contains,
    Count,
    Field,
    Index,
    Junction,
    ListFunction,
    ListLiteral,
    Literal,
    Name,
    Node,
    Not,
    Slice,
)
from keystead.policies.types import ListOf, MapOf, Scalar, StructOf, Type

Typed = tuple[Type, Any]
TEXTS = (Scalar.STRING, Scalar.ACTIVITY_TYPE, Scalar.HEX, Scalar.ADDRESS)


class Failed(Exception):
    """`unreadable`: the value exists and is not of the needed form."""

    def __init__(self, *, unreadable: bool) -> None:
        super().__init__()
        self.unreadable = unreadable


ABSENT, UNREADABLE = partial(Failed, unreadable=False), partial(Failed, unreadable=True)


def interpreted(
    tree: Node, clause: Clause, values: Mapping[str, Any], *, all_versions: bool = False
) -> bool | None:
    """True, false, or None for an error."""
    try:
        return truth(Reader(clause, values, all_versions=all_versions).read(tree, {}))
    except Failed:
        return None


def interpreted_three_valued(
    tree: Node, clause: Clause, values: Mapping[str, Any], *, all_versions: bool = False
) -> tuple[bool | None, bool]:
    """True, false or unknown in Kleene's logic, and whether something unreadable is in the way."""
    reader = KleeneReader(clause, values, all_versions=all_versions)
    try:
        return truth(reader.read(tree, {})), reader.outweighed
    except Failed as failed:
        return None, failed.unreadable or reader.outweighed


def truth(typed: Typed) -> bool:
    if not isinstance(typed[1], bool):
        raise UNREADABLE()
    return typed[1]


def admitted(kind: Type, value: Any) -> Typed:
    """The value, if it has the declared type."""
    if value is None:
        raise ABSENT()
    whole = isinstance(value, int) and not isinstance(value, bool)
    good = {
        Scalar.BOOL: isinstance(value, bool),
        Scalar.INT: whole,
        Scalar.NUMERAL: whole or isinstance(value, str),
        Scalar.DYNAMIC: True,
    }
    if isinstance(kind, ListOf):
        fine = isinstance(value, list | tuple)
    elif isinstance(kind, MapOf | StructOf):
        fine = True
    elif kind in TEXTS:
        fine = isinstance(value, str)
    else:
        fine = good[kind]
    if not fine:
        raise UNREADABLE()
    return kind, value


def in_either_case(text: str) -> str:
    return "".join(chr(ord(each) + 32) if "A" <= each <= "Z" else each for each in text)


def is_hex(text: str) -> bool:
    return text[:2] in ("0x", "0X") and all(each in "0123456789abcdefABCDEF" for each in text[2:])


def script_or_text(text: str) -> bytes | str:
    """What a Bitcoin address pays to."""
    try:
        return bytes(ScriptPubKey.from_address(text).script)
    except ValueError:
        return text


def as_number(value: Any) -> int:
    if isinstance(value, str):
        digits = value.removeprefix("-")
        if not 1 <= len(digits) <= 600 or not all(each in "0123456789" for each in digits):
            raise UNREADABLE()
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise UNREADABLE()
    return value


def kind_of(activity_type: str) -> str:
    name, separator, version = activity_type.removeprefix("ACTIVITY_TYPE_").rpartition("_V")
    return name if separator and version.isdigit() else activity_type.removeprefix("ACTIVITY_TYPE_")


def order(left: Typed, right: Typed, *, equality: bool, by_kind: bool = False) -> int:
    """Negative, zero or positive, as for a sort; for equality, anything but zero says that they differ."""
    (left_kind, a), (right_kind, b) = left, right
    kinds = {left_kind, right_kind}
    if kinds & {Scalar.DYNAMIC, Scalar.NUMERAL}:
        if isinstance(a, bool) and isinstance(b, bool) and equality:
            return int(a) - int(b)
        if isinstance(a, str) and isinstance(b, str) and equality:
            if is_hex(a) and is_hex(b):
                a, b = in_either_case(a), in_either_case(b)
            return int(a != b)
        return as_number(a) - as_number(b)
    if left_kind in TEXTS:
        if by_kind and kinds <= {Scalar.STRING, Scalar.ACTIVITY_TYPE} and Scalar.ACTIVITY_TYPE in kinds:
            a, b = kind_of(a), kind_of(b)
        if Scalar.HEX in kinds or (Scalar.ADDRESS in kinds and is_hex(a) and is_hex(b)):
            a, b = in_either_case(a), in_either_case(b)
        elif Scalar.ADDRESS in kinds:
            a, b = script_or_text(a), script_or_text(b)
        return int(a != b)
    return int(a) - int(b)


def alike(items: list[Typed]) -> list[Typed]:
    """The items of a list literal: one that is hexadecimal makes all of them so, and so on."""
    kinds = {kind for kind, _ in items}
    for common in (Scalar.DYNAMIC, Scalar.NUMERAL, Scalar.HEX, Scalar.ADDRESS, Scalar.ACTIVITY_TYPE):
        if common in kinds:
            return [(Scalar.DYNAMIC if common is Scalar.NUMERAL else common, value) for _, value in items]
    return items


class Reader:
    """`all_versions`: activity types compare by kind where that makes the whole true more often. `negations` counts
    the negations around the node that is read."""

    def __init__(self, clause: Clause, values: Mapping[str, Any], *, all_versions: bool) -> None:
        self.keywords, self.values = KEYWORDS[clause], values
        self.all_versions, self.negations = all_versions, 0

    def by_kind(self, *, widens: bool) -> bool:
        return self.all_versions and (self.negations % 2 == 0) is widens

    def negated(self, node: Node, scope: Mapping[str, Typed]) -> Typed:
        self.negations += 1
        try:
            return self.read(node, scope)
        finally:
            self.negations -= 1

    def read(self, node: Node, scope: Mapping[str, Typed]) -> Typed:
        match node:
            case Literal(value=bool() as value):
                return Scalar.BOOL, value
            case Literal(value=int() as value):
                return Scalar.INT, value
            case Literal(value=value):
                return Scalar.STRING, value
            case ListLiteral(items=items):
                return ListOf(Scalar.NOTHING), alike([self.read(item, scope) for item in items])
            case Name(name=name):
                if name in scope:
                    return admitted(*scope[name])
                return admitted(self.keywords[name], self.values.get(name))
            case Field(of=of, name=name):
                return self.field(self.read(of, scope), name)
            case Index(of=of, index=index):
                return self.index(self.read(of, scope), self.read(index, scope)[1])
            case Slice(of=of, start=start, end=end):
                kind, holder = self.read(of, scope)
                low, high = self.read(start, scope)[1], self.read(end, scope)[1]
                return part(kind), self.cut(holder, low, high)
            case ListFunction():
                return self.list_function(node, scope)
            case Contains(of=of, value=value):
                return Scalar.BOOL, self.among(self.read(value, scope), self.read(of, scope))
            case Count(of=of):
                return Scalar.INT, len(self.items(self.read(of, scope)))
            case Not(of=of):
                return Scalar.BOOL, not truth(self.negated(of, scope))
            case Junction(operator=operator, operands=operands):
                reads = [partial(self.read, operand, scope) for operand in operands]
                return Scalar.BOOL, self.joined(reads, deciding=operator == "||")
            case Comparison(operator="in", left=left, right=right):
                return Scalar.BOOL, self.among(self.read(left, scope), self.read(right, scope))
            case Comparison(operator=operator, left=left, right=right):
                is_false = [
                    operator in ("==", "!=") and each == Literal(each.at, operator == "!=")
                    for each in (left, right)
                ]
                read = self.negated if any(is_false) else self.read
                return Scalar.BOOL, self.compare(operator, read(left, scope), read(right, scope))
            case _:
                raise AssertionError(node)

    def compare(self, operator: str, left: Typed, right: Typed) -> bool:
        by_kind = self.by_kind(widens=operator == "==")
        by = order(left, right, equality=operator in ("==", "!="), by_kind=by_kind)
        return {
            "==": by == 0,
            "!=": by != 0,
            "<": by < 0,
            "<=": by <= 0,
            ">": by > 0,
            ">=": by >= 0,
        }[operator]

    def field(self, of: Typed, name: str) -> Typed:
        kind, holder = of
        if not isinstance(holder, dict):
            raise UNREADABLE()
        if name not in holder:
            raise ABSENT()
        return admitted(kind.fields[name] if isinstance(kind, StructOf) else Scalar.DYNAMIC, holder[name])

    def index(self, of: Typed, index: Any) -> Typed:
        kind, holder = of
        if isinstance(index, str):
            if not isinstance(holder, dict):
                raise UNREADABLE()
            if index not in holder:
                raise ABSENT()
            return admitted(kind.value if isinstance(kind, MapOf) else Scalar.DYNAMIC, holder[index])
        if isinstance(index, bool) or not isinstance(index, int) or not isinstance(holder, list | tuple | str):
            raise UNREADABLE()
        if not 0 <= index < len(holder):
            raise ABSENT()
        if isinstance(holder, str):
            return part(kind), holder[index]
        return admitted(*self.items(of)[index])

    def cut(self, holder: Any, low: Any, high: Any) -> Any:
        for bound in (low, high):
            if isinstance(bound, bool) or not isinstance(bound, int):
                raise UNREADABLE()
        if not isinstance(holder, list | tuple | str):
            raise UNREADABLE()
        if not 0 <= low <= high <= len(holder):
            raise ABSENT()
        return holder[low:high]

    def items(self, of: Typed) -> list[Typed]:
        """The items of a list, not evaluated. Items of a list literal have their own types."""
        kind, holder = of
        if not isinstance(holder, list | tuple):
            raise UNREADABLE()
        if isinstance(kind, ListOf) and kind.item is Scalar.NOTHING:
            return list(holder)
        return [(kind.item if isinstance(kind, ListOf) else Scalar.DYNAMIC, item) for item in holder]

    def among(self, sought: Typed, of: Typed) -> bool:
        kind, _ = of
        items = self.items(of)
        if isinstance(kind, ListOf) and kind.item in TEXTS and sought[0] in TEXTS:
            # A text is sought among items of any type; an item that is not a text is never equal.
            items = [item for item in items if isinstance(item[1], str)] if kind.item is Scalar.STRING else items
        by_kind = self.by_kind(widens=True)
        return 0 in [order(sought, admitted(*item), equality=True, by_kind=by_kind) for item in items]

    def list_function(self, node: ListFunction, scope: Mapping[str, Typed]) -> Typed:
        of = self.read(node.of, scope)
        items = self.items(of)
        reads = [partial(self.read, node.predicate, {**scope, node.variable: item}) for item in items]
        if node.function == "filter":
            return of[0], [item for item, read in zip(of[1], reads, strict=True) if truth(read())]
        return Scalar.BOOL, self.joined(reads, deciding=node.function == "any")

    def joined(self, reads: Sequence[Callable[[], Typed]], *, deciding: bool) -> bool:
        """Whether any is true (deciding) or all are (not deciding)."""
        values = [truth(read()) for read in reads]
        return any(values) if deciding else all(values)


class KleeneReader(Reader):
    """`outweighed`: something unreadable was not needed, because another operand made a junction true."""

    outweighed = False

    def joined(self, reads: Sequence[Callable[[], Typed]], *, deciding: bool) -> bool:
        values, failures = [], []
        for read in reads:
            try:
                values.append(truth(read()))
            except Failed as failed:
                failures.append(failed.unreadable)
        if failures and deciding not in values:
            raise Failed(unreadable=any(failures))
        self.outweighed = self.outweighed or (deciding and any(failures))
        return any(values) if deciding else all(values)


def part(kind: Type) -> Type:
    return Scalar.STRING if kind is Scalar.ACTIVITY_TYPE else kind
