"""Commands such as `keystead init` as processes: forked from one that has loaded them, because loading is most of
what a command costs.

Here: to run a command to its end, and to start one. Not here: commands in the test's own process (`terminal`).
Tests of the start itself, of options of Python, of terminals and of killed commands start the interpreter.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tests.support.fork_server import ForkedProcess


def run_keystead(
    *words: str | Path, cwd: Path | None = None, environment: Mapping[str, str] | None = None, timeout: float = 60
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end. `environment`: the test's own, unless another is given."""
    with tempfile.TemporaryDirectory() as made:
        output, errors = Path(made, "output"), Path(made, "errors")
        process = start_keystead(*words, cwd=cwd, environment=environment, output=output, errors=errors)
        try:
            code = process.wait(timeout)
        except BaseException:
            process.send_signal(signal.SIGKILL)
            process.wait()
            raise
        return subprocess.CompletedProcess(words, code, output.read_text(), errors.read_text())


def start_keystead(
    *words: str | Path,
    output: Path,
    errors: Path | None = None,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> ForkedProcess:
    """Start a command. Its errors go where its output goes, unless another file is given."""
    output.write_bytes(b"")  # it can be read at once, and holds nothing of an earlier command
    arguments = ["keystead", *map(str, words)]
    program = f"import sys; sys.argv = {arguments!r}; from keystead.cli.main import main; main()"
    if environment is None:  # without the tests' own variables, which commands refuse as unknown settings
        environment = {name: value for name, value in os.environ.items() if not name.startswith("KEYSTEAD_TEST_")}
    return ForkedProcess(program, environment, output, errors=errors, cwd=cwd or Path.cwd())
