"""Shells on a terminal of their own, in which a test types: bash, and zsh and fish where they are.

`make test` unpacks zsh and fish into the virtual environment where the machine has none.
"""

from __future__ import annotations

import os
import pty
import select
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.support.hanging import PATIENCE_S

_UNPACKED = Path(sys.prefix) / "shells"
_PATH = os.pathsep.join(
    [str(Path(sys.executable).parent), os.environ["PATH"], f"{_UNPACKED}/bin", f"{_UNPACKED}/usr/bin"]
)
_ARGUMENTS = {
    "bash": ["--norc", "--noprofile", "-i"],
    "zsh": ["-d", "-i"],
    "fish": ["--no-config", "--interactive"],
}
PROMPT = "ready> "

SHELLS = [shell for shell in _ARGUMENTS if shutil.which(shell, path=_PATH)]


def _of_unpacked_shells() -> Mapping[str, str]:
    """Where zsh has its functions, and fish its library: they look for them below /usr."""
    folders = [folder for folder in _UNPACKED.glob("usr/share/zsh/functions/**") if folder.is_dir()]
    if not folders:
        return {}
    return {
        "FPATH": ":".join(map(str, folders)),
        "LD_LIBRARY_PATH": ":".join(map(str, _UNPACKED.glob("usr/lib/*-linux-gnu"))),
    }


class TypedShell:
    """What is written to it is typed; what it shows is read."""

    def __init__(self, terminal: int) -> None:
        self._terminal = terminal
        self._unread = ""

    def type(self, text: str) -> None:
        os.write(self._terminal, text.encode())

    def read_until(self, text: str) -> None:
        """Read on to the end of `text`. Raises AssertionError where it is not shown."""
        deadline = time.monotonic() + PATIENCE_S
        while text not in self._unread:
            ready, _, _ = select.select([self._terminal], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, f"no {text!r}: {self._unread}"
            self._unread += os.read(self._terminal, 65536).decode(errors="replace")
        self._unread = self._unread.partition(text)[2]


@contextmanager
def typed_shell(shell: str, folder: Path) -> Iterator[TypedShell]:
    """An interactive shell in `folder`, which is its home, too, with this environment's commands on PATH."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("KEYSTEAD_", "PYTEST_"))}
    environment = {
        **kept,
        "PATH": _PATH,
        "HOME": str(folder),
        "TERM": "dumb",
        "PS1": PROMPT,
        **_of_unpacked_shells(),
    }
    program = shutil.which(shell, path=_PATH)
    assert program is not None
    modules = " ".join(map(str, _UNPACKED.glob("usr/lib/*/zsh/*")))
    (folder / ".zshenv").write_text(f"module_path=({modules} $module_path)\n")  # zsh takes it from no variable
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(folder)
        os.execve(program, [shell, *_ARGUMENTS[shell]], environment)
    try:
        yield TypedShell(terminal)
    finally:
        os.close(terminal)
        os.kill(process, 9)
        os.waitpid(process, 0)
