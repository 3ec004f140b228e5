"""The tasks of a server that run beside its requests, and the failures that no task handles.

Not here: what each task does, the failures that a task survives (`failures`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from keystead.failures.defects import log_defect
from keystead.server.logs import logger


def background_task(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    """A task that runs until it is cancelled. If it fails, an error is logged, and the server runs without it."""
    task = asyncio.create_task(work)
    task.add_done_callback(_log_failure)
    return task


def _log_failure(task: asyncio.Task[None]) -> None:
    failure = None if task.cancelled() else task.exception()
    if failure is not None:
        log_defect(logger, failure, "a background task has ended")


def log_unhandled(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Handles what an event loop reports, such as the failure of a callback. The handler of asyncio would log the
    messages of exceptions, and the values that a callback was called with."""
    failure = context.get("exception")
    if failure is None:
        logger.error("the event loop reports: %s", context["message"])
    else:
        log_defect(logger, failure, "a callback or a task of the event loop failed")
