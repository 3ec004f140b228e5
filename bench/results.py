"""What was measured, as values: a figure with its case, and the figure that it is compared with.

Not here: measuring (`measuring`), which figures are taken (`run`), printing (`report`).
"""

from __future__ import annotations

from typing import Literal

import msgspec

from bench.measuring import Figures

StoreName = Literal["sqlite", "postgres"]

COMPARED_LEAST = 0.9
"""The least share of a figure in the one that it is compared with, unless its baseline says otherwise."""


class Baseline(msgspec.Struct, frozen=True):
    """The figure that another is compared with, since both were measured in turns.

    `least`: the target of the other's share as a share of this one; None if there is no target.
    """

    what: str
    share: float
    least: float | None = COMPARED_LEAST


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """`asked`: of which organizations requests were, or what the one organization holds, if that sets it apart.

    `workers`: processes of one server, or servers of one process each.
    """

    case: str
    store: StoreName | Literal["memory"]
    workers: int
    organizations: int
    asked: str = ""
    figures: Figures
    baseline: Baseline | None = None
