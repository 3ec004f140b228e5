"""`keystead dev --end-with-caller`: the server ends with the process that started it, however that one ends.

The caller holds one end of the pipe at standard input, and the system closes it when the caller ends. Programs in
between (npx, uvx, a shell) pass standard input on. Not here: the test kits, which call this (`keystead.testing`,
`packages/js`).
"""

from __future__ import annotations

import os
import signal
import stat
import sys
import threading

from keystead.cli.failure import Failure

_STANDARD_INPUT = 0


def end_with_standard_input() -> None:
    """Send SIGTERM to this process when standard input closes. Raises Failure unless that is a pipe or a socket:
    a file would end at once, and a terminal never."""
    try:
        mode = os.fstat(_STANDARD_INPUT).st_mode
    except OSError:
        mode = 0
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        raise Failure("--end-with-caller: standard input must be a pipe that the caller keeps open")
    threading.Thread(target=_end_when_closed, name="end-with-caller", daemon=True).start()


def _end_when_closed() -> None:
    try:
        while os.read(_STANDARD_INPUT, 4096):
            pass  # what the caller writes means nothing
    except OSError as failed:
        print(f"standard input cannot be read: {failed.strerror}", file=sys.stderr)
    os.kill(os.getpid(), signal.SIGTERM)
