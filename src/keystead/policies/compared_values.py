"""The values of a request that a condition compares, for people who ask why it was decided so. Pure.

Here: the fields that stand in comparisons, and their values as the policy saw them. Not here: the result of a
comparison (`evaluator`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from keystead.policies.grammar import parse
from keystead.policies.linting.literals import path_of
from keystead.policies.syntax import Comparison, Contains, ExpressionRefused, ListFunction, Node, parts

SHOWN_MAX: Final = 20
"""Values of one field that are shown; a list may have more."""


def compared_values(condition: str, values: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    """By the path of each compared field, its values: more than one for the items of a list, none if it is absent.

    values: the keywords of the request, as an evaluation reads them. Empty for a condition that does not compile.
    """
    try:
        tree = parse(condition)
    except ExpressionRefused:
        return {}
    paths = dict.fromkeys(_paths(tree, {}))
    return {path: tuple(_values(values, path.split("."))) for path in paths}


def _paths(node: Node, scope: Mapping[str, str]) -> Iterator[str]:
    compared: tuple[Node, ...] = ()
    match node:
        case Comparison(left=left, right=right):
            compared = (left, right)
        case Contains(of=of, value=value):
            compared = (of, value)
        case ListFunction(of=of, variable=variable, predicate=predicate):
            yield from _paths(of, scope)
            items = path_of(of, scope)
            yield from _paths(predicate, {**scope, variable: f"{items}[]" if items else ""})
            return
        case _:
            pass
    for each in compared:
        if path := path_of(each, scope):
            yield path
    for part in parts(node):
        yield from _paths(part, scope)


def _values(value: Any, steps: list[str]) -> Iterator[Any]:
    if not steps:
        yield from value[:SHOWN_MAX] if isinstance(value, list | tuple) else (value,)
        return
    name, items = steps[0].removesuffix("[]"), steps[0].endswith("[]")
    if not isinstance(value, Mapping) or name not in value:
        return
    inside = value[name]
    if not items:
        yield from _values(inside, steps[1:])
    elif isinstance(inside, list | tuple):
        for each in inside[:SHOWN_MAX]:
            yield from _values(each, steps[1:])
