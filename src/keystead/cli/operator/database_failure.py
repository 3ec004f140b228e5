"""Turns an error of the database into the failure of a command, with a message for its user."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from keystead.api.errors import ServiceError
from keystead.cli.failure import Failure
from keystead.storage.operator_messages import operator_message


@contextmanager
def database_failures(database_url: str, beginning: str = "") -> Iterator[None]:
    """Raise Failure for a ServiceError of the block, and for the ValueError of a malformed URL. `beginning`: the
    start of the message for a ServiceError."""
    try:
        yield
    except ServiceError as refused:
        raise Failure(beginning + operator_message(database_url, refused)) from None
    except ValueError as refused:
        raise Failure(str(refused)) from None
