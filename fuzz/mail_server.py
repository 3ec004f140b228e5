"""A mail server that accepts every message and stores none, so that a server under attack can send its messages.

Not here: what the server does between two requests (`tables`).
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from aiosmtpd.handlers import Sink
from aiosmtpd.smtp import SMTP


@contextmanager
def accepting_mail() -> Iterator[dict[str, object]]:
    """Settings of a server that sends its e-mails to a new mail server on loopback, which runs in a thread."""
    loop = asyncio.new_event_loop()
    listening = loop.run_until_complete(loop.create_server(lambda: SMTP(Sink()), "127.0.0.1", 0))
    thread = threading.Thread(target=loop.run_forever, name="mail server")
    thread.start()
    try:
        yield {"smtp_host": "127.0.0.1", "smtp_port": listening.sockets[0].getsockname()[1]}
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        listening.close()
        loop.close()
