"""The activities that a DENY policy might be meant for, and that lack a keyword which its condition names. It then
denies nothing.

Not here: how that is found (`condition_analysis`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from keystead.policies.activity_shapes import ACTIVITY_SHAPES, ActivityShapes
from keystead.policies.linting.condition_analysis import AnalysisResult, ConditionAnalysis
from keystead.policies.resources import GOVERNED_KINDS

NAMED_MAX = 6
"""How many kinds of activity, or paths, one warning names."""


def lacking_activities(analysis: ConditionAnalysis, result: AnalysisResult) -> Iterator[str]:
    """Where the analyzed condition lacks a keyword and is not false, as text that continues "it denies nothing"."""
    shapes = ACTIVITY_SHAPES
    unsafe = result.lacking & ~result.false & shapes.governed
    if unsafe == shapes.governed:
        yield f", because no activity has all of the keywords that it names: {_join(analysis.absent)}"
        return
    for path, absent in analysis.absent.items():
        if absent & unsafe:
            yield f" where {path} is absent: {_kinds_text(shapes, absent & unsafe)}"


def _join(keywords: Iterable[str]) -> str:
    listed = list(keywords)
    more = f" and {len(listed) - NAMED_MAX} more" if len(listed) > NAMED_MAX else ""
    return ", ".join(listed[:NAMED_MAX]) + more


def _kinds_text(shapes: ActivityShapes, unsafe: int) -> str:
    """The kinds of activity in a set of shapes, in few words."""
    whole, partly = shapes.kinds_in(unsafe)
    spared = GOVERNED_KINDS.keys() - whole - partly
    some = [f"some forms of {kind}" for kind in sorted(partly)]
    if len(whole) > NAMED_MAX and len(spared) <= NAMED_MAX and len(some) <= NAMED_MAX:
        but = f" but {', '.join(sorted(spared))}" if spared else ""
        return " and ".join([f"every kind of activity{but}", *([", ".join(some)] if some else [])])
    kinds = [*some, *sorted(whole)]
    more = f" and {len(kinds) - NAMED_MAX} more kinds of activity" if len(kinds) > NAMED_MAX else ""
    return ", ".join(kinds[:NAMED_MAX]) + more
