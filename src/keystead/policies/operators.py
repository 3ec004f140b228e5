"""What each operator of the language does with the values of its operands.

Here: members and items, equality and order, all and any. Not here: in which order a tree is walked (`evaluation`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

from keystead.policies.frame import EvaluationError, EvaluationFailed, Frame, StepsExceeded
from keystead.policies.syntax import Field, Index, Name, Node, Place, Slice, TimeFunction, spelled
from keystead.policies.time import cron_span, timestamp
from keystead.policies.types import Comparison as How
from keystead.policies.types import Scalar, Type, named
from keystead.policies.values import FORMS, OPERATORS, Incomparable, dynamic_pair, fits, is_integer, is_list

_CRON_STEPS = 100

Run = Callable[[Frame], Any]
Settle = Callable[[Frame, Iterable[Run], bool], bool]


def fail(reason: str, at: Place) -> NoReturn:
    raise EvaluationFailed(EvaluationError(reason, at))


def reader(node: Node, kind: Type) -> Callable[[Any], Any]:
    """Passes on a value that a request gives for a node; one that is absent or no value of the type fails."""
    fitting = fits(kind)
    absent = EvaluationError(f"{spelled(node)} is absent", node.at)

    def read(value: Any) -> Any:
        if fitting(value):
            return value
        # Policies over transactions meet this with every other activity, so it costs as little as it can.
        if value is None:
            raise EvaluationFailed(absent)
        if kind is Scalar.INT and is_integer(value):
            fail(f"{spelled(node)} is beyond the range of integers, 128 bit", node.at)
        fail(f"{spelled(node)} is not {named(kind)}", node.at)

    return read


def text_steps(value: Any) -> int:
    """What it costs further to compare this value."""
    return len(value) >> 6 if isinstance(value, str) else 0


def charge_texts(frame: Frame, at: Place, left: Any, right: Any) -> None:
    frame.charge(text_steps(left) + text_steps(right), at)


def settled(frame: Frame, runs: Iterable[Run], deciding: bool) -> bool:
    """Whether all are true (false being the deciding value) or any is (true being it). All of them are run."""
    decided = False
    for run in runs:
        if run(frame) is deciding:
            decided = True
    return deciding if decided else not deciding


def weighed(frame: Frame, runs: Iterable[Run], deciding: bool) -> bool:
    """The same, but one that decides outweighs those that fail."""
    decided, failed = False, None
    for run in runs:
        try:
            if run(frame) is deciding:
                decided = True
        except StepsExceeded:
            raise
        except EvaluationFailed as failure:
            failed = failed or failure
    if failed is not None and not decided:
        raise failed
    return deciding if decided else not deciding


def at_path(path: Sequence[Name | Field], fitting: Callable[[Any], bool], read: Callable[[Any], Any]) -> Run:
    """What stands at the end of a path from a keyword. Most of what policies read does, so this is kept quick."""
    names = tuple(step.name for step in path)
    absent = [EvaluationError(f"{spelled(step)} is absent", step.at) for step in path]

    def at_end(frame: Frame) -> Any:
        value: Any = frame.namespaces
        reached = 0
        try:
            for name in names:
                value = value[name]
                reached += 1
        except (KeyError, TypeError, IndexError):
            value = None
        if fitting(value):
            return value
        if reached < len(names):
            raise EvaluationFailed(absent[reached])
        return read(value)

    return at_end


def at_name(node: Index, holder: Any, name: str) -> Any:
    """What a map holds under a name."""
    try:
        return holder[name]
    except (KeyError, TypeError, IndexError):
        fail(f"{spelled(node.of)}['{name[:80]}'] is absent", node.at)


def at_position(node: Index, holder: Any, index: Any) -> Any:
    """An item of a list, or a character of a string."""
    if not (is_list(holder) or isinstance(holder, str)):
        fail(f"{spelled(node.of)} is neither a list nor a string", node.at)
    if not is_integer(index):
        fail(f"{spelled(node.index)} is not an integer", node.index.at)
    if not 0 <= index < len(holder):
        fail(f"{spelled(node.of)}[{_position(index)}] is out of range: its length is {len(holder)}", node.at)
    return holder[index]


def _position(index: int) -> str:
    # A request may hold a number of any length, and Python refuses to print the longest.
    return str(index) if abs(index) < 2**64 else "…"


def sliced(node: Slice, frame: Frame, holder: Any, start: Any, end: Any) -> Any:
    """A part of a list or a string, which must lie within it."""
    if not (is_list(holder) or isinstance(holder, str)):
        fail(f"{spelled(node.of)} is neither a list nor a string", node.at)
    if not (is_integer(start) and is_integer(end)):
        fail("the bounds of a slice are not integers", node.at)
    if not 0 <= start <= end <= len(holder):
        bounds = f"{_position(start)}..{_position(end)}"
        fail(f"{spelled(node.of)}[{bounds}] is out of range: its length is {len(holder)}", node.at)
    frame.charge(end - start if is_list(holder) else (end - start) >> 6, node.at)
    return holder[start:end]


def compared(how: How, operator: str, at: Place) -> Callable[[Frame, Any, Any], bool]:
    """A comparison of two values, charged for the texts among them."""
    compare = OPERATORS[operator]
    if how is How.DYNAMIC:
        ordered = operator not in ("==", "!=")

        def dynamic(frame: Frame, left: Any, right: Any) -> bool:
            charge_texts(frame, at, left, right)
            try:
                return compare(*dynamic_pair(left, right, ordered=ordered))
            except Incomparable as refused:
                fail(str(refused), at)

        return dynamic
    form = FORMS[how]

    def static(frame: Frame, left: Any, right: Any) -> bool:
        charge_texts(frame, at, left, right)
        return compare(form(left), form(right))

    return static


def compared_with(how: How, operator: str, literal: Any, at: Place) -> Callable[[Frame, Any], bool]:
    """`compared`, for types that are fixed, with what stands in the expression itself: its form is found once."""
    compare, form, literal_steps = OPERATORS[operator], FORMS[how], text_steps(literal)
    formed = form(literal)

    def with_literal(frame: Frame, value: Any) -> bool:
        frame.charge(text_steps(value) + literal_steps, at)
        return compare(form(value), formed)

    return with_literal


def time_function(node: TimeFunction) -> Run:
    texts = [str(argument.value) for argument in node.arguments]
    if node.function == "Timestamp":
        moment = timestamp(*texts)
        return lambda _: moment
    span = cron_span(*texts)

    def is_open(frame: Frame) -> bool:
        frame.charge(_CRON_STEPS, node.at)
        return span.is_open(frame.namespaces["time"]["now"])

    return is_open
