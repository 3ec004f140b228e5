"""The rules of the language read aloud: an interpreter that walks the tree and looks everything up each time.

It shares the tree and the tables with the evaluator, and nothing else. It knows no budget.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
TEXTS = (Scalar.STRING, Scalar.HEX, Scalar.ADDRESS)
INTEGERS = (Scalar.INT, Scalar.UINT)


class Failed(Exception):
    pass


def interpreted(tree: Node, clause: Clause, values: Mapping[str, Any]) -> bool | None:
    """True, false, or None for an error."""
    try:
        return truth(Reader(clause, values).read(tree, {}))
    except Failed:
        return None


def truth(typed: Typed) -> bool:
    if not isinstance(typed[1], bool):
        raise Failed
    return typed[1]


def admitted(kind: Type, value: Any) -> Typed:
    """A value as the table says it is, if it is."""
    if value is None:
        raise Failed
    whole = isinstance(value, int) and not isinstance(value, bool)
    good = {
        Scalar.BOOL: isinstance(value, bool),
        Scalar.INT: whole and -(2**127) <= value < 2**127,
        Scalar.UINT: whole and 0 <= value < 2**256,
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
        raise Failed
    return kind, value


def in_either_case(text: str) -> str:
    return "".join(chr(ord(each) + 32) if "A" <= each <= "Z" else each for each in text)


def is_hex(text: str) -> bool:
    return text[:2] in ("0x", "0X") and all(each in "0123456789abcdefABCDEF" for each in text[2:])


def as_number(value: Any) -> int:
    if isinstance(value, str):
        digits = value.removeprefix("-")
        if not 1 <= len(digits) <= 39 or not all(each in "0123456789" for each in digits):
            raise Failed
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not -(2**127) <= value < 2**127:
        raise Failed
    return value


def order(left: Typed, right: Typed, *, equality: bool) -> int:
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
        if Scalar.HEX in kinds or (Scalar.ADDRESS in kinds and is_hex(a) and is_hex(b)):
            a, b = in_either_case(a), in_either_case(b)
        return int(a != b)
    return int(a) - int(b)


def alike(items: list[Typed]) -> list[Typed]:
    """The items of a list literal: one that is hexadecimal makes all of them so, and so on."""
    kinds = {kind for kind, _ in items}
    for common in (Scalar.DYNAMIC, Scalar.NUMERAL, Scalar.HEX, Scalar.ADDRESS):
        if common in kinds:
            return [(Scalar.DYNAMIC if common is Scalar.NUMERAL else common, value) for _, value in items]
    return items


class Reader:
    def __init__(self, clause: Clause, values: Mapping[str, Any]) -> None:
        self.keywords, self.values = KEYWORDS[clause], values

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
                return kind, self.cut(holder, low, high)
            case ListFunction():
                return self.list_function(node, scope)
            case Contains(of=of, value=value):
                return Scalar.BOOL, self.among(self.read(value, scope), self.read(of, scope))
            case Count(of=of):
                return Scalar.INT, len(self.items(self.read(of, scope)))
            case Not(of=of):
                return Scalar.BOOL, not truth(self.read(of, scope))
            case Junction(operator=operator, operands=operands):
                values = [truth(self.read(operand, scope)) for operand in operands]
                return Scalar.BOOL, all(values) if operator == "&&" else any(values)
            case Comparison(operator="in", left=left, right=right):
                return Scalar.BOOL, self.among(self.read(left, scope), self.read(right, scope))
            case Comparison(operator=operator, left=left, right=right):
                return Scalar.BOOL, self.compare(operator, self.read(left, scope), self.read(right, scope))
            case _:
                raise AssertionError(node)

    def compare(self, operator: str, left: Typed, right: Typed) -> bool:
        by = order(left, right, equality=operator in ("==", "!="))
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
        if not isinstance(holder, dict) or name not in holder:
            raise Failed
        return admitted(kind.fields[name] if isinstance(kind, StructOf) else Scalar.DYNAMIC, holder[name])

    def index(self, of: Typed, index: Any) -> Typed:
        kind, holder = of
        if isinstance(index, str):
            if not isinstance(holder, dict) or index not in holder:
                raise Failed
            return admitted(kind.value if isinstance(kind, MapOf) else Scalar.DYNAMIC, holder[index])
        if isinstance(index, bool) or not isinstance(index, int) or not isinstance(holder, list | tuple | str):
            raise Failed
        if not 0 <= index < len(holder):
            raise Failed
        if isinstance(holder, str):
            return kind, holder[index]
        return admitted(*self.items(of)[index])

    def cut(self, holder: Any, low: Any, high: Any) -> Any:
        for bound in (low, high):
            if isinstance(bound, bool) or not isinstance(bound, int):
                raise Failed
        if not isinstance(holder, list | tuple | str) or not 0 <= low <= high <= len(holder):
            raise Failed
        return holder[low:high]

    def items(self, of: Typed) -> list[Typed]:
        """The items of a list, not yet looked at. Those of a list literal know their types themselves."""
        kind, holder = of
        if not isinstance(holder, list | tuple):
            raise Failed
        if isinstance(kind, ListOf) and kind.item is Scalar.NOTHING:
            return list(holder)
        return [(kind.item if isinstance(kind, ListOf) else Scalar.DYNAMIC, item) for item in holder]

    def among(self, sought: Typed, of: Typed) -> bool:
        kind, _ = of
        items = self.items(of)
        if isinstance(kind, ListOf) and kind.item in TEXTS and sought[0] in TEXTS:
            # A text is sought among whatever is there: what is no text is not it.
            items = [item for item in items if isinstance(item[1], str)] if kind.item is Scalar.STRING else items
        return 0 in [order(sought, admitted(*item), equality=True) for item in items]

    def list_function(self, node: ListFunction, scope: Mapping[str, Typed]) -> Typed:
        of = self.read(node.of, scope)
        items = self.items(of)
        held = [truth(self.read(node.predicate, {**scope, node.variable: item})) for item in items]
        if node.function == "filter":
            kept = [item for item, holds in zip(of[1], held, strict=True) if holds]
            return of[0], kept
        return Scalar.BOOL, all(held) if node.function == "all" else any(held)
