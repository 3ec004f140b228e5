"""What is logged of an exception: its type and places, those of its causes and groups, and no message."""

from __future__ import annotations

import logging
import traceback

import pytest

from keystead.api.errors import Unavailable
from keystead.failures.defects import log_defect, log_failure, traceback_of
from tests.support.logged_lines import logged_lines
from tests.support.raised_defects import DEFECTS, SECRET, failing, raised

LOGGER = logging.getLogger("keystead")


def lines_of(error: BaseException) -> list[str]:
    """The traceback without the places."""
    return [line for line in traceback_of(error).splitlines() if not line.startswith("  ")]


@pytest.mark.parametrize("name", DEFECTS)
def test_the_types_are_logged_and_no_message(name: str) -> None:
    error, expected = raised(name)
    assert lines_of(error) == expected
    assert SECRET not in traceback_of(error)
    everything = traceback.TracebackException.from_exception(error, capture_locals=True)
    assert SECRET in "".join(everything.format()), "a whole traceback would have it"


def test_the_places_are_logged() -> None:
    error, _ = raised("plain")
    line = failing.__code__.co_firstlineno + 1
    assert f'  File "{failing.__code__.co_filename}", line {line}, in failing' in traceback_of(error).splitlines()


def test_the_message_of_an_error_for_callers_is_logged() -> None:
    error = Unavailable("the database\n\x1b[2J does not answer")
    error.__cause__ = ValueError(SECRET)
    assert lines_of(error) == [
        r"keystead.api.errors.Unavailable: 'the database\n\x1b[2J does not answer'",
        "caused by ValueError",
    ]


def test_a_circle_of_causes_ends() -> None:
    first, second = ValueError(SECRET), KeyError(SECRET)
    first.__cause__, second.__cause__ = second, first
    assert lines_of(first) == ["ValueError", "caused by KeyError"]


def test_a_long_chain_is_cut() -> None:
    error: Exception = ValueError(SECRET)
    for _ in range(10_000):
        later = ValueError(SECRET)
        later.__cause__ = error
        error = later
    assert len(lines_of(error)) < 100


def down(calls: int) -> None:
    if calls == 0:
        raise ValueError(SECRET)
    across(calls - 1)


def across(calls: int) -> None:
    down(calls)


def deep(calls: int, *, causes: int = 0) -> Exception:
    """An error that was raised after this many calls of two functions by each other, with as many of them as
    causes."""
    try:
        down(calls // 2)
    except ValueError as error:
        if causes:
            error.__cause__ = deep(calls, causes=causes - 1)
        return error
    raise AssertionError


@pytest.mark.parametrize(
    ("calls", "causes", "left_out"),
    [(90, 0, []), (98, 0, []), (100, 0, [2]), (900, 0, [802]), (900, 4, [882] * 5), (300, 29, [298] * 30)],
)
def test_of_many_places_the_first_and_the_last_are_logged(calls: int, causes: int, left_out: list[int]) -> None:
    traceback_ = traceback_of(deep(calls, causes=causes))
    lines = traceback_.splitlines()
    assert [int(line.split()[0]) for line in lines if "left out" in line] == left_out
    assert lines[1].endswith("in deep")
    assert lines[-1].endswith("in down")
    assert len(lines) <= 200
    assert len(traceback_) < 20_000


def test_the_line_of_a_defect(caplog: pytest.LogCaptureFixture) -> None:
    error, _ = raised("plain")
    log_defect(LOGGER, error, "message %s: not sent", "m1", extra={"request_id": "r1"})
    (record,) = caplog.records
    assert record.getMessage() == "message m1: not sent because of a defect of the server: ValueError"
    assert record.levelno == logging.ERROR
    json_line, *_ = logged_lines([record]).splitlines()
    assert '"request_id":"r1"' in json_line
    assert '"traceback":"ValueError\\n' in json_line


def test_a_refusal_is_one_line_with_its_message(caplog: pytest.LogCaptureFixture) -> None:
    log_failure(LOGGER, Unavailable("the database does not answer"), "message %s: not sent", "m1")
    (record,) = caplog.records
    assert (record.levelno, record.getMessage()) == (
        logging.WARNING,
        "message m1: not sent: the database does not answer",
    )
    assert "traceback" not in logged_lines([record])
