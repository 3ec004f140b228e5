"""The budget of a piece of work on policies: steps of evaluations, or characters of expressions.

Here: the value that is handed down to each part of the work. Not here: what the work does when it is spent: what
was not evaluated is unknown (`evaluation_context`)."""

from __future__ import annotations


class Budget:
    """The units that are left, shared by all parts of one piece of work. Below zero, a part has needed more."""

    __slots__ = ("left",)

    def __init__(self, units: int) -> None:
        self.left = units

    @property
    def is_exceeded(self) -> bool:
        """Whether a part of the work has needed more than was left."""
        return self.left < 0

    def spend(self, units: int) -> bool:
        """Take units for one part. Returns whether there were enough."""
        self.left -= units
        return self.left >= 0

    def settle(self, given: int, left: int) -> None:
        """Take what an evaluation used of the steps that it was given. `left`: below zero if it needed more."""
        if left < 0 and given < self.left:
            left = 0  # it was stopped by its own bound, not by this budget
        self.left -= given - left
