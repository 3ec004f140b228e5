"""The error of a command that fails: one line on standard error, for a person or in the form of a server's log."""

from __future__ import annotations

import sys
import traceback
from typing import ClassVar, Literal


class Failure(Exception):
    """Why a command failed, in one line for its user."""

    show_traceback: ClassVar[bool] = False
    log_format: ClassVar[Literal["json", "pretty"] | None] = None
    """The form of the log that the line ends; None for a command without a log."""

    @classmethod
    def report(cls, failure: Exception) -> None:
        """Print the failure to standard error; with --debug its traceback too."""
        if cls.show_traceback:
            traceback.print_exception(failure)
        message = " ".join(str(failure).split()) or type(failure).__name__
        text = message if isinstance(failure, Failure) else f"{type(failure).__name__}: {message}"
        if cls.log_format is None:
            print(f"keystead: {text}", file=sys.stderr)
        else:
            from keystead.server import logs  # few commands need it
            from keystead.server.pretty_logs import formatter

            logs.configure("error", formatter(cls.log_format))
            logs.logger.error(text)
