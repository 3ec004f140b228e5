"""The paths of the fields in a tree, such as solana.tx.transfers[].to. Pure.

A scope maps the variables of the enclosing list functions to the paths of their items. Not here: which fields there
are (`namespaces`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import assert_never

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
    TimeFunction,
    parts,
)


def path_of(node: Node, scope: Mapping[str, str]) -> str:
    """The path of a field, such as solana.tx.transfers[].to; "" for anything else, such as a part of a string."""
    match node:
        case Name(name=name):
            return scope.get(name, name)
        case Field(of=of, name=name):
            path = path_of(of, scope)
            return f"{path}.{name}" if path else ""
        case Index(of=of, index=Literal(value=int())):
            path = path_of(of, scope)
            return f"{path}[]" if path else ""
        case ListFunction(of=of, function="filter") | Slice(of=of):
            return path_of(of, scope)
        case Literal() | ListLiteral() | Index() | ListFunction() | Count() | TimeFunction():
            return ""
        case Contains() | Not() | Comparison() | Junction():
            return ""
        case _:
            assert_never(node)


def scoped_parts(node: Node, scope: Mapping[str, str]) -> Iterator[tuple[Node, Mapping[str, str]]]:
    """The nodes directly inside this one, each with its scope."""
    if isinstance(node, ListFunction):
        items = path_of(node.of, scope)
        yield node.of, scope
        yield node.predicate, {**scope, node.variable: f"{items}[]" if items else ""}
    else:
        for part in parts(node):
            yield part, scope
