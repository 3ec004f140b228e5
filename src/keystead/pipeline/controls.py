"""The velocity controls of an organization, as one decision reads them, and what its commit adds to them.

Here: reading the counters, the values of `controls.<identifier>`, the additions. Not here: what an activity adds
(`organizations.velocity.measures`), the check in the transaction (`storage.counting`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, assert_never

import msgspec

from keystead.api.enums import AggregationOperator
from keystead.chains.outflow import SignedMovements
from keystead.organizations.organization import Organization
from keystead.organizations.velocity.counters import (
    NOTHING_COUNTED,
    Counted,
    CounterState,
    Reliance,
    compares,
    counter_id,
)
from keystead.organizations.velocity.measures import Measure, measure_of
from keystead.pipeline.context import ContextReads
from keystead.primitives.unreadable import Unreadable


class ControlReading(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """One control and one activity. `asked`: what the activity adds; None if it does not count. `state`: of the
    counter of the activity's `group`, at `now_ms`."""

    measure: Measure
    group: str
    state: CounterState
    asked: int | Unreadable | None
    now_ms: int

    @property
    def used(self) -> int:
        return self.state.used(self.measure.window_ms)

    @property
    def remaining(self) -> int:
        return max(0, self.measure.threshold - self.used)

    @property
    def frees_at_ms(self) -> int | None:
        """When the first amount leaves the window; None if nothing will."""
        first = self.state.first_at_ms
        return None if first is None else first + self.measure.window_ms

    @cached_property
    def value(self) -> bool | Unreadable:
        """`controls.<identifier>`: the sum with this activity, compared with the threshold."""
        if isinstance(self.asked, Unreadable):
            return self.asked
        return compares(self.measure.operator, self.used + (self.asked or 0), self.measure.threshold)

    @property
    def is_reached(self) -> bool:
        """Whether the activity is beyond the limit, or nobody can tell."""
        above = self.measure.operator in (
            AggregationOperator.GREATER_THAN,
            AggregationOperator.GREATER_THAN_OR_EQUAL,
        )
        return self.value is not (not above)

    def counted(self, organization_id: str, *, relied_on: bool) -> Counted | None:
        """What a commit of the activity adds. An amount that nobody can read cannot be added; a decision that read
        it was not allowed by it."""
        value, asked = self.value, self.asked if isinstance(self.asked, int) else 0
        relied = relied_on and isinstance(value, bool)
        if not asked and not relied:
            return None
        measure = self.measure
        reliance = Reliance(measure.operator, measure.threshold, holds=value is True) if relied else None
        return Counted(
            organization_id=organization_id,
            counter_id=counter_id(measure.control.velocity_control_id, self.group),
            window_ms=measure.window_ms,
            at_ms=self.now_ms,
            amount=asked,
            relied_on=reliance,
        )

    def details(self) -> dict[str, str]:
        """The reading for the caller of a denied request."""
        measure, control = self.measure, self.measure.control
        told = {
            "velocityControlId": control.velocity_control_id,
            "identifier": control.identifier,
            "used": measure.text(self.used),
            "threshold": control.aggregation.threshold,
            "remaining": measure.text(self.remaining),
        }
        if isinstance(self.asked, int):
            told["asked"] = measure.text(self.asked)
        elif self.asked is not None:
            told["unknown"] = self.asked.reason
        if self.frees_at_ms is not None:
            told["freesAt"] = rfc3339(self.frees_at_ms)
        return told

    def sentence(self) -> str:
        """The reading in words."""
        measure, control = self.measure, self.measure.control
        limit = f"{_WORDS[measure.operator]} {control.aggregation.threshold}{_window_words(measure.window_ms)}"
        of = f"Velocity control {control.name!r} ({control.identifier}): {limit}; {measure.text(self.used)} is used"
        match self.asked:
            case Unreadable(reason=reason):
                of += f", how much this activity adds is unknown ({reason})"
            case int(asked):
                of += f", this activity adds {measure.text(asked)}"
            case None:
                of += ", this activity does not count"
            case _:
                assert_never(self.asked)
        of += f", {measure.text(self.remaining)} remains"
        if self.frees_at_ms is not None:
            of += f", and the first amount leaves the window at {rfc3339(self.frees_at_ms)}"
        return of + "."


_WORDS: Mapping[AggregationOperator, str] = {
    AggregationOperator.LESS_THAN: "less than",
    AggregationOperator.LESS_THAN_OR_EQUAL: "at most",
    AggregationOperator.EQUAL: "exactly",
    AggregationOperator.GREATER_THAN_OR_EQUAL: "at least",
    AggregationOperator.GREATER_THAN: "more than",
}

_UNITS = ((86_400, "days", "day"), (3_600, "hours", "hour"), (60, "minutes", "minute"))


def _window_words(window_ms: int) -> str:
    seconds = window_ms // 1000
    if not seconds:
        return ""
    for unit, several, one in _UNITS:
        if seconds % unit == 0 and (seconds // unit > 1 or unit == 60):
            return f" in {seconds // unit} {several if seconds // unit > 1 else one}"
    return f" in {seconds} {'seconds' if seconds > 1 else 'second'}"


def rfc3339(epoch_ms: int) -> str:
    moment = datetime.fromtimestamp(epoch_ms / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Controls(Mapping[str, Any]):
    """The readings by identifier, as values of the policy language. It notes which of them a decision read: the
    commit depends on these."""

    def __init__(self, organization_id: str, readings: Sequence[ControlReading]) -> None:
        self.organization_id = organization_id
        self.readings = {reading.measure.control.identifier: reading for reading in readings}
        self._read: dict[str, None] = {}

    def __getitem__(self, identifier: str) -> bool | Unreadable:
        value = self.readings[identifier].value
        self._read[identifier] = None
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self.readings)

    def __len__(self) -> int:
        return len(self.readings)

    def explained(self, identifier: str) -> str:
        """How much of a control is used, asked and left, in words."""
        reading = self.readings.get(identifier)
        return "there is no such control" if reading is None else reading.sentence()

    @property
    def read(self) -> list[ControlReading]:
        """Those that a decision read, in the order in which it did."""
        return [self.readings[identifier] for identifier in self._read]

    def counted(self) -> tuple[Counted, ...]:
        """What the commit of the activity adds to the counters."""
        added = [
            reading.counted(self.organization_id, relied_on=identifier in self._read)
            for identifier, reading in self.readings.items()
        ]
        return tuple([each for each in added if each is not None])


async def controls_of(
    organization: Organization,
    activity_type: str,
    submitter_id: str,
    wallet_id: str,
    signed: SignedMovements | None,
    named: Set[str] | None,
    store: ContextReads,
    now_ms: int,
) -> Controls | None:
    """The controls of an organization by which an activity counts, and those that are `named`; None for all of
    them. The result is None if there are none: then nothing is read.

    `wallet_id`: of the wallet or private key that the activity uses; "" for neither. `signed`: what it signs.
    """
    asked = []
    for control in organization.velocity_controls.in_order():
        measure = measure_of(control)
        amount = measure.added_by(activity_type, signed)
        if amount is not None or named is None or control.identifier in named:
            group = measure.group(submitter_id, wallet_id)
            asked.append((measure, group, amount, counter_id(control.velocity_control_id, group)))
    if not asked:
        return None
    states = await store.attached.counters(organization.id, [id_ for *_, id_ in asked], now_ms)
    return Controls(
        organization.id,
        [
            ControlReading(
                measure=measure,
                group=group,
                state=states.get(id_, NOTHING_COUNTED),
                asked=amount,
                now_ms=now_ms,
            )
            for measure, group, amount, id_ in asked
        ],
    )
