"""The values of a request that a condition compares, for people who ask for the reason of a decision. Pure.

Here: the fields that comparisons read, and their values as the policy saw them. Not here: the result of a
comparison (`evaluator`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from keystead.policies.bounds import COMPARED_VALUES_SHOWN_MAX
from keystead.policies.language import syntax
from keystead.policies.language.field_paths import path_of, scoped_parts
from keystead.policies.language.grammar import parse
from keystead.primitives.unreadable import Unreadable


def compared_values(condition: str, values: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    """The values of each compared field, by its path: several for the items of a list, none if the field is absent,
    an Unreadable if they cannot be known.

    `values`: the keywords of the request, as an evaluation reads them. Empty for a condition that does not compile.
    """
    try:
        tree = parse(condition)
    except syntax.ExpressionRefused:
        return {}
    paths = dict.fromkeys(_paths(tree, {}))
    return {path: tuple(_values(values, path.split("."))) for path in paths}


def _paths(node: syntax.Node, scope: Mapping[str, str]) -> Iterator[str]:
    compared: tuple[syntax.Node, ...] = ()
    if isinstance(node, syntax.Comparison):
        compared = (node.left, node.right)
    elif isinstance(node, syntax.Contains):
        compared = (node.of, node.value)
    yield from filter(None, (path_of(operand, scope) for operand in compared))
    for part, inner in scoped_parts(node, scope):
        yield from _paths(part, inner)


def _values(value: Any, steps: list[str]) -> Iterator[Any]:
    if isinstance(value, Unreadable):
        yield value
        return
    if not steps:
        yield from value[:COMPARED_VALUES_SHOWN_MAX] if isinstance(value, list | tuple) else (value,)
        return
    name, items = steps[0].removesuffix("[]"), steps[0].endswith("[]")
    if not isinstance(value, Mapping) or name not in value:
        return
    inside = value[name]
    if not items:
        yield from _values(inside, steps[1:])
    elif isinstance(inside, list | tuple):
        for item in inside[:COMPARED_VALUES_SHOWN_MAX]:
            yield from _values(item, steps[1:])
