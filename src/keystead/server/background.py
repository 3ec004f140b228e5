"""The tasks of a server that run beside its requests. Not here: what each of them does."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from keystead.server.logs import logger


def background_task(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    """A task that runs until it is cancelled. If it fails, an error is logged, and the server runs without it."""
    task = asyncio.create_task(work)
    task.add_done_callback(_log_failure)
    return task


def _log_failure(task: asyncio.Task[None]) -> None:
    failure = None if task.cancelled() else task.exception()
    if failure is not None:
        logger.error("a background task of the server has ended because of a defect", exc_info=failure)
