"""The folder with the counters of the processes of one server. Not here: what they count (`measurements`)."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

_PREFIX: Final = "keystead-metrics-"


@contextmanager
def metrics_folder() -> Iterator[Path]:
    """A new folder, which is removed when the block ends.

    The server locks its folder. A folder without a lock is from a server that was killed, and is removed now.
    Raises OSError if no folder can be made.
    """
    for abandoned in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):  # it belongs to another user, or another process removed it
            _remove_if_abandoned(abandoned)
    folder, lock = _locked_folder()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _locked_folder() -> tuple[Path, int]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
        # Another server may have removed it just now, before it was locked.
        with suppress(FileNotFoundError, BlockingIOError):
            lock = _lock(folder)
            if folder.exists():
                return folder, lock
            os.close(lock)


def _remove_if_abandoned(folder: Path) -> None:
    if folder.lstat().st_uid == os.geteuid():
        lock = _lock(folder)
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _lock(folder: Path) -> int:
    """Lock a folder. Returns the descriptor that holds the lock. Raises BlockingIOError if a server has the
    lock."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(opened)
        raise
    return opened
