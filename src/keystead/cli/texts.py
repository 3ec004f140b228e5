"""Text for a terminal: makes other people's text safe to print, and shortens times and names of the API."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, Final

NONE: Final = "none"
"""What is printed for an empty list."""


def printable(text: str) -> str:
    """The text without control characters: names are other people's text and must not control the terminal."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


def counted(number: int, singular: str, plural: str) -> str:
    """The number and its noun: "1 process", "2 processes"."""
    return f"{number} {singular if number == 1 else plural}"


def moment(timestamp: Any) -> str:
    """A record's time, to the second. A server with the documented form of answers sends text, which is not
    changed."""
    if not isinstance(timestamp, Mapping):
        return printable(str(timestamp))
    then = datetime.datetime.fromtimestamp(int(timestamp["seconds"]), datetime.UTC)
    return f"{then:%Y-%m-%d %H:%M:%S}Z"


def status(activity: Mapping[str, Any]) -> str:
    """The status without its prefix, such as COMPLETED."""
    return printable(activity["status"].removeprefix("ACTIVITY_STATUS_"))


def kind(activity: Mapping[str, Any]) -> str:
    """The type without its prefix, such as CREATE_WALLET."""
    return printable(activity["type"].removeprefix("ACTIVITY_TYPE_"))
