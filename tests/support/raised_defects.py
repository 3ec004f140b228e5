"""Exceptions whose messages have a secret, each raised as a defect of the server would be."""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping

SECRET = "a secret that nobody may read"


def failing(error: Exception) -> None:
    raise error


def _plain() -> None:
    failing(ValueError(SECRET))


def _with_a_cause() -> None:
    try:
        failing(KeyError(SECRET))
    except KeyError as cause:
        raise RuntimeError("the row is damaged") from cause


def _while_handling() -> None:
    try:
        failing(KeyError(SECRET))
    except KeyError:
        failing(RuntimeError(SECRET))


def _group() -> None:
    failing(ExceptionGroup(SECRET, [ValueError(SECRET), ExceptionGroup("inner", [KeyError(SECRET)])]))


def _group_with_a_cause() -> None:
    try:
        failing(KeyError(SECRET))
    except KeyError as cause:
        raise ExceptionGroup("two parts failed", [ValueError(SECRET)]) from cause


def _note() -> None:
    error = ValueError("the row is damaged")
    error.add_note(SECRET)
    failing(error)


def _operating_system() -> None:
    failing(OSError(errno.ENOSPC, "No space left on device", f"/{SECRET}"))


def _local_value() -> None:
    secret = SECRET
    failing(ValueError(len(secret)))


DEFECTS: Mapping[str, tuple[Callable[[], None], list[str]]] = {
    "plain": (_plain, ["ValueError"]),
    "with a cause": (_with_a_cause, ["RuntimeError", "caused by KeyError"]),
    "while handling another": (_while_handling, ["RuntimeError", "while handling KeyError"]),
    "a group": (
        _group,
        ["ExceptionGroup", "in the group: ValueError", "in the group: ExceptionGroup", "in the group: KeyError"],
    ),
    "a group with a cause": (
        _group_with_a_cause,
        ["ExceptionGroup", "in the group: ValueError", "caused by KeyError"],
    ),
    "with a note": (_note, ["ValueError"]),
    "of the operating system": (_operating_system, ["OSError (ENOSPC)"]),
    "with a local value": (_local_value, ["ValueError"]),
}
"""By name: what raises it, and the lines that are logged of its types."""


def raised(name: str) -> tuple[Exception, list[str]]:
    """An exception of the table, and the lines that are logged of its types."""
    raises, expected = DEFECTS[name]
    try:
        raises()
    except Exception as error:  # noqa: BLE001 - the table has several types
        return error, expected
    raise AssertionError("nothing was raised")
