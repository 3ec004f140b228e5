"""The error of a command that fails: one line on standard error."""

from __future__ import annotations

import sys
import traceback
from typing import ClassVar


class Failure(Exception):
    """Why a command failed, in one line for its user."""

    show_traceback: ClassVar[bool] = False

    @classmethod
    def report(cls, failure: Exception) -> None:
        """Print the failure to standard error; with --debug its traceback too."""
        if cls.show_traceback:
            traceback.print_exception(failure)
        message = " ".join(str(failure).split()) or type(failure).__name__
        known = isinstance(failure, Failure)
        print(f"keystead: {message if known else f'{type(failure).__name__}: {message}'}", file=sys.stderr)
