"""The folder of `keystead dev --memory`: in memory where the system has a place for that, and gone afterwards.

Not here: what is in the folder (`development_folder`).
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

    A server that was killed leaves its folder: the next one removes it.
    """
    place = _MEMORY if _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK) else Path(tempfile.gettempdir())
    for left in place.glob(f"{_PREFIX}*"):
        _remove_if_left(left)
    with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=place, ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def _remove_if_left(folder: Path) -> None:
    """A running server holds the lock in its folder (`DevelopmentFolder`). A folder without one is just being made,
    or is another user's."""
    try:
        lock = os.open(folder / "lock", os.O_RDWR)
    except OSError:
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    except BlockingIOError:
        pass
    finally:
        os.close(lock)
