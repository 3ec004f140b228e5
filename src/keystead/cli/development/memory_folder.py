"""The folder of `keystead dev --memory`: in memory if the system has a file system there, and removed at the end.

Not here: what is in the folder (`folder`).
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

_MEMORY = Path("/dev/shm")  # noqa: S108 - a file system in memory, on Linux
_PREFIX = "keystead-memory-"


@contextlib.contextmanager
def memory_folder() -> Iterator[Path]:
    """An empty folder that its owner alone can read. It is removed at the end.

    A server that was killed leaves its folder; the next server removes it.
    """
    place = _MEMORY if _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK) else Path(tempfile.gettempdir())
    for abandoned in place.glob(f"{_PREFIX}*"):
        _remove_if_unlocked(abandoned)
    with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=place, ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def _remove_if_unlocked(folder: Path) -> None:
    """Remove the folder of a server that has ended. A running server holds the lock in its folder
    (`DevelopmentFolder`). A folder without a lock file is being made now, or belongs to another user."""
    try:
        lock = os.open(folder / "lock", os.O_RDWR)
    except OSError:
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    except BlockingIOError:
        pass  # its server runs
    finally:
        os.close(lock)
