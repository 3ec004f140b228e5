"""`keystead request`: stamps any request, and sends it or prints it as a curl line.

Here also: the client of the other commands.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from keystead.api.choices import did_you_mean
from keystead.api.operation_paths import probably_meant
from keystead.api.public_schema import PUBLIC_SCHEMA
from keystead.cli.asking import Yes
from keystead.cli.credentials import CredentialsFile, chosen_credentials, chosen_file
from keystead.cli.failure import Failure
from keystead.cli.lockouts import confirm_lockout, lockout
from keystead.client.client import Client
from keystead.client.credentials import Credentials
from keystead.client.errors import ApiError, KeysteadError, PermissionDenied, UsageError
from keystead.client.operations import ACTIVITY_TYPES, QUERIES
from keystead.client.requests import Prepared, short_path


@contextmanager
def open_client(credentials: Path | None) -> Iterator[Client]:
    """A client with the chosen credentials. Its errors become Failure, with a hint where one helps."""
    chosen, file = chosen_credentials(credentials, os.environ), chosen_file(credentials, os.environ)
    try:
        with _client(chosen, file) as client:
            yield client
    except PermissionDenied as denied:
        evaluated = next((detail["activityId"] for detail in denied.details if "activityId" in detail), None)
        hint = f"; `keystead policy explain {evaluated}` says which policies were evaluated" if evaluated else ""
        raise Failure(f"{denied}{hint}") from denied
    except ApiError as failed:
        is_unknown_here = (
            failed.machine_code == "ORGANIZATION_NOT_FOUND" and chosen.organization_id in failed.message
        )
        source = "the KEYSTEAD_… variables" if file is None else str(file)
        hint = (
            f"; do the address {chosen.base_url} and the key in {source} belong together?"
            if is_unknown_here
            else ""
        )
        raise Failure(f"{failed}{hint}") from failed
    except KeysteadError as failed:
        raise Failure(str(failed)) from failed


def client_paths() -> list[str]:
    """The paths of the operations that the client knows, such as query/list_wallets."""
    return [*(f"query/{name}" for name in QUERIES), *(f"submit/{name}" for name in ACTIVITY_TYPES)]


def _known_paths() -> list[str]:
    """The paths of the operations that the client or the public schema knows."""
    public = (path for operations in PUBLIC_SCHEMA.operations.values() for path in operations)
    return list(dict.fromkeys([*client_paths(), *public]))


def _complete_operation(typed: str) -> list[str]:
    paths = client_paths()
    return [word for word in (*(path.partition("/")[2] for path in paths), *paths) if word.startswith(typed)]


def _client(credentials: Credentials, file: Path | None) -> Client:
    """A client with these credentials. Raises Failure, which names their file if they come from one."""
    try:
        return Client(
            credentials.base_url,
            credentials.api_public_key,
            credentials.api_private_key,
            credentials.organization_id,
            ca_file=credentials.ca_file,
        )
    except UsageError as refused:
        # A chained exception would give a traceback access to the frames, which hold the private half.
        raise Failure(f"credentials file {file}: {refused}" if file else str(refused)) from None


def request(
    path: Annotated[
        str,
        typer.Argument(
            metavar="OPERATION",
            help="For example list_wallets or create_wallet, or a path: submit/create_wallet.",
            autocompletion=_complete_operation,
        ),
    ],
    body: Annotated[
        str, typer.Argument(metavar="BODY", help="JSON: a query's fields, or a submission's parameters.")
    ] = "{}",
    credentials: CredentialsFile = None,
    curl: Annotated[bool, typer.Option("--curl", help="Print a curl line instead of sending.")] = False,
    yes: Yes = False,
) -> None:
    """Stamp a request and send it.

    organizationId is filled in, and for a submission also type and timestampMs. The BODY of a submission may be its
    parameters alone. Before an IP allow-list is sent that would refuse your own address, you are asked.
    """
    path = _path_of(path)
    fields = _fields(path, body)
    if "type" not in fields:
        _require_known(path)
    with open_client(credentials) as client:
        if curl:
            print(curl_line(client.prepare(path, fields), chosen_credentials(credentials, os.environ).ca_file))
        else:
            kind, _, operation = path.partition("/")
            if kind == "submit" and (caution := lockout(client, operation, fields)) is not None:
                confirm_lockout(caution, yes, "keystead request")
            print(format_json(client.request(path, fields)))


def _path_of(operation: str) -> str:
    """The short path of an operation, which is given by its name or path. Raises BadParameter."""
    if "/" in operation:
        try:
            return short_path(operation)
        except UsageError as refused:
            raise typer.BadParameter(str(refused), param_hint="OPERATION") from None
    by_name = {path.rpartition("/")[2]: path for path in _known_paths()}
    if operation not in by_name:
        suggestion = did_you_mean(operation, by_name)
        raise typer.BadParameter(f"unknown operation {operation}{suggestion}", param_hint="OPERATION")
    return by_name[operation]


def _require_known(short: str) -> None:
    """Raise BadParameter for an operation that neither the client nor the public schema knows."""
    kind, _, name = short.partition("/")
    known = _known_paths()
    if short not in known:
        raise typer.BadParameter(f"unknown operation {short}{probably_meant(short, known)}", param_hint="OPERATION")
    if kind == "submit" and name not in ACTIVITY_TYPES:
        raise typer.BadParameter(
            f"the activity type of {short} is not known here: add `type` to the body", param_hint="OPERATION"
        )


def _fields(path: str, body: str) -> dict[str, Any]:
    try:
        fields = msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError) as refused:
        raise typer.BadParameter(f"not a JSON object: {refused}", param_hint="BODY") from None
    if path.startswith("submit/") and "parameters" not in fields:
        return {"parameters": fields}
    return fields


def format_json(answer: Any) -> str:
    """The answer as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(answer), indent=2).decode()


def curl_line(prepared: Prepared, ca_file: str | None) -> str:
    """The same request as a command for a POSIX shell. `ca_file`: see `Credentials`."""
    headers = "".join(f" -H {shlex.quote(f'{name}: {value}')}" for name, value in prepared.headers.items())
    trusted = f"--cacert {shlex.quote(ca_file)} " if ca_file else ""
    body = shlex.quote(prepared.body.decode())
    return f"curl -sS {trusted}{shlex.quote(prepared.url)}{headers} --data-binary {body}"
