"""Kleene's logic of true, false and unknown: junctions, and lists of which it is unknown whether they have an item.

Unknown is not a value here: the node raises ValueUnknown. Not here: nodes (`compiler`), which values are unknown
(`operators`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from keystead.policies.language.evaluation_context import EvaluationContext, Run, ValueUnknown


class Perhaps(msgspec.Struct, frozen=True):
    """An item of a filtered list for which the predicate is unknown: the list may have it or not."""

    item: Any
    why: ValueUnknown


class CountBetween(msgspec.Struct, frozen=True):
    """The number of items of a filtered list: at least `low`, at most `high`, which is more."""

    low: int
    high: int
    why: ValueUnknown


def junction(context: EvaluationContext, operands: Iterable[Run], deciding: bool) -> bool:
    """`&&` (`deciding`: False) or `||` (`deciding`: True) of these operands, up to the first that decides it.

    Unknown if none decides it and one is unknown.
    """
    unknown: ValueUnknown | None = None
    for operand in operands:
        try:
            value: bool = operand(context)
            if value is deciding:
                return deciding
        except ValueUnknown as failed:
            unknown = unknown or failed
    if unknown is not None:
        raise unknown
    return not deciding


def each_item(
    context: EvaluationContext, slot: int, items: Sequence[Any], predicate: Run, deciding: bool
) -> Iterator[Run]:
    """The operands of a junction: the predicate for each item, which is set as the variable in this slot. An item
    that the list perhaps has decides nothing."""
    for item in items:
        if isinstance(item, Perhaps):
            context.variables[slot] = item.item
            yield _undeciding(predicate, deciding, item.why)
        else:
            context.variables[slot] = item
            yield predicate


def _undeciding(predicate: Run, deciding: bool, why: ValueUnknown) -> Run:
    def run(context: EvaluationContext) -> bool:
        if predicate(context) is deciding:
            raise why
        return not deciding

    return run


def filtered(context: EvaluationContext, slot: int, items: Sequence[Any], predicate: Run) -> list[Any]:
    """The items for which the predicate is true, and those for which it is unknown as Perhaps."""
    kept = []
    for item in items:
        why = None
        if isinstance(item, Perhaps):
            item, why = item.item, item.why
        context.variables[slot] = item
        try:
            if not predicate(context):
                continue
        except ValueUnknown as failed:
            why = why or failed
        kept.append(item if why is None else Perhaps(item, why))
    return kept


def require_certain(items: Sequence[Any], end: int) -> None:
    """Raise ValueUnknown unless the items at the positions below `end` are certain."""
    for item in items[:end]:
        if isinstance(item, Perhaps):
            raise item.why


def count(items: Sequence[Any]) -> int | CountBetween:
    """The number of items."""
    perhaps = [item for item in items if isinstance(item, Perhaps)]
    if not perhaps:
        return len(items)
    return CountBetween(len(items) - len(perhaps), len(items), perhaps[0].why)


def compare_counts(
    compare: Callable[[Any, Any], bool], left: int | CountBetween, right: int | CountBetween
) -> bool:
    """The result of comparing two numbers, each of which may be a count. Unknown unless it is the same for all
    numbers that they may be."""
    (left_low, left_high), (right_low, right_high) = _bounds(left), _bounds(right)
    results = {compare(one, other) for one in (left_low, left_high) for other in (right_low, right_high)}
    if left_low <= right_high and right_low <= left_high:
        # There is a number that both may be.
        shared = max(left_low, right_low)
        results.add(compare(shared, shared))
    if len(results) > 1:
        raise next(number.why for number in (left, right) if isinstance(number, CountBetween))
    return results.pop()


def _bounds(number: int | CountBetween) -> tuple[int, int]:
    return (number.low, number.high) if isinstance(number, CountBetween) else (number, number)
