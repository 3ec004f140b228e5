"""The results: figures with their case, and the figure that each is compared with.

Not here: measuring (`measuring`), which figures are measured (`run`), printing (`report`).
"""

from __future__ import annotations

from typing import Literal

import msgspec

from bench.measuring import Figures

StoreName = Literal["sqlite", "postgres"]

COMPARED_LEAST = 0.9
"""The least ratio of a figure to the one that it is compared with, unless its baseline has another."""


class Baseline(msgspec.Struct, frozen=True):
    """The figure that another one is compared with. Both were measured in turns.

    `least`: the target of the ratio of the two shares; None if there is no target.
    """

    what: str
    share: float
    least: float | None = COMPARED_LEAST


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """`asked`: the organizations of the requests, or what the one organization has, if that distinguishes it.

    `workers`: processes of one server, or servers with one process each.
    """

    case: str
    store: StoreName | Literal["memory"]
    workers: int
    organizations: int
    asked: str = ""
    figures: Figures
    baseline: Baseline | None = None
