"""The installation that an operator's command works on: the one of flags and variables, else a development server's
folder.

Here: the options, and reading them as the settings of a server. Not here: commands that take a database alone
(`database_url`).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Final

import typer

from keystead.cli.failure import Failure
from keystead.server.settings.settings import Settings, SettingsError, as_variables, from_environment, variable_of

ChosenDatabaseUrl = Annotated[
    str,
    typer.Option(
        help="postgresql://… or sqlite:///FILE. With a password: better in KEYSTEAD_DATABASE_URL, or in a file "
        "that KEYSTEAD_DATABASE_URL_FILE names."
    ),
]
ChosenMasterKey = Annotated[
    str, typer.Option(help="The master key: a file, or a PKCS#11 URI; also KEYSTEAD_MASTER_KEY_FILE.")
]
ChosenOtherMasterKey = Annotated[
    str,
    typer.Option(help="The second master key, during a rotation; also KEYSTEAD_OTHER_MASTER_KEY_FILE."),
]
ChosenData = Annotated[
    Path | None,
    typer.Option(
        help="Folder of a development server. [default: .keystead, if no database is given]", show_default=False
    ),
]

_DATABASE: Final = frozenset({variable_of("database_url"), variable_of("database_url_file")})
_MASTER_KEY: Final = frozenset({variable_of("master_key"), variable_of("master_key_file")})


def chosen_settings(
    *, database_url: str, master_key_file: str = "", other_master_key_file: str = "", data: Path | None = None
) -> Settings:
    """The settings in these flags and in the environment, or those of a development server's folder: of `data`, or
    of the default folder if neither flags nor environment name a database. Raises Failure."""
    flags = as_variables(
        {
            "database_url": database_url,
            "master_key_file": master_key_file,
            "other_master_key_file": other_master_key_file,
        }
    )
    variables = dict(os.environ)
    for names in (_DATABASE, _MASTER_KEY):  # a flag takes precedence over each variable of its group
        if flags.keys() & names:
            for name in names:
                variables.pop(name, None)
    try:
        if data is not None or not any(map({**variables, **flags}.get, _DATABASE)):
            from keystead.cli.development.folder import DEFAULT, DevelopmentFolder  # few commands need it

            folder = DevelopmentFolder(data or DEFAULT)
            if folder.exists():
                return folder.settings()
            if data is not None:
                raise Failure(f"--data {data}: this is not the folder of a development server")
        return from_environment({**variables, **flags})
    except SettingsError as refused:
        raise Failure(str(refused)) from None
