"""The syntax tree of the policy language: the nodes of an expression, and their places in its text.

Here: the nodes, their places, their parts, and the spelling of a path.
Not here: how text becomes a tree (`grammar`), what a tree means (`type_checker`, `compiler`).
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import NamedTuple, assert_never

import msgspec


class Place(NamedTuple):
    """A place in an expression: line and column, both from 1, columns in characters."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}"


class ExpressionRefused(Exception):
    """The text is not an expression of the language, or could never be evaluated. `reason` and `place` say why and
    where."""

    def __init__(self, reason: str, place: Place) -> None:
        super().__init__(f"{reason} ({place})")
        self.reason = reason
        self.place = place


class UnknownFunction(ExpressionRefused):
    """A function `name` that does not exist is called on `of`. `scope`: the variables there, each with the list
    whose item it is, from the outermost one."""

    def __init__(self, name: str, near: str, place: Place, of: Node, scope: tuple[tuple[str, Node], ...]) -> None:
        super().__init__(f"function does not exist: {name}{near}", place)
        self.name = name
        self.of = of
        self.scope = scope


class _NodeBase(msgspec.Struct, frozen=True):
    at: Place


class Literal(_NodeBase, frozen=True):
    value: bool | int | str


class ListLiteral(_NodeBase, frozen=True):
    items: tuple[Node, ...]


class Name(_NodeBase, frozen=True):
    """A keyword, or the variable of an enclosing list function.

    `item_of`: of a variable, the list whose item it is, as messages spell it; "" for a keyword."""

    name: str
    item_of: str = ""


class Field(_NodeBase, frozen=True):
    of: Node
    name: str


class Index(_NodeBase, frozen=True):
    of: Node
    index: Node


class Slice(_NodeBase, frozen=True):
    """`of[start..end]`, the end exclusive."""

    of: Node
    start: Node
    end: Node


class ListFunction(_NodeBase, frozen=True):
    """`of.all(variable, predicate)`; also `any` and `filter`."""

    of: Node
    function: str
    variable: str
    predicate: Node


class Contains(_NodeBase, frozen=True):
    of: Node
    value: Node


class Count(_NodeBase, frozen=True):
    of: Node


class TimeFunction(_NodeBase, frozen=True):
    """`Timestamp('…')` or `CronSpan('…', '…', '…')`. The arguments are literals: all of it is known at creation."""

    function: str
    arguments: tuple[Literal, ...]


class Not(_NodeBase, frozen=True):
    of: Node


class Comparison(_NodeBase, frozen=True):
    """Two operands and one of == != < <= > >= in."""

    operator: str
    left: Node
    right: Node


class Junction(_NodeBase, frozen=True):
    """Two or more operands joined by && or by ||. A chain is one node, so that a long chain is not nested
    deeply."""

    operator: str
    operands: tuple[Node, ...]


Condition = Contains | Not | Comparison | Junction
"""The nodes whose value is always a boolean."""

Node = Literal | ListLiteral | Name | Field | Index | Slice | ListFunction | Count | TimeFunction | Condition


def parts(node: Node) -> tuple[Node, ...]:
    """The nodes directly inside this one."""
    match node:
        case ListLiteral(items=items):
            return items
        case Field(of=of) | Count(of=of) | Not(of=of):
            return (of,)
        case Index(of=of, index=index):
            return of, index
        case Slice(of=of, start=start, end=end):
            return of, start, end
        case ListFunction(of=of, predicate=predicate):
            return of, predicate
        case Contains(of=of, value=value):
            return of, value
        case Comparison(left=left, right=right):
            return left, right
        case Junction(operands=operands):
            return operands
        case Literal() | Name() | TimeFunction():
            return ()
        case unknown:
            assert_never(unknown)


def walk(tree: Node) -> Iterator[Node]:
    """Every node of a tree, in no particular order."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(parts(node))


def keyword_path(node: Node, variables: Container[str]) -> tuple[Name | Field, ...]:
    """A keyword and the fields that lead from it, such as eth.tx.to; empty if the node is something else.

    `variables`: the names that enclosing list functions bind. They are not keywords."""
    fields: list[Name | Field] = []
    while isinstance(node, Field):
        fields.append(node)
        node = node.of
    if not isinstance(node, Name) or node.name in variables:
        return ()
    return (node, *reversed(fields))


def spelled(node: Node) -> str:
    """A path for messages, such as eth.tx.to or approvers[0].id. A variable is spelled as the item that it is:
    wallets[…].id."""
    match node:
        case Name(name=name, item_of=item_of):
            return f"{item_of}[…]" if item_of else name
        case Field(of=of, name=name):
            return f"{spelled(of)}.{name}"
        case Index(of=of, index=Literal(value=value)):
            return f"{spelled(of)}[{_spelled_literal(value)}]"
        case Index(of=of) | Slice(of=of):
            return f"{spelled(of)}[…]"
        case ListFunction(of=of, function=function):
            return f"{spelled(of)}.{function}(…)"
        case Count(of=of):
            return f"{spelled(of)}.count()"
        case Literal(value=value):
            return _spelled_literal(value)
        case ListLiteral() | TimeFunction() | Contains() | Not() | Comparison() | Junction():
            return "(…)"
        case _:
            assert_never(node)


def _spelled_literal(value: bool | int | str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    return f"'{value}'" if len(value) <= 40 else f"'{value[:40]}…'"
