"""The option that names the database. It has a module of its own so that `keystead migrate` loads no server."""

from __future__ import annotations

from typing import Annotated

import typer

DatabaseUrl = Annotated[
    str,
    typer.Option(
        envvar="KEYSTEAD_DATABASE_URL",
        help="postgresql://… or sqlite:///FILE. With a password: better in the variable.",
    ),
]
