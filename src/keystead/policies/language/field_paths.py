"""The paths of the fields in a tree, such as solana.tx.transfers[].to. Pure.

A scope maps the variables of the enclosing list functions to the paths of their items. Not here: which fields there
are (`namespaces`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import assert_never

from keystead.policies.language import syntax


def path_of(node: syntax.Node, scope: Mapping[str, str]) -> str:
    """The path of a field, such as solana.tx.transfers[].to; "" for anything else, such as a part of a string."""
    match node:
        case syntax.Name(name=name):
            return scope.get(name, name)
        case syntax.Field(of=of, name=name):
            path = path_of(of, scope)
            return f"{path}.{name}" if path else ""
        case syntax.Index(of=of, index=syntax.Literal(value=int())):
            path = path_of(of, scope)
            return f"{path}[]" if path else ""
        case syntax.ListFunction(of=of, function="filter") | syntax.Slice(of=of):
            return path_of(of, scope)
        case (
            syntax.Literal()
            | syntax.ListLiteral()
            | syntax.Index()
            | syntax.ListFunction()
            | syntax.Count()
            | syntax.TimeFunction()
        ):
            return ""
        case syntax.Contains() | syntax.Not() | syntax.Comparison() | syntax.Junction():
            return ""
        case _:
            assert_never(node)


def scoped_parts(node: syntax.Node, scope: Mapping[str, str]) -> Iterator[tuple[syntax.Node, Mapping[str, str]]]:
    """The nodes directly inside this one, each with its scope."""
    if isinstance(node, syntax.ListFunction):
        items = path_of(node.of, scope)
        yield node.of, scope
        yield node.predicate, {**scope, node.variable: f"{items}[]" if items else ""}
    else:
        for part in syntax.parts(node):
            yield part, scope
