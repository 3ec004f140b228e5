"""A slow, simple evaluator of the policy language: it walks the tree and looks everything up each time.

It shares the tree and the tables with the evaluator, and nothing else. It knows no budget. A value that is unknown
is the exception Unknowable. Here `&&` and `||` read every operand, and a filtered list is a list of items that are
each in it for certain or perhaps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from btclib.script.script_pub_key import ScriptPubKey

from keystead.policies.language.namespaces import KEYWORDS, Clause
from keystead.policies.language.syntax import (
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
from keystead.policies.language.types import ListOf, MapOf, NamedByOrganization, Scalar, StructOf, Type
from keystead.primitives.unreadable import Unreadable

Typed = tuple[Type, Any]
TEXTS = (Scalar.STRING, Scalar.ACTIVITY_TYPE, Scalar.HEX, Scalar.ADDRESS)
UNKNOWN, NOT_APPLICABLE = "unknown", "not applicable"


class Unknowable(Exception):
    """`literal`: the literal of the Unreadable that was read, and nothing else."""

    def __init__(self, literal: Any = None) -> None:
        super().__init__()
        self.literal = literal


class Item(NamedTuple):
    """An item of a list. `certain`: the list has it for certain."""

    kind: Type
    value: Any
    certain: bool = True


def interpreted(tree: Node, clause: Clause, values: Mapping[str, Any]) -> bool | str:
    """True, false, UNKNOWN or NOT_APPLICABLE."""
    names = dict(KEYWORDS[clause])
    if not all(is_filled(path, names, values) for path in named_paths(tree, frozenset())):
        return NOT_APPLICABLE
    try:
        return truth(Reader(clause, values).read(tree, {}))
    except Unknowable:
        return UNKNOWN


def named_paths(node: Node, variables: frozenset[str]) -> Iterable[list[str]]:
    """The paths of keywords and their fields in an expression."""
    match node:
        case Name(name=name):
            return [] if name in variables else [[name]]
        case Field(of=of, name=name):
            paths = list(named_paths(of, variables))
            if paths and isinstance(of, Name | Field):
                return [*paths[:-1], [*paths[-1], name]]
            return paths
        case ListFunction(of=of, variable=variable, predicate=predicate):
            return [*named_paths(of, variables), *named_paths(predicate, variables | {variable})]
        case _:
            fields = [getattr(node, field) for field in node.__struct_fields__]
            inner = [each for field in fields for each in (field if isinstance(field, tuple) else [field])]
            return [path for each in inner if isinstance(each, Node) for path in named_paths(each, variables)]


def is_filled(path: list[str], names: Mapping[str, Type], values: Mapping[str, Any]) -> bool:
    """Whether a request fills the keyword at which this path begins."""
    kind = names[path[0]]
    if path[0] not in values:
        return False
    return not (isinstance(kind, StructOf) and kind.is_namespace) or is_filled(
        path[1:], kind.fields, values[path[0]]
    )


def truth(typed: Typed) -> bool:
    if not isinstance(typed[1], bool):
        raise Unknowable
    return typed[1]


def admitted(kind: Type, value: Any) -> Typed:
    """The value, if it has the declared type."""
    if isinstance(value, Unreadable):
        raise Unknowable(value.literal)
    whole = isinstance(value, int) and not isinstance(value, bool)
    good = {
        Scalar.BOOL: isinstance(value, bool),
        Scalar.INT: whole,
        Scalar.NUMERAL: whole,
        Scalar.DYNAMIC: True,
    }
    if isinstance(kind, ListOf):
        fine = isinstance(value, list | tuple)
    elif isinstance(kind, MapOf | StructOf | NamedByOrganization):
        fine = True
    elif kind in TEXTS:
        fine = isinstance(value, str)
    else:
        fine = good[kind]
    if value is None or not fine:
        raise Unknowable
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


def unquoted(value: Any) -> Any:
    """A number that a literal quotes."""
    digits = isinstance(value, str) and value != "" and all(each in "0123456789" for each in value)
    return int(value) if digits and str(int(value)) == value else value


def kind_of(activity_type: str) -> str:
    name, separator, version = activity_type.removeprefix("ACTIVITY_TYPE_").rpartition("_V")
    return name if separator and version.isdigit() else activity_type.removeprefix("ACTIVITY_TYPE_")


def order(left: Typed, right: Typed, *, equality: bool) -> int:
    """Negative, zero or positive, as for a sort; for equality, anything but zero says that they differ."""
    (left_kind, a), (right_kind, b) = left, right
    kinds = {left_kind, right_kind}
    if Scalar.NUMERAL in kinds and Scalar.DYNAMIC not in kinds:
        a, b = unquoted(a), unquoted(b)
    if isinstance(a, str) and isinstance(b, str) and equality:
        if Scalar.ACTIVITY_TYPE in kinds and a != b and kind_of(a) == kind_of(b):
            raise Unknowable
        if Scalar.DYNAMIC in kinds or (Scalar.ADDRESS in kinds and Scalar.HEX not in kinds):
            a, b = (in_either_case(a), in_either_case(b)) if is_hex(a) and is_hex(b) else (a, b)
        elif Scalar.HEX in kinds:
            a, b = in_either_case(a), in_either_case(b)
        if Scalar.ADDRESS in kinds and not kinds & {Scalar.HEX, Scalar.DYNAMIC}:
            a, b = script_or_text(a), script_or_text(b)
        return int(a != b)
    if type(a) is not type(b) or not isinstance(a, int) or (isinstance(a, bool) and not equality):
        raise Unknowable
    return int(a - b)


def alike(items: list[Item]) -> list[Item]:
    """The items of a list literal: one that is hexadecimal makes all of them so, and so on."""
    kinds = {item.kind for item in items}
    for common in (Scalar.DYNAMIC, Scalar.HEX, Scalar.ADDRESS, Scalar.ACTIVITY_TYPE):
        if common in kinds:
            return [item._replace(kind=common) for item in items]
    if Scalar.NUMERAL in kinds and len(kinds) > 1:
        return [item._replace(kind=Scalar.INT) for item in items]
    return items


def joined(reads: Sequence[Callable[[], bool]], *, deciding: bool) -> bool:
    """Whether any is true (deciding) or all are (not deciding)."""
    values: list[bool | None] = []
    for read in reads:
        try:
            values.append(read())
        except Unknowable:
            values.append(None)
    if deciding in values:
        return deciding
    if None in values:
        raise Unknowable
    return not deciding


class Reader:
    def __init__(self, clause: Clause, values: Mapping[str, Any]) -> None:
        self.keywords, self.values = KEYWORDS[clause], values

    def read(self, node: Node, scope: Mapping[str, Typed]) -> Typed:
        """The value of a node. Only the value of a name, a field or an item is unknowable with its literal."""
        try:
            return self.value(node, scope)
        except Unknowable as unknown:
            raise Unknowable(unknown.literal if isinstance(node, Name | Field | Index) else None) from None

    def value(self, node: Node, scope: Mapping[str, Typed]) -> Typed:
        match node:
            case Literal(value=bool() as value):
                return Scalar.BOOL, value
            case Literal(value=int() as value):
                return Scalar.INT, value
            case Literal(value=value):
                return Scalar.STRING, value
            case ListLiteral(items=items):
                return ListOf(Scalar.NOTHING), alike([self.item_of_literal(item, scope) for item in items])
            case Name(name=name):
                return admitted(*scope[name]) if name in scope else admitted(self.keywords[name], self.values[name])
            case Field(of=of, name=name):
                return self.field(self.holder(of, scope), name)
            case Index(of=of, index=index):
                return self.index(self.holder(of, scope), self.holder(index, scope)[1])
            case Slice(of=of, start=start, end=end):
                holder = self.read(of, scope)
                low, high = self.read(start, scope)[1], self.read(end, scope)[1]
                return holder[0], self.cut(holder, low, high)
            case ListFunction():
                return self.list_function(node, scope)
            case Contains(of=of, value=value):
                return Scalar.BOOL, self.among(value, of, scope)
            case Count():
                low, high = self.counted(node, scope)
                if low < high:
                    raise Unknowable
                return Scalar.INT, low
            case Not(of=of):
                return Scalar.BOOL, not truth(self.read(of, scope))
            case Junction(operator=operator, operands=operands):
                reads = [partial(self.truth_of, operand, scope) for operand in operands]
                return Scalar.BOOL, joined(reads, deciding=operator == "||")
            case Comparison(operator="in", left=left, right=right):
                return Scalar.BOOL, self.among(left, right, scope)
            case Comparison():
                return Scalar.BOOL, self.comparison(node, scope)
            case _:
                raise AssertionError(node)

    def holder(self, node: Node, scope: Mapping[str, Typed]) -> Typed:
        """The value of a part of a node. If it is unknown, so is the node, and has no literal."""
        try:
            return self.read(node, scope)
        except Unknowable:
            raise Unknowable from None

    def truth_of(self, node: Node, scope: Mapping[str, Typed]) -> bool:
        return truth(self.read(node, scope))

    def item_of_literal(self, node: Node, scope: Mapping[str, Typed]) -> Item:
        try:
            return Item(*self.read(node, scope))
        except Unknowable as unknown:
            return Item(self.declared(node, scope), Unreadable("", unknown.literal))

    def is_literal(self, unknown: Unknowable, read: Node, literal: Node, scope: Mapping[str, Typed]) -> bool:
        """Whether the unknown value of `read` is this literal."""
        if not isinstance(literal, Literal):
            return False
        return has_literal(unknown, literal, quoted=self.declared(read, scope) is Scalar.NUMERAL)

    def declared(self, node: Node, scope: Mapping[str, Typed]) -> Type:
        """The type that a node has, whatever its value."""
        match node:
            case Name(name=name):
                return scope[name][0] if name in scope else self.keywords[name]
            case Field(of=of, name=name):
                kind = self.declared(of, scope)
                return kind.fields[name] if isinstance(kind, StructOf) else Scalar.DYNAMIC
            case Index(of=of) | Slice(of=of):
                kind = self.declared(of, scope)
                if isinstance(kind, ListOf) and isinstance(node, Index):
                    return kind.item
                return kind.value if isinstance(kind, MapOf) else kind
            case Count():
                return Scalar.INT
            case _:
                return Scalar.BOOL

    def counted(self, node: Count, scope: Mapping[str, Typed]) -> tuple[int, int]:
        items = self.items(self.read(node.of, scope))
        return sum(item.certain for item in items), len(items)

    def comparison(self, node: Comparison, scope: Mapping[str, Typed]) -> bool:
        sides = (node.left, node.right)
        if all(isinstance(each, Count) or each_is_integer(self, each, scope) for each in sides):
            ranges = [
                self.counted(each, scope) if isinstance(each, Count) else (self.read(each, scope)[1],) * 2
                for each in sides
            ]
            lefts, rights = ([*range(low, high + 1)] for low, high in ranges)
            results = {self.compare(node, (Scalar.INT, a), (Scalar.INT, b)) for a in lefts for b in rights}
            if len(results) > 1:
                raise Unknowable
            return results.pop()
        values: list[Typed | Unknowable] = []
        for each in sides:
            try:
                values.append(self.read(each, scope))
            except Unknowable as unknown:
                values.append(unknown)
        left, right = values
        for side, read_node, literal in ((left, node.left, node.right), (right, node.right, node.left)):
            if isinstance(side, Unknowable) and node.operator in ("==", "!="):
                if self.is_literal(side, read_node, literal, scope):
                    return node.operator == "=="
                raise Unknowable
        if isinstance(left, Unknowable) or isinstance(right, Unknowable):
            raise Unknowable
        return self.compare(node, left, right)

    def compare(self, node: Comparison, left: Typed, right: Typed) -> bool:
        by = order(left, right, equality=node.operator in ("==", "!="))
        return {
            "==": by == 0,
            "!=": by != 0,
            "<": by < 0,
            "<=": by <= 0,
            ">": by > 0,
            ">=": by >= 0,
        }[node.operator]

    def field(self, of: Typed, name: str) -> Typed:
        kind, holder = of
        if not isinstance(holder, dict) or name not in holder:
            raise Unknowable
        return admitted(kind.fields[name] if isinstance(kind, StructOf) else Scalar.DYNAMIC, holder[name])

    def index(self, of: Typed, index: Any) -> Typed:
        kind, holder = of
        if isinstance(index, str):
            if not isinstance(holder, dict) or index not in holder:
                raise Unknowable
            return admitted(kind.value if isinstance(kind, MapOf) else Scalar.DYNAMIC, holder[index])
        if isinstance(index, bool) or not isinstance(index, int) or not isinstance(holder, list | tuple | str):
            raise Unknowable
        if not 0 <= index < len(holder):
            raise Unknowable
        if isinstance(holder, str):
            return kind, holder[index]
        items = self.items(of)[: index + 1]
        if not all(item.certain for item in items):
            raise Unknowable
        return admitted(items[index].kind, items[index].value)

    def cut(self, of: Typed, low: Any, high: Any) -> Any:
        holder = of[1]
        for bound in (low, high):
            if isinstance(bound, bool) or not isinstance(bound, int):
                raise Unknowable
        if not isinstance(holder, list | tuple | str) or not 0 <= low <= high <= len(holder):
            raise Unknowable
        if not isinstance(holder, str) and not all(item.certain for item in self.items(of)[:high]):
            raise Unknowable
        return holder[low:high]

    def items(self, of: Typed) -> list[Item]:
        """The items of a list, not read."""
        kind, holder = of
        if not isinstance(holder, list | tuple):
            raise Unknowable
        item_kind = kind.item if isinstance(kind, ListOf) else Scalar.DYNAMIC
        return [item if isinstance(item, Item) else Item(item_kind, item) for item in holder]

    def among(self, sought: Node, among: Node, scope: Mapping[str, Typed]) -> bool:
        items = self.items(self.read(among, scope))
        if not items:
            return False
        try:
            value = self.read(sought, scope)
        except Unknowable as unknown:
            beside = among.items if isinstance(among, ListLiteral) else ()
            if any(self.is_literal(unknown, sought, item, scope) for item in beside):
                return True
            raise Unknowable from None

        def equal(item: Item) -> bool:
            try:
                found = order(value, admitted(item.kind, item.value), equality=True) == 0
            except Unknowable as unknown:
                quoted = item.kind is Scalar.NUMERAL
                if not isinstance(sought, Literal) or not has_literal(unknown, sought, quoted=quoted):
                    raise
                found = True
            if found and not item.certain:
                raise Unknowable
            return found

        return joined([partial(equal, item) for item in items], deciding=True)

    def list_function(self, node: ListFunction, scope: Mapping[str, Typed]) -> Typed:
        of = self.read(node.of, scope)
        items = self.items(of)

        def holds(item: Item) -> bool:
            inner = {**scope, node.variable: (item.kind, item.value)}
            return truth(self.read(node.predicate, inner))

        if node.function == "filter":
            kept = []
            for item in items:
                try:
                    if holds(item):
                        kept.append(item)
                except Unknowable:
                    kept.append(item._replace(certain=False))
            return of[0], kept
        deciding = node.function == "any"

        def decides(item: Item) -> bool:
            held = holds(item)
            if held is deciding and not item.certain:
                raise Unknowable
            return held

        return Scalar.BOOL, joined([partial(decides, item) for item in items], deciding=deciding)


def has_literal(unknown: Unknowable, literal: Literal, *, quoted: bool) -> bool:
    value = unquoted(literal.value) if quoted else literal.value
    return unknown.literal is not None and unknown.literal == value


def each_is_integer(reader: Reader, node: Node, scope: Mapping[str, Typed]) -> bool:
    """Whether a node has an integer of a declared type."""
    try:
        return reader.read(node, scope)[0] in (Scalar.INT, Scalar.NUMERAL)
    except Unknowable:
        return False
