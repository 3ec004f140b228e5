"""Reads instants: those that people type on a command line, and those in the ids of records."""

from __future__ import annotations

import datetime
import re

import typer

_AGO = re.compile(r"(?P<count>[0-9]{1,6})(?P<unit>[smhdw])")
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def read_instant(text: str, now_ms: int) -> int:
    """Milliseconds since the epoch, of "12h" (before now), a date, or a date and time; UTC if no zone is given.

    Raises BadParameter.
    """
    if ago := _AGO.fullmatch(text):
        return now_ms - int(ago["count"]) * _SECONDS[ago["unit"]] * 1_000
    try:
        then = datetime.datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(
            f"{text!r}: expected an age such as 30m, 12h or 7d, a date 2026-09-01, or 2026-09-01T10:00:00Z",
            param_hint="--since",
        ) from None
    if then.tzinfo is None:
        then = then.replace(tzinfo=datetime.UTC)
    return int(then.timestamp() * 1_000)


def made_at_ms(record_id: str) -> int:
    """The time in a UUIDv7 (RFC 9562, section 5.7): its first 48 bits."""
    return int(record_id.replace("-", "")[:12], 16)
