"""Text on a terminal: other people's text made safe to print, short forms of moments and words of the wire."""

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
    return f"{number} {singular if number == 1 else plural}"


def moment(timestamp: Any) -> str:
    """A record's time, to the second. A server set to the documented form gives text: that stays as it is."""
    if not isinstance(timestamp, Mapping):
        return printable(str(timestamp))
    then = datetime.datetime.fromtimestamp(int(timestamp["seconds"]), datetime.UTC)
    return f"{then:%Y-%m-%d %H:%M:%S}Z"


def status(activity: Mapping[str, Any]) -> str:
    return printable(activity["status"].removeprefix("ACTIVITY_STATUS_"))


def kind(activity: Mapping[str, Any]) -> str:
    return printable(activity["type"].removeprefix("ACTIVITY_TYPE_"))
