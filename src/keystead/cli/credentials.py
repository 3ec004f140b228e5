"""The credentials file: what a client needs to call as one user. Its owner alone can read it.

Here: writing it, and where a command's credentials come from. Not here: its form (`client.credentials`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from msgspec.structs import replace

from keystead.cli.failure import Failure
from keystead.client.credentials import ENVIRONMENT, Credentials, credentials_in, environment_credentials
from keystead.client.errors import UsageError

DEFAULT_FILE = Path(".keystead/credentials.json")
FILE_VARIABLE = "KEYSTEAD_CREDENTIALS"

CredentialsFile = Annotated[
    Path | None,
    typer.Option(
        "--credentials",
        help=f"Credentials file. [default: KEYSTEAD_… variables, {FILE_VARIABLE}, else {DEFAULT_FILE}]",
    ),
]


def write_credentials(path: Path, credentials: Credentials) -> None:
    """Write the file, mode 0600, whole or not at all."""
    text = msgspec.json.format(msgspec.json.encode(credentials), indent=2) + b"\n"
    unfinished = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except OSError as refused:
        unfinished.unlink(missing_ok=True)
        raise Failure(f"cannot write {path}: {refused.strerror}") from refused


def read_credentials(path: Path) -> Credentials:
    """Raises Failure if the file is missing or is not a credentials file."""
    try:
        return credentials_in(path)
    except UsageError as refused:
        raise Failure(str(refused)) from refused


def chosen_credentials(given: Path | None, environment: Mapping[str, str]) -> Credentials:
    """The given file, else the variables if any is set, else the file that a variable names, else the default
    one. Of the variables the base URL may be set alone: then it replaces the one of the file. With a given file the
    other variables count for nothing, and neither does the base URL beside them."""
    base_url = environment.get(ENVIRONMENT["base_url"])
    is_alone = not any(environment.get(variable) for name, variable in ENVIRONMENT.items() if name != "base_url")
    if given is None and not is_alone:
        try:
            return environment_credentials(environment)
        except UsageError as refused:
            raise Failure(str(refused)) from refused
    named = environment.get(FILE_VARIABLE)
    if given is None and named is None and not DEFAULT_FILE.exists():
        raise Failure(
            f"no credentials: give --credentials FILE, set {', '.join(ENVIRONMENT.values())}, "
            f"or run in a folder with {DEFAULT_FILE} (keystead dev makes one)"
        )
    credentials = read_credentials(given or (Path(named) if named else DEFAULT_FILE))
    return replace(credentials, base_url=base_url) if base_url and is_alone else credentials
