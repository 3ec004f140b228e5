"""The operators of the language, on the values of their operands.

Here: members and items, equality and order, all and any. Not here: in which order a tree is evaluated (`compiler`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from keystead.policies.evaluation_context import EvaluationContext, EvaluationError, EvaluationFailed, Run
from keystead.policies.syntax import Field, Index, Name, Node, Place, Slice, TimeFunction, spelled
from keystead.policies.time import cron_span, timestamp
from keystead.policies.types import ComparisonKind, Type, type_name
from keystead.policies.values import FORMS, OPERATORS, Incomparable, dynamic_pair, fits, is_integer, is_list

_CRON_STEPS = 100


def fail_absent(reason: str, at: Place) -> NoReturn:
    """Fail because the request has no such value."""
    raise EvaluationFailed(EvaluationError(reason, at))


def fail_unreadable(reason: str, at: Place) -> NoReturn:
    """Fail because the value is present and cannot be read as the expression requires."""
    raise EvaluationFailed(EvaluationError(reason, at, unreadable=True))


def reader(node: Node, kind: Type) -> Callable[[Any], Any]:
    """A function from the value that a request has for a node to the same value. It fails if the value is absent or
    of another type."""
    fitting = fits(kind)
    absent = EvaluationError(f"{spelled(node)} is absent", node.at)

    def read(value: Any) -> Any:
        if fitting(value):
            return value
        # Policies about transactions call this for every other activity, so it must be cheap.
        if value is None:
            raise EvaluationFailed(absent)
        fail_unreadable(f"{spelled(node)} is not {type_name(kind)}", node.at)

    return read


def text_steps(value: Any) -> int:
    """The further steps that a comparison of this value takes: one for every 64 characters of a text."""
    return len(value) >> 6 if isinstance(value, str) else 0


def charge_texts(context: EvaluationContext, at: Place, left: Any, right: Any) -> None:
    context.charge(text_steps(left) + text_steps(right), at)


def at_path(path: Sequence[Name | Field], fitting: Callable[[Any], bool], read: Callable[[Any], Any]) -> Run:
    """The value at the end of a path from a keyword. Most values that policies read are read this way, so it must
    be fast."""
    names = tuple(step.name for step in path)
    absent = [EvaluationError(f"{spelled(step)} is absent", step.at) for step in path]

    def at_end(context: EvaluationContext) -> Any:
        value: Any = context.values
        reached = 0
        try:
            for name in names:
                value = value[name]
                reached += 1
        except (KeyError, TypeError):
            if value is None or isinstance(value, Mapping):
                raise EvaluationFailed(absent[reached]) from None
            fail_unreadable(f"{spelled(path[reached - 1])} has no fields", path[reached].at)
        return value if fitting(value) else read(value)

    return at_end


def field_of(node: Field, holder: Any) -> Any:
    """The value of a struct's field; None if it lacks the field."""
    if not isinstance(holder, Mapping):
        fail_unreadable(f"{spelled(node.of)} has no fields", node.at)
    return holder.get(node.name)


def at_name(node: Index, holder: Any, name: str) -> Any:
    """The value of a map under a key."""
    if not isinstance(holder, Mapping):
        fail_unreadable(f"{spelled(node.of)} is not a map", node.at)
    if name not in holder:
        fail_absent(f"{spelled(node.of)}['{name[:80]}'] is absent", node.at)
    return holder[name]


def at_position(node: Index, holder: Any, index: Any) -> Any:
    """An item of a list, or a character of a string."""
    if not (is_list(holder) or isinstance(holder, str)):
        fail_unreadable(f"{spelled(node.of)} is neither a list nor a string", node.at)
    if not is_integer(index):
        fail_unreadable(f"{spelled(node.index)} is not an integer", node.index.at)
    if not 0 <= index < len(holder):
        fail_absent(f"{spelled(node.of)}[{_position(index)}] is out of range: its length is {len(holder)}", node.at)
    return holder[index]


def _position(index: int) -> str:
    # A request may hold a number of any length, and Python refuses to print the longest.
    return str(index) if abs(index) < 2**64 else "…"


def slice_of(node: Slice, context: EvaluationContext, holder: Any, start: Any, end: Any) -> Any:
    """A part of a list or a string, which must lie within it."""
    if not (is_list(holder) or isinstance(holder, str)):
        fail_unreadable(f"{spelled(node.of)} is neither a list nor a string", node.at)
    if not (is_integer(start) and is_integer(end)):
        fail_unreadable("the bounds of a slice are not integers", node.at)
    if not 0 <= start <= end <= len(holder):
        bounds = f"{_position(start)}..{_position(end)}"
        fail_absent(f"{spelled(node.of)}[{bounds}] is out of range: its length is {len(holder)}", node.at)
    context.charge(end - start if is_list(holder) else (end - start) >> 6, node.at)
    return holder[start:end]


def comparer(how: ComparisonKind, operator: str, at: Place) -> Callable[[EvaluationContext, Any, Any], bool]:
    """A comparison of two values, charged for the texts among them."""
    compare = OPERATORS[operator]
    if how is ComparisonKind.DYNAMIC:
        ordered = operator not in ("==", "!=")

        def dynamic(context: EvaluationContext, left: Any, right: Any) -> bool:
            charge_texts(context, at, left, right)
            try:
                return compare(*dynamic_pair(left, right, ordered=ordered))
            except Incomparable as refused:
                fail_unreadable(str(refused), at)

        return dynamic
    form = FORMS[how]

    def static(context: EvaluationContext, left: Any, right: Any) -> bool:
        charge_texts(context, at, left, right)
        return compare(form(left), form(right))

    return static


def literal_comparer(
    how: ComparisonKind, operator: str, literal: Any, at: Place
) -> Callable[[EvaluationContext, Any], bool]:
    """As `comparer`, for two fixed types and a literal on the right, whose form is computed once."""
    compare, form, literal_steps = OPERATORS[operator], FORMS[how], text_steps(literal)
    formed = form(literal)

    def with_literal(context: EvaluationContext, value: Any) -> bool:
        context.charge(text_steps(value) + literal_steps, at)
        return compare(form(value), formed)

    return with_literal


def time_function(node: TimeFunction) -> Run:
    """A moment, or whether a recurring window is open. The texts of the arguments were checked."""
    texts = [str(argument.value) for argument in node.arguments]
    if node.function == "Timestamp":
        moment = timestamp(*texts)
        return lambda _: moment
    span = cron_span(*texts)

    def is_open(context: EvaluationContext) -> bool:
        context.charge(_CRON_STEPS, node.at)
        return span.is_open(context.values["time"]["now"])

    return is_open
