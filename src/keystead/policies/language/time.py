"""Time in policies: moments, and recurring windows in a time zone.

Here: reading `Timestamp` and `CronSpan`, and whether a window is open at a given moment. The moment is always an
argument. Moments are integers, nanoseconds since the epoch. Not here: the evaluation of policies (`evaluator`).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from datetime import UTC, date, datetime, timedelta
from functools import partial
from zoneinfo import ZoneInfo

import msgspec

_SECOND = 1_000_000_000
_DURATION_MAX = timedelta(days=7)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = timedelta(days=1)

_MOMENT = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,9}))?([Zz]|[+-][0-9]{2}:[0-9]{2})"
)
_ZERO_OFFSETS = frozenset({"Z", "z", "+00:00", "-00:00"})
_DURATION = re.compile(r"(?:([0-9]{1,6})d)?(?:([0-9]{1,6})h)?(?:([0-9]{1,6})m)?")
_ZONE = re.compile(r"[A-Za-z0-9_+-]{1,40}(?:/[A-Za-z0-9_+-]{1,40}){0,3}")
_NO_ZONES = frozenset({"localtime", "posixrules", "Factory", "posix", "right"})
"""Files of a zone database whose meaning depends on the machine, or that count leap seconds."""

_CRON_FIELDS = (("minute", 0, 59), ("hour", 0, 23), ("day", 1, 31), ("month", 1, 12), ("weekday", 0, 6))
_LONGEST_MONTHS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


class TimeRefused(ValueError):
    """A text that is not a moment or a window. `argument`: the number of the wrong argument, from 0."""

    def __init__(self, reason: str, argument: int = 0) -> None:
        super().__init__(reason)
        self.argument = argument


def timestamp(text: str) -> int:
    """The moment that an RFC 3339 text with offset zero names. Raises TimeRefused."""
    match = _MOMENT.fullmatch(text)
    if match is None:
        raise TimeRefused(f"expected a timestamp such as 2026-09-01T06:00:00Z, found '{text[:40]}'")
    if match[8] not in _ZERO_OFFSETS:
        raise TimeRefused(f"expected a timestamp in UTC, ending in Z or +00:00, found '{text}'")
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    try:
        moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError as refused:
        raise TimeRefused(f"no such date or time: '{text}': {refused}") from None
    return (moment - _EPOCH) // timedelta(seconds=1) * _SECOND + int((match[7] or "").ljust(9, "0"))


class CronSpan(msgspec.Struct, frozen=True):
    """A window that opens whenever the cron expression fires and stays open for `duration` of elapsed time.

    `minutes` are the minutes of a day, ascending, at which it fires on a day that matches.
    """

    minutes: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either_day: bool
    duration: timedelta
    zone: ZoneInfo

    def is_open(self, now: int) -> bool:
        """Whether the window that opened last is still open at this moment."""
        moment = _EPOCH + timedelta(microseconds=now // 1000)
        opened = self._last_opening(moment)
        return opened is not None and moment - opened < self.duration

    def _last_opening(self, moment: datetime) -> datetime | None:
        """The latest time at or before `moment` at which the window opened. Openings whose window must be closed by
        now are not searched.

        A clock that is set back across midnight repeats the end of a day after the next day has begun. Therefore
        the search begins one day later, and ends one day earlier.
        """
        day = moment.astimezone(self.zone).date() + _DAY
        earliest = (moment - self.duration).astimezone(self.zone).date() - _DAY
        while day >= earliest:
            if self._fires_on(day):
                # Later minutes never fire earlier, so the day's firings are in order.
                fired = bisect_right(self.minutes, moment, key=partial(_instant, self.zone, day))
                if fired:
                    return _instant(self.zone, day, self.minutes[fired - 1])
            day -= _DAY
        return None

    def _fires_on(self, day: date) -> bool:
        if day.month not in self.months:
            return False
        by_day, by_weekday = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return by_day or by_weekday if self.either_day else by_day and by_weekday


def _instant(zone: ZoneInfo, day: date, minute: int) -> datetime:
    """The moment at which a zone's clock shows this minute of this day.

    If the clock shows the time twice, it is the first one; if the clock skips it, the first moment after the gap.
    """
    local = datetime(day.year, day.month, day.day, minute // 60, minute % 60, tzinfo=zone)
    instant = local.astimezone(UTC)
    if instant.astimezone(zone).replace(tzinfo=None) == local.replace(tzinfo=None):
        return instant
    # In the gap: at some moment between these two, the offset changes.
    before, after = local.replace(fold=1).astimezone(UTC), instant
    offset = before.astimezone(zone).utcoffset()
    second = timedelta(seconds=1)
    while after - before > second:
        middle = before + (after - before) // second // 2 * second
        if middle.astimezone(zone).utcoffset() == offset:
            before = middle
        else:
            after = middle
    return after


def cron_span(cron: str, duration: str, zone: str) -> CronSpan:
    """The recurring window of these three texts. Raises TimeRefused."""
    fields = cron.split()
    if len(fields) != len(_CRON_FIELDS):
        raise TimeRefused(f"expected five fields, minute hour day month weekday, found '{cron[:80]}'")
    minutes, hours, days, months, weekdays = (
        _cron_field(text, *limits) for text, limits in zip(fields, _CRON_FIELDS, strict=True)
    )
    either_day = fields[2] != "*" and fields[4] != "*"
    if fields[4] == "*" and not any(min(days) <= _LONGEST_MONTHS[month - 1] for month in months):
        raise TimeRefused(f"'{cron}' never fires: no month in it has such a day")
    return CronSpan(
        minutes=tuple(sorted(hour * 60 + minute for hour in hours for minute in minutes)),
        days=days,
        months=months,
        weekdays=weekdays,
        either_day=either_day,
        duration=_duration(duration),
        zone=_zone(zone),
    )


def _cron_field(text: str, name: str, lowest: int, highest: int) -> frozenset[int]:
    if text == "*":
        return frozenset(range(lowest, highest + 1))
    values: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.partition("-")
        bounds = (first, last if dash else first)
        if not all(bound.isascii() and bound.isdigit() and len(bound) <= 2 for bound in bounds):
            raise TimeRefused(f"field {name}: expected `*`, numbers, ranges a-b or lists a,b, found '{text}'")
        low, high = int(bounds[0]), int(bounds[1])
        if not lowest <= low <= high <= highest:
            raise TimeRefused(f"field {name}: expected {lowest} to {highest}, in ascending order, found '{text}'")
        values.update(range(low, high + 1))
    return frozenset(values)


def _duration(text: str) -> timedelta:
    match = _DURATION.fullmatch(text)
    if match is None or not text:
        raise TimeRefused(f"expected a duration such as 90m, 8h or 1d12h, found '{text}'", 1)
    days, hours, minutes = (int(part or 0) for part in match.groups())
    duration = timedelta(days=days, hours=hours, minutes=minutes)
    if not timedelta(0) < duration <= _DURATION_MAX:
        raise TimeRefused(f"expected a duration above zero and up to 7d, found '{text}'", 1)
    return duration


def _zone(name: str) -> ZoneInfo:
    """The zone of this name. Raises TimeRefused, also for a name that could be read as a path."""
    if _ZONE.fullmatch(name) and name.split("/")[0] not in _NO_ZONES:
        try:
            return ZoneInfo(name)
        except (KeyError, ValueError, OSError):
            pass
    raise TimeRefused(f"expected the name of a time zone such as Europe/Berlin, found '{name[:80]}'", 2)
