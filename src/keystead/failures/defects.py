"""Logs defects: what failed, the types of the exceptions and their places, never their messages.

The message of an exception that nobody expected may quote anything, such as a row, a file or a key. The messages of
Keystead's own errors are written for strangers, so they are logged. Not here: the form of the log (`server.logs`).
"""

from __future__ import annotations

import errno
import logging
import traceback
from collections.abc import Iterator, Mapping
from typing import Final

from keystead.api.errors import Internal, ServiceError

TRACEBACK: Final = "traceback"
"""The attribute of a log record, and the field of its log line, with the types and places of a defect."""

_EXCEPTIONS_MAX: Final = 30
"""How many exceptions of a chain or group are logged."""

_PLACES_MAX: Final = 100
"""About how many places are logged of all exceptions together. A recursion that does not end has a thousand."""

_PLACES_MIN: Final = 4
"""How many places of each exception are logged at least."""


def log_defect(
    logger: logging.Logger,
    error: BaseException,
    what: str,
    *values: object,
    extra: Mapping[str, object] | None = None,
) -> None:
    """Log an exception that nobody expected. `what`: what failed, with a `%s` for each of `values`. `extra`: more
    fields of the log line."""
    logger.error(
        f"{what} because of a defect of the server: %s",
        *values,
        _described(error),
        extra={**(extra or {}), TRACEBACK: traceback_of(error)},
    )


def log_failure(
    logger: logging.Logger,
    error: Exception,
    what: str,
    *values: object,
    extra: Mapping[str, object] | None = None,
) -> None:
    """Log an exception after which the work goes on. A refusal, such as Unavailable, is one line with its message.
    For the parameters see `log_defect`."""
    if isinstance(error, ServiceError):
        logger.warning(f"{what}: %s", *values, error.message, extra=extra)
    else:
        log_defect(logger, error, what, *values, extra=extra)


def is_defect(error: Exception) -> bool:
    """Whether an error is a defect of the server. A defect lasts, while what is unavailable may be back soon.
    `Internal` stands for a defect that was logged where it happened."""
    return isinstance(error, Internal) or not isinstance(error, ServiceError)


def traceback_of(error: BaseException) -> str:
    """The exception, its causes and the members of groups, the outermost first: the type, then file, line and
    function of each call, in the order of the calls. Of many calls, those in the middle are left out."""
    exceptions = list(_with_causes(error))
    places_max = max(_PLACES_MIN, _PLACES_MAX // len(exceptions))
    return "\n".join(
        f"{relation}{_described(each)}\n{_calls(each, places_max)}".rstrip() for relation, each in exceptions
    )


def _with_causes(error: BaseException) -> Iterator[tuple[str, BaseException]]:
    """The exceptions that belong together, each once, with how it is related to the one before it."""
    waiting = [("", error)]
    seen: set[int] = set()
    while waiting and len(seen) < _EXCEPTIONS_MAX:
        relation, each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        yield relation, each
        if each.__cause__ is not None:
            waiting.append(("caused by ", each.__cause__))
        elif each.__context__ is not None and not each.__suppress_context__:
            waiting.append(("while handling ", each.__context__))
        if isinstance(each, BaseExceptionGroup):
            waiting += [("in the group: ", member) for member in reversed(each.exceptions)]


def _described(error: BaseException) -> str:
    """The type of an exception, and what is known of it that cannot hold a value of a caller."""
    kind = type(error)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    if isinstance(error, ServiceError):
        return f"{name}: {error.message!r}"  # escaped, because it may quote a caller
    if isinstance(error, OSError) and isinstance(error.errno, int) and error.errno in errno.errorcode:
        return f"{name} ({errno.errorcode[error.errno]})"
    return name


def _calls(error: BaseException, places_max: int) -> str:
    places = [
        # The source line is left out: reading it would need the file, which the signer's process cannot open.
        (frame.f_code.co_filename, line, frame.f_code.co_name, "")
        for frame, line in traceback.walk_tb(error.__traceback__)
    ]
    lines = traceback.StackSummary.from_list(places).format()
    left_out = len(lines) - places_max
    if left_out > 0:
        first = places_max // 2
        lines[first : first + left_out] = [f"  {left_out} places are left out\n"]
    return "".join(lines)
