"""The credentials file: what a client needs to call as one user. Its owner alone can read it.

Here: writing it, the options of a new one, and where a command's credentials come from. Not here: its form
(`client.credentials`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from msgspec.structs import replace

from keystead.api.errors import DatabaseUnavailable, ServiceError
from keystead.cli.failure import Failure
from keystead.client.credentials import CA_FILE, ENVIRONMENT, Credentials, credentials_in, environment_credentials
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


NewCredentials = Annotated[
    Path | None,
    typer.Option(help="Where to write a key that is made here: a new file, which only its owner can read."),
]
PublicKeyOption = Annotated[
    str, typer.Option(help="The P-256 public key of a pair that was made elsewhere, compressed hex.")
]
BaseUrl = Annotated[str, typer.Option(help="The address to write into the credentials.")]


def check_new_key(credentials: Path | None, api_public_key: str, base_url: str) -> None:
    """Raise BadParameter unless these options say which key is used, and are well formed."""
    from keystead.client.requests import check_base_url  # it loads cryptography, which few commands need so early

    if not api_public_key and credentials is None:
        raise typer.BadParameter("give --api-public-key, or --credentials for a key that is made here")
    try:
        check_base_url(base_url)
    except UsageError as refused:
        raise typer.BadParameter(str(refused).removeprefix("base_url: "), param_hint="--base-url") from None


def check_is_new(credentials: Path | None) -> None:
    """Raise Failure if the file exists."""
    if credentials is not None and credentials.exists():
        raise Failure(f"{credentials} exists already and is not overwritten: give another file to --credentials")


@contextmanager
def kept_if_on_record(file: Path | None) -> Iterator[None]:
    """A block that commits the key of this file, which was written before, so that it is never lost. The file is
    removed if the key is certainly not on record."""
    try:
        yield
    except DatabaseUnavailable:  # the database may have committed
        if file is not None:
            print(f"{file} is kept: it has the only copy of the new key, which may be on record.")
        raise
    except (ServiceError, ValueError, Failure):
        remove(file)
        raise


def remove(file: Path | None) -> None:
    """Remove a file with a key that is not on record."""
    if file is not None:
        file.unlink(missing_ok=True)


def write_credentials(path: Path, credentials: Credentials) -> None:
    """Write the file with mode 0600, completely or not at all. Raises Failure."""
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
    """The credentials in a file. Raises Failure if it is missing or is not a credentials file."""
    try:
        return credentials_in(path)
    except UsageError as refused:
        raise Failure(str(refused)) from refused


def chosen_file(given: Path | None, environment: Mapping[str, str]) -> Path | None:
    """The file that a command reads: the given file, or the one that KEYSTEAD_CREDENTIALS names, or the default
    file.

    None if no file is given and a variable of the key or of the organization is set: then the variables count.
    """
    if given is not None:
        return given
    if not _is_base_url_alone(environment):
        return None
    named = environment.get(FILE_VARIABLE)
    return Path(named) if named else DEFAULT_FILE


def chosen_credentials(given: Path | None, environment: Mapping[str, str]) -> Credentials:
    """The credentials of `chosen_file`, or those of the variables. If only the variable of the base URL is set, it
    replaces the base URL of the file. Raises Failure."""
    file = chosen_file(given, environment)
    if file is None:
        try:
            return environment_credentials(environment)
        except UsageError as refused:
            raise Failure(str(refused)) from refused
    if given is None and not environment.get(FILE_VARIABLE) and not file.exists():
        raise Failure(
            f"no credentials: give --credentials FILE, set {', '.join(ENVIRONMENT.values())}, "
            f"or run in a folder with {DEFAULT_FILE} (keystead dev makes one)"
        )
    credentials = read_credentials(file)
    base_url = environment.get(ENVIRONMENT["base_url"])
    if not base_url or not _is_base_url_alone(environment):
        return credentials
    from keystead.client.requests import check_base_url  # it loads cryptography, which few commands need so early

    try:
        check_base_url(base_url)
    except UsageError as refused:
        raise Failure(f"{ENVIRONMENT['base_url']}: {refused}") from None
    return replace(credentials, base_url=base_url, ca_file=environment.get(CA_FILE) or credentials.ca_file)


def _is_base_url_alone(environment: Mapping[str, str]) -> bool:
    return not any(environment.get(variable) for name, variable in ENVIRONMENT.items() if name != "base_url")
