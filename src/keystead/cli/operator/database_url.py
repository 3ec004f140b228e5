"""The option that names the database, and the failure of a command whose database fails.

It has a module of its own so that `keystead migrate` loads no server.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Final

import typer

from keystead.api.errors import ServiceError
from keystead.cli.failure import Failure
from keystead.storage.open import VARIABLE, read_database_url
from keystead.storage.operator_messages import operator_message

_URL: Final = "KEYSTEAD_DATABASE_URL"


def _from_file() -> str:
    path = os.environ.get(VARIABLE)
    if not path:
        raise Failure("no database: set --database-url, KEYSTEAD_DATABASE_URL or KEYSTEAD_DATABASE_URL_FILE")
    try:
        return read_database_url(path)
    except ValueError as refused:
        raise Failure(str(refused)) from None


def _require_one_variable(context: typer.Context, value: str) -> str:
    """Raise Failure if both variables are set, because they may name two databases. The option takes precedence
    over both."""
    source = context.get_parameter_source("database_url")
    if source is not None and source.name == "ENVIRONMENT" and os.environ.get(VARIABLE):
        raise Failure(f"set {_URL} or {VARIABLE}, not both")
    return value


DatabaseUrl = Annotated[
    str,
    typer.Option(
        envvar=_URL,
        callback=_require_one_variable,
        default_factory=_from_file,
        show_default=False,
        help="postgresql://… or sqlite:///FILE. With a password: better in the variable, or in a file that "
        "KEYSTEAD_DATABASE_URL_FILE names.",
    ),
]


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
