"""The operators of the language, on the values of their operands.

Here: members and items, equality and order, and which of their results are unknown. Not here: in which order a tree
is evaluated (`compiler`), all and any (`three_valued`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NoReturn

from keystead.api.catalogue import activity_kind
from keystead.policies.language import values
from keystead.policies.language.evaluation_context import EvaluationContext, OtherVersion, Run, ValueUnknown
from keystead.policies.language.syntax import Field, Index, Literal, Name, Node, Place, Slice, TimeFunction, spelled
from keystead.policies.language.three_valued import require_certain
from keystead.policies.language.time import cron_span, timestamp
from keystead.policies.language.types import ComparisonKind, Type, type_name
from keystead.primitives.unreadable import Unreadable

_CRON_STEPS = 100


def fail(reason: str, at: Place) -> NoReturn:
    """Fail because the value is absent, or cannot be read as the expression requires."""
    raise ValueUnknown(reason, at)


def reader(node: Node, kind: Type) -> Callable[[Any], Any]:
    """A function from the value that a request has for a node to the same value. It fails if the value is
    unreadable, absent or of another type."""
    fitting, path = values.fits(kind), spelled(node)

    def read(value: Any) -> Any:
        if fitting(value):
            return value
        if isinstance(value, Unreadable):
            raise ValueUnknown(f"{path} is unknown: {value.reason}", node.at, node, value.literal)
        if value is None:
            fail(f"{path} is absent", node.at)
        fail(f"{path} is not {type_name(kind)}", node.at)

    return read


def equals_literal(failed: ValueUnknown, node: Node, literals: Collection[Any]) -> bool:
    """Whether the unreadable value of `node` equals one of these literals: True if its own is among them, a number
    also if it is quoted. Otherwise that is unknown, and the failure is raised again."""
    if failed.node is node and failed.literal is not None:
        quoted = str(failed.literal) if isinstance(failed.literal, int) else failed.literal
        if failed.literal in literals or quoted in literals:
            return True
    raise failed


def text_steps(value: Any) -> int:
    """The further steps that a comparison of this value takes: one for every 64 characters of a text."""
    return len(value) >> 6 if isinstance(value, str) else 0


def charge_texts(context: EvaluationContext, at: Place, left: Any, right: Any) -> None:
    context.charge(text_steps(left) + text_steps(right), at)


def at_path(path: Sequence[Name | Field], fitting: Callable[[Any], bool], read: Callable[[Any], Any]) -> Run:
    """The value at the end of a path from a keyword. Most values that policies read are read this way, so it must
    be fast."""
    names = tuple(step.name for step in path)

    def at_end(context: EvaluationContext) -> Any:
        value: Any = context.values
        reached = 0
        try:
            for name in names:
                value = value[name]
                reached += 1
        except (KeyError, TypeError):
            _fail_inside(path[reached - 1], value, path[reached])
        return value if fitting(value) else read(value)

    return at_end


def _fail_inside(of: Node, holder: Any, field: Name | Field) -> NoReturn:
    """Fail to read a field of a value, because the value is unreadable, lacks the field or has no fields."""
    if isinstance(holder, Unreadable):
        fail(f"{spelled(of)} is unknown: {holder.reason}", of.at)
    if holder is None or isinstance(holder, Mapping):
        fail(f"{spelled(of if holder is None else field)} is absent", field.at)
    fail(f"{spelled(of)} has no fields", field.at)


def field_of(node: Field, holder: Any) -> Any:
    """The value of a struct's field; None if it lacks the field."""
    if not isinstance(holder, Mapping):
        fail(f"{spelled(node.of)} has no fields", node.at)
    return holder.get(node.name)


def at_name(node: Index, holder: Any, name: str) -> Any:
    """The value of a map under a key."""
    if not isinstance(holder, Mapping):
        fail(f"{spelled(node.of)} is not a map", node.at)
    if name not in holder:
        fail(f"{spelled(node.of)}['{name[:80]}'] is absent", node.at)
    return holder[name]


def at_position(node: Index, holder: Any, index: Any) -> Any:
    """An item of a list, or a character of a string."""
    if not (values.is_list(holder) or isinstance(holder, str)):
        fail(f"{spelled(node.of)} is neither a list nor a string", node.at)
    if not values.is_integer(index):
        fail(f"{spelled(node.index)} is not an integer", node.index.at)
    if not 0 <= index < len(holder):
        fail(f"{spelled(node.of)}[{_position(index)}] is out of range: its length is {len(holder)}", node.at)
    if values.is_list(holder):
        require_certain(holder, index + 1)
    return holder[index]


def _position(index: int) -> str:
    # A request may hold a number of any length, and Python refuses to print the longest.
    return str(index) if abs(index) < 2**64 else "…"


def slice_of(node: Slice, context: EvaluationContext, holder: Any, start: Any, end: Any) -> Any:
    """A part of a list or a string, which must lie within it."""
    if not (values.is_list(holder) or isinstance(holder, str)):
        fail(f"{spelled(node.of)} is neither a list nor a string", node.at)
    if not (values.is_integer(start) and values.is_integer(end)):
        fail("the bounds of a slice are not integers", node.at)
    if not 0 <= start <= end <= len(holder):
        bounds = f"{_position(start)}..{_position(end)}"
        fail(f"{spelled(node.of)}[{bounds}] is out of range: its length is {len(holder)}", node.at)
    if values.is_list(holder):
        context.charge(end - start, node.at)
        require_certain(holder, end)
    else:
        context.charge((end - start) >> 6, node.at)
    return holder[start:end]


def comparer(
    how: ComparisonKind, operator: str, at: Place, *operands: Node
) -> Callable[[EvaluationContext, Any, Any], bool]:
    """A comparison of the values of two operands, charged for the texts among them."""
    compare = values.OPERATORS[operator]
    paths = [spelled(operand) for operand in operands if not isinstance(operand, Literal)]
    named = " and ".join(path for path in paths if not path.startswith("("))
    if how is ComparisonKind.DYNAMIC:
        ordered = operator not in ("==", "!=")
        return _pair_comparer(
            compare, lambda left, right: values.dynamic_pair(left, right, ordered=ordered), at, named
        )
    if how is ComparisonKind.ACTIVITY_TYPE:
        return _type_comparer(compare, at)
    form = values.FORMS[how]

    def static(context: EvaluationContext, left: Any, right: Any) -> bool:
        charge_texts(context, at, left, right)
        return compare(form(left), form(right))

    return static


def _type_comparer(compare: Callable[[Any, Any], bool], at: Place) -> Callable[[EvaluationContext, Any, Any], bool]:
    """A comparison of activity types. Whether two versions of one kind are equal is unknown.

    An expression that names one version means this version alone where it allows, and the kind, however it is
    spelled, where it denies. Unknown is both: it does not allow, and it denies.
    """

    def compared(context: EvaluationContext, left: str, right: str) -> bool:
        charge_texts(context, at, left, right)
        if left != right and activity_kind(left) == activity_kind(right):
            raise OtherVersion(f"{left} and {right} are two versions of {activity_kind(left)}", at)
        return compare(left, right)

    return compared


def _pair_comparer(
    compare: Callable[[Any, Any], bool],
    pair: Callable[[Any, Any], tuple[Any, Any]],
    at: Place,
    named: str,
) -> Callable[[EvaluationContext, Any, Any], bool]:
    """A comparison of values whose types the request decides. It fails if they do not compare."""

    def compared(context: EvaluationContext, left: Any, right: Any) -> bool:
        charge_texts(context, at, left, right)
        try:
            return compare(*pair(left, right))
        except values.Incomparable as refused:
            fail(f"{named}: {refused}" if named else str(refused), at)

    return compared


def literal_comparer(
    how: ComparisonKind, operator: str, literal: Any, at: Place
) -> Callable[[EvaluationContext, Any], bool]:
    """As `comparer`, for two fixed types and a literal on the right, whose form is computed once."""
    compare, form, literal_steps = values.OPERATORS[operator], values.FORMS[how], text_steps(literal)
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
