"""The activities on which the condition of a DENY policy fails although the policy might apply. It then denies
nothing.

Not here: how that is found (`condition_analysis`), the setting that lets such a policy deny (`evaluator`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from keystead.policies.activity_shapes import ACTIVITY_SHAPES, ActivityShapes
from keystead.policies.grammar import parse
from keystead.policies.linting.condition_analysis import AnalysisResult, ConditionAnalysis
from keystead.policies.syntax import ExpressionRefused

NAMED_MAX = 6
"""How many kinds of activity, or paths, one warning names."""


def is_settled_by_type(condition: str, activity_type: str) -> bool:
    """Whether the condition of a DENY policy is false for every activity of this type, whatever its other
    values."""
    try:
        tree = parse(condition)
    except ExpressionRefused:
        return False
    of_type = ACTIVITY_SHAPES.known["activity.type"].get(activity_type, 0)
    result = ConditionAnalysis(ACTIVITY_SHAPES, all_versions=True).of(tree)
    return of_type != 0 and of_type & ~result.false == 0


def failing_activities(analysis: ConditionAnalysis, result: AnalysisResult) -> Iterator[str]:
    """Where the analyzed condition fails and is not false, as text that continues "it denies nothing"."""
    shapes = ACTIVITY_SHAPES
    unsafe = result.fails & ~result.false
    if unsafe == shapes.all_shapes:
        yield f", because its condition fails on every activity: {_join(analysis.absent)} is absent"
        return
    for path, absent in analysis.absent.items():
        if absent & unsafe:
            yield f" where its condition fails because {path} is absent: {_kinds_text(shapes, absent & unsafe)}"
    if analysis.optional and result.false != shapes.all_shapes:
        yield f" where its condition fails because {_join(analysis.optional)} is absent or out of range"


def _join(texts: Iterable[str]) -> str:
    """The texts joined by "or", without those that are the beginning of another text: of a.b and a.b[…], only
    a.b[…]."""
    all_texts = list(texts)
    listed = [text for text in all_texts if not any(other.startswith(f"{text}[") for other in all_texts)]
    more = f" or {len(listed) - NAMED_MAX} more" if len(listed) > NAMED_MAX else ""
    return " or ".join(listed[:NAMED_MAX]) + more


def _kinds_text(shapes: ActivityShapes, unsafe: int) -> str:
    """The kinds of activity in a set of shapes, in few words."""
    whole, partly = shapes.kinds_in(unsafe)
    spared = frozenset(shape.kind for shape in shapes.shapes) - whole - partly
    some = [f"some forms of {kind}" for kind in sorted(partly)]
    if len(whole) > NAMED_MAX and len(spared) <= NAMED_MAX and len(some) <= NAMED_MAX:
        but = f" but {', '.join(sorted(spared))}" if spared else ""
        return " and ".join([f"every kind of activity{but}", *([", ".join(some)] if some else [])])
    kinds = [*some, *sorted(whole)]
    more = f" and {len(kinds) - NAMED_MAX} more kinds of activity" if len(kinds) > NAMED_MAX else ""
    return ", ".join(kinds[:NAMED_MAX]) + more
