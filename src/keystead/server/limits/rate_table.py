"""The moments of rate limits, by key: shared memory of a fixed size, for the processes of one machine.

Here: the table, and the lock under which a process reads and writes a key. Not here: the meaning of the moments,
and who is limited (`rate_limits`). The processes count together, because each counting for itself would exceed a
limit; a slot for each process would give no exact `Retry-After`, and a killed process does not release a semaphore.

A key belongs to a set of WAYS slots, by its hash. A slot is 16 bytes: the hash, and the moment. A new key takes
the slot of its set with the earliest moment, which is usually long past. So the table never grows, and nothing has
to be removed. A set is locked with a record lock of the file, which the kernel releases when its process ends.
A process waits at most 20 ms for the lock. Then it continues without it, and some requests may not be counted.
"""

from __future__ import annotations

import fcntl
import hashlib
import mmap
import os
import secrets
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

SETS: Final = 8_192
WAYS: Final = 8
_SLOT_WORDS: Final = 2
_SET_WORDS: Final = WAYS * _SLOT_WORDS
_KEY_WORDS: Final = 2
"""The table begins with the key of the hashes, so that nobody can choose keys of one set."""
_BYTES: Final = 8 * (_KEY_WORDS + SETS * _SET_WORDS)

_WAIT_MAX_S: Final = 0.02
"""How long a process tries to lock a set. A process that has the lock is usually suspended for less than this."""


class RateTable:
    """Moments by key. Times are nanoseconds of the monotonic clock, which the processes of a machine share."""

    def __init__(self, file: int | None = None) -> None:
        """`file`: the descriptor of `new_shared_file`, which the table owns from now on; None for a table of this
        process alone."""
        self._file = file
        memory = mmap.mmap(-1 if file is None else file, _BYTES)
        if file is not None:
            os.set_inheritable(file, False)
        else:
            memory[: 8 * _KEY_WORDS] = secrets.token_bytes(8 * _KEY_WORDS)
        self._hash_key = memory[: 8 * _KEY_WORDS]
        self._words = memoryview(memory).cast("Q")

    def moment_ns(self, key: str) -> int:
        """The moment of the key; 0 if the table lacks the key. Another process may change it at any time."""
        return Slot(self._words, *self._place(key)).moment_ns

    @contextmanager
    def slot(self, key: str) -> Iterator[Slot]:
        """The slot of the key, for this process alone while the context lasts."""
        first, digest = self._place(key)
        is_locked = self._lock(first)
        try:
            yield Slot(self._words, first, digest)
        finally:
            if is_locked:
                assert self._file is not None
                fcntl.lockf(self._file, fcntl.LOCK_UN, 1, first)

    def _place(self, key: str) -> tuple[int, int]:
        """The first word of the key's set, and the hash of the key, which is not 0."""
        digest = hashlib.blake2b(key.encode(), digest_size=8, key=self._hash_key).digest()
        number = int.from_bytes(digest) or 1
        return _KEY_WORDS + number % SETS * _SET_WORDS, number

    def _lock(self, first: int) -> bool:
        if self._file is None:
            return False
        deadline_s = time.monotonic() + _WAIT_MAX_S
        while True:
            try:
                fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, first)
            except OSError:
                if time.monotonic() >= deadline_s:
                    return False
                os.sched_yield()
            else:
                return True


class Slot:
    """The slot of one key. `first`: the first word of its set. `moment_ns`: 0 if the table lacks the key."""

    __slots__ = ("_at", "_digest", "_first", "_words", "moment_ns")

    def __init__(self, words: memoryview[int], first: int, digest: int) -> None:
        self._words, self._first, self._digest = words, first, digest
        self._at, self.moment_ns = -1, 0
        for at in range(first, first + _SET_WORDS, _SLOT_WORDS):
            if words[at] == digest:
                self._at, self.moment_ns = at, words[at + 1]
                break

    def put(self, moment_ns: int) -> None:
        """Store the moment of the key. A new key replaces the key of its set with the earliest moment."""
        words = self._words
        if self._at < 0:
            places = range(self._first, self._first + _SET_WORDS, _SLOT_WORDS)
            self._at = min(places, key=lambda at: words[at + 1])
        # In this order a process that is killed in between leaves the moment of the key that was there before, the
        # earliest of the set.
        words[self._at] = self._digest
        words[self._at + 1] = moment_ns


def new_shared_file() -> int:
    """The descriptor of the memory of a table, for this process's children to inherit: a file without a name."""
    if hasattr(os, "memfd_create"):
        file = os.memfd_create("keystead-rates")
    else:
        with tempfile.TemporaryFile() as temporary:
            file = os.dup(temporary.fileno())
    os.ftruncate(file, _BYTES)
    os.pwrite(file, secrets.token_bytes(8 * _KEY_WORDS), 0)
    return file
