"""Moments and recurring windows, also in nights in which clocks are changed."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from keystead.policies.language.time import TimeRefused, cron_span, timestamp
from tests.support.hanging import not_hanging


def moment(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp() * 1000) * 1_000_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01t00:00:01z", 1_000_000_000),
        ("1969-12-31T23:59:59.5-00:00", -500_000_000),
        ("2026-09-01T06:00:00.123456789+00:00", 1_788_242_400_123_456_789),
        ("0001-01-01T00:00:00Z", -62_135_596_800_000_000_000),
        ("9999-12-31T23:59:59Z", 253_402_300_799_000_000_000),
    ],
)
def test_timestamp(text: str, expected: int) -> None:
    assert timestamp(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-09-01",
        "2026-09-01T06:00Z",
        "2026-09-01 06:00:00Z",
        "2026-09-01T06:00:00",
        "2026-09-01T06:00:00+02:00",
        "2026-09-01T06:00:00+0000",
        "2026-09-01T06:00:00.Z",
        "2026-09-01T06:00:00.1234567890Z",
        "2026-13-01T06:00:00Z",
        "2026-02-29T06:00:00Z",
        "2026-09-01T24:00:00Z",
        "2026-09-01T06:00:60Z",
        "0000-09-01T06:00:00Z",
        "2026-09-01T06:00:00Z ",
        "٢٠٢٦-09-01T06:00:00Z",
    ],
)
def test_timestamp_refused(text: str) -> None:
    with pytest.raises(TimeRefused):
        timestamp(text)


@pytest.mark.parametrize(
    ("cron", "duration", "zone", "argument", "reason"),
    [
        ("", "1h", "UTC", 0, "five fields"),
        ("* * * *", "1h", "UTC", 0, "five fields"),
        ("* * * * * *", "1h", "UTC", 0, "five fields"),
        ("@daily", "1h", "UTC", 0, "five fields"),
        ("*/5 * * * *", "1h", "UTC", 0, "field minute"),
        ("60 * * * *", "1h", "UTC", 0, "field minute: expected 0 to 59"),
        ("* 24 * * *", "1h", "UTC", 0, "field hour: expected 0 to 23"),
        ("* * 0 * *", "1h", "UTC", 0, "field day: expected 1 to 31"),
        ("* * * 13 *", "1h", "UTC", 0, "field month: expected 1 to 12"),
        ("* * * * 7", "1h", "UTC", 0, "field weekday: expected 0 to 6"),
        ("* * * * MON", "1h", "UTC", 0, "field weekday"),
        ("5-1 * * * *", "1h", "UTC", 0, "ascending"),
        ("1- * * * *", "1h", "UTC", 0, "field minute"),
        ("1,,2 * * * *", "1h", "UTC", 0, "field minute"),
        ("001 * * * *", "1h", "UTC", 0, "field minute"),
        ("²  * * * *", "1h", "UTC", 0, "field minute"),
        ("0 0 31 2,4 *", "1h", "UTC", 0, "never fires"),
        ("0 0 30,31 2 *", "1h", "UTC", 0, "never fires"),
        ("* * * * *", "", "UTC", 1, "expected a duration"),
        ("* * * * *", "90", "UTC", 1, "expected a duration"),
        ("* * * * *", "1h1d", "UTC", 1, "expected a duration"),
        ("* * * * *", "1.5h", "UTC", 1, "expected a duration"),
        ("* * * * *", "30s", "UTC", 1, "expected a duration"),
        ("* * * * *", "-1h", "UTC", 1, "expected a duration"),
        ("* * * * *", "0m", "UTC", 1, "above zero"),
        ("* * * * *", "7d1m", "UTC", 1, "up to 7d"),
        ("* * * * *", "999999d", "UTC", 1, "up to 7d"),
        ("* * * * *", "1h", "", 2, "name of a time zone"),
        ("* * * * *", "1h", "Mars/Base", 2, "name of a time zone"),
        ("* * * * *", "1h", "../../etc/passwd", 2, "name of a time zone"),
        ("* * * * *", "1h", "/etc/localtime", 2, "name of a time zone"),
        ("* * * * *", "1h", "localtime", 2, "name of a time zone"),
        ("* * * * *", "1h", "right/Europe/Berlin", 2, "name of a time zone"),
        ("* * * * *", "1h", "Europe", 2, "name of a time zone"),
        ("* * * * *", "1h", "tzdata.zi", 2, "name of a time zone"),
        ("* * * * *", "1h", "x" * 5000, 2, "name of a time zone"),
    ],
)
def test_cron_span_refused(cron: str, duration: str, zone: str, argument: int, reason: str) -> None:
    with pytest.raises(TimeRefused, match=reason) as refused:
        cron_span(cron, duration, zone)
    assert refused.value.argument == argument


OPEN, SHUT = True, False
BERLIN, NEW_YORK, UTC_ = "Europe/Berlin", "America/New_York", "UTC"


@pytest.mark.parametrize(
    ("cron", "duration", "zone", "now", "expected"),
    [
        ("0 0 29 2 *", "1d", UTC_, "2028-02-29T12:00:00+00:00", OPEN),
        ("0 0 29 2 *", "1d", UTC_, "2027-03-01T00:00:00+00:00", SHUT),
        ("0 0 * * 0", "7d", UTC_, "2026-09-12T23:59:59+00:00", OPEN),
        ("0 0 1 * *", "7d", UTC_, "2026-09-07T23:59:59.999+00:00", OPEN),
        ("0 0 1 * *", "7d", UTC_, "2026-09-08T00:00:00+00:00", SHUT),
        ("59 23 31 12 *", "2m", UTC_, "2027-01-01T00:00:59+00:00", OPEN),
        ("0,30 9-11 * * *", "10m", UTC_, "2026-09-09T11:39:59+00:00", OPEN),
        ("0,30 9-11 * * *", "10m", UTC_, "2026-09-09T11:40:00+00:00", SHUT),
        ("0,30 9-11 * * *", "10m", UTC_, "2026-09-09T12:00:00+00:00", SHUT),
        ("*  *   * * *", "1m", UTC_, "2026-09-09T12:00:00+00:00", OPEN),
        # either day field, where both are restricted; both, where one is not
        ("0 0 13 * 5", "1d", UTC_, "2026-09-11T01:00:00+00:00", OPEN),
        ("0 0 13 * 5", "1d", UTC_, "2026-09-13T01:00:00+00:00", OPEN),
        ("0 0 13 * 5", "1d", UTC_, "2026-09-14T01:00:00+00:00", SHUT),
        ("0 0 * 9 5", "1d", UTC_, "2026-09-11T01:00:00+00:00", OPEN),
        ("0 0 * 9 5", "1d", UTC_, "2026-09-12T01:00:00+00:00", SHUT),
        ("0 0 * 10 5", "1d", UTC_, "2026-09-11T01:00:00+00:00", SHUT),
        ("0 0 31 2 5", "1d", UTC_, "2026-02-06T01:00:00+00:00", OPEN),
        # 02:30 does not exist on 29 March 2026: it fires at 03:00, once
        ("30 2 * * *", "10m", BERLIN, "2026-03-29T03:00:00+02:00", OPEN),
        ("30 2 * * *", "10m", BERLIN, "2026-03-29T01:59:59+01:00", SHUT),
        ("30 2 * * *", "10m", BERLIN, "2026-03-29T03:10:00+02:00", SHUT),
        ("30 2 * * *", "10m", BERLIN, "2026-03-29T03:30:00+02:00", SHUT),
        ("30 2 * * *", "10m", BERLIN, "2026-03-30T02:30:00+02:00", OPEN),
        # 02:30 comes twice on 25 October 2026: the first counts
        ("30 2 * * *", "10m", BERLIN, "2026-10-25T02:30:00+02:00", OPEN),
        ("30 2 * * *", "10m", BERLIN, "2026-10-25T02:30:00+01:00", SHUT),
        ("30 2 * * *", "2h", BERLIN, "2026-10-25T03:29:00+01:00", OPEN),
        ("30 2 * * *", "2h", BERLIN, "2026-10-25T03:30:00+01:00", SHUT),
        ("0 3 * * *", "10m", BERLIN, "2026-10-25T03:05:00+01:00", OPEN),
        # another zone is another date
        ("0 20 9 9 *", "1h", NEW_YORK, "2026-09-10T00:30:00+00:00", OPEN),
        ("0 20 9 9 *", "1h", NEW_YORK, "2026-09-09T20:30:00+00:00", SHUT),
        # a whole day that never was: Samoa skipped 30 December 2011
        ("0 12 30 12 *", "1h", "Pacific/Apia", "2011-12-31T00:30:00+14:00", OPEN),
        ("0 12 30 12 *", "1h", "Pacific/Apia", "2011-12-29T23:30:00-10:00", SHUT),
        # a clock set back across midnight: Havana, 2026-11-01 01:00 -> 00:00; Asunción, 2023-03-26 00:00 -> 23:00
        ("30 0 * * *", "20m", "America/Havana", "2026-11-01T00:40:00-04:00", OPEN),
        ("30 0 * * *", "20m", "America/Havana", "2026-11-01T00:40:00-05:00", SHUT),
        ("30 23 * * *", "20m", "America/Asuncion", "2023-03-25T23:40:00-03:00", OPEN),
        ("30 23 * * *", "20m", "America/Asuncion", "2023-03-25T23:40:00-04:00", SHUT),
    ],
)
def test_window(cron: str, duration: str, zone: str, now: str, expected: bool) -> None:
    assert cron_span(cron, duration, zone).is_open(moment(now)) is expected


def firings(cron: str, zone: ZoneInfo, start: datetime, end: datetime) -> list[datetime]:
    """When a cron expression fires, found minute by minute, slowly, by the documented rules."""
    fields = cron.split()

    def matches(text: str, value: int) -> bool:
        return text == "*" or any(
            int(part.split("-")[0]) <= value <= int(part.split("-")[-1]) for part in text.split(",")
        )

    def wanted(wall: datetime) -> bool:
        day, weekday = matches(fields[2], wall.day), matches(fields[4], wall.isoweekday() % 7)
        either = fields[2] != "*" and fields[4] != "*"
        return (
            matches(fields[0], wall.minute)
            and matches(fields[1], wall.hour)
            and matches(fields[3], wall.month)
            and (day or weekday if either else day and weekday)
        )

    fired, seen = [], set()
    minute = timedelta(minutes=1)
    before = start.astimezone(zone).replace(tzinfo=None) - minute
    instant = start
    while instant < end:
        wall = instant.astimezone(zone).replace(tzinfo=None)
        shown = [wall]
        while before + minute < shown[0] and wall > before:
            shown.insert(0, shown[0] - minute)
        if any(wanted(each) and each not in seen for each in shown):
            fired.append(instant)
        seen.update(shown)
        before = max(before, wall)
        instant += minute
    return fired


@pytest.mark.parametrize("seed", range(12))
def test_windows_agree_with_a_ticking_clock(seed: int) -> None:
    chance = random.Random(seed)
    zone = chance.choice(["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Havana"])
    start = chance.choice(
        [
            datetime(2026, 3, 27, tzinfo=UTC),
            datetime(2026, 10, 23, tzinfo=UTC),
            datetime(2026, 10, 31, tzinfo=UTC),
            datetime(2026, 4, 3, tzinfo=UTC),
            datetime(2026, 3, 6, tzinfo=UTC),
            datetime(2026, 10, 2, tzinfo=UTC),
        ]
    )
    cron = (
        f"{chance.choice(['*', '0', '30', '15,45', '10-20'])} {chance.choice(['*', '1', '2', '0-3', '0,23'])}"
        f" {chance.choice(['*', '*', '25', '1-8'])} * {chance.choice(['*', '*', '0', '6,0'])}"
    )
    minutes = chance.choice([1, 7, 45, 90, 600])
    fired = firings(cron, ZoneInfo(zone), start, start + timedelta(days=4))
    span = cron_span(cron, f"{minutes}m", zone)
    watched = start + timedelta(days=1)
    for _ in range(400):
        now = watched + timedelta(seconds=chance.randrange(3 * 86400 - 3600))
        expected = any(each <= now < each + timedelta(minutes=minutes) for each in fired)
        assert span.is_open(int(now.timestamp()) * 1_000_000_000) is expected, (cron, minutes, zone, now)


def test_a_window_that_never_opens_takes_little_time() -> None:
    span = cron_span("* * 29 2 *", "7d", "Europe/Berlin")
    with not_hanging():
        for _ in range(100):
            assert not span.is_open(moment("2026-09-09T12:00:00+00:00"))
