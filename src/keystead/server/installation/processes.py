"""The processes that serve an installation, on all machines: each has a row in the database and renews it.

`keystead status` shows them, and a rotation of the master key is refused until all of them have the new key. Here:
the content of the row, and when it is written. Not here: the row (`storage.tables`), how it is shown
(`cli.operator.status`).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Callable
from importlib.metadata import version
from typing import Final

import msgspec

from keystead.api.errors import ServiceError
from keystead.api.rendering import encode
from keystead.storage.migrations import newest
from keystead.storage.store import DatabaseStore

PERIOD_S: Final = 10.0
"""Seconds after which a process renews its row."""

LATE_AFTER_MS: Final = 12_000
"""A running process renews its row within this time: PERIOD_S, and some time for the database."""

GONE_AFTER_MS: Final = 35_000
"""A process that has not renewed its row for this long has ended, or cannot reach the database."""


class ServingProcess(msgspec.Struct, frozen=True, kw_only=True):
    """The content of the row of one process. Fields that are added later need a default.

    `tables`: the newest version of the tables that it knows. `address`: where it listens, as set. `master_key_ids`:
    the ids of the keys that its signer has, first the one that seals. `certificate_ends_ms`: the end of its TLS
    certificate; None without one. Times are milliseconds since the epoch.
    """

    id: str
    host: str
    pid: int
    address: str
    version: str
    tables: int
    started_at_ms: int
    seen_at_ms: int
    master_key_ids: tuple[str, ...]
    certificate_ends_ms: int | None = None


def this_process(
    process_id: str, address: str, now_ms: int, master_key_ids: tuple[str, ...], certificate_ends_ms: int | None
) -> ServingProcess:
    """The row of this process when it starts."""
    return ServingProcess(
        id=process_id,
        host=socket.gethostname(),
        pid=os.getpid(),
        address=address,
        version=version("keystead"),
        tables=newest(),
        started_at_ms=now_ms,
        seen_at_ms=now_ms,
        master_key_ids=master_key_ids,
        certificate_ends_ms=certificate_ends_ms,
    )


async def announce(store: DatabaseStore, process: ServingProcess) -> None:
    """Write the row of a process. Raises Unavailable."""
    await store.installation.write_process(process.id, process.seen_at_ms + GONE_AFTER_MS, encode(process))


async def try_to_write(store: DatabaseStore, process: ServingProcess, size: int) -> None:
    """Write the row of a process with `size` more bytes: a full disk may have room for few. Raises Unavailable."""
    row = encode(process) + b" " * size
    await store.installation.write_process(process.id, process.seen_at_ms + GONE_AFTER_MS, row)


async def keep_announcing(store: DatabaseStore, process_now: Callable[[], ServingProcess]) -> None:
    """Renew the row until cancelled."""
    while True:
        await asyncio.sleep(PERIOD_S)
        with contextlib.suppress(ServiceError):  # the requests show that the database does not answer
            await announce(store, process_now())


async def withdraw(store: DatabaseStore, process: ServingProcess) -> None:
    """Delete the row of a process that ends. If that fails, the row expires."""
    with contextlib.suppress(ServiceError):
        await store.installation.delete_process(process.id)


async def serving_processes(store: DatabaseStore, now_ms: int) -> list[ServingProcess]:
    """The processes that serve now. Raises Unavailable."""
    processes = [
        msgspec.json.decode(body, type=ServingProcess) for body in await store.installation.processes(now_ms)
    ]
    return sorted(processes, key=lambda process: (process.host, process.address, process.pid))
