"""`keystead env`: prints the settings of clients, under the names that published examples read.

Not here: where the credentials come from (`credentials`).
"""

from __future__ import annotations

import json
import os
import shlex
from enum import StrEnum
from typing import Annotated, assert_never
from urllib.parse import urlsplit

import typer

from keystead.cli.credentials import CredentialsFile, chosen_credentials
from keystead.client.credentials import CA_FILE, ENVIRONMENT, Credentials

_PUBLIC_PREFIXES = ("NEXT_PUBLIC_", "VITE_")
"""Bundlers put variables with these prefixes into pages: the private key has no such name."""


class Format(StrEnum):
    DOTENV = "dotenv"
    JSON = "json"
    SHELL = "shell"
    TKCLI = "tkcli"


def env(
    format: Annotated[  # noqa: A002 - the name of the flag
        Format,
        typer.Option(
            help="dotenv: for an .env file. json: one object. shell: for eval. tkcli: commands that give "
            "tkcli a key named keystead."
        ),
    ] = Format.DOTENV,
    credentials: CredentialsFile = None,
) -> None:
    """Print the settings that clients and published examples read.

    The private key is among them.
    """
    print(settings_text(chosen_credentials(credentials, os.environ), format), end="")


def settings_text(credentials: Credentials, form: Format) -> str:
    """The settings in one of the forms, with a line break at the end."""
    settings = client_settings(credentials)
    match form:
        case Format.DOTENV:
            return "".join(f'{name}="{value}"\n' for name, value in settings.items())
        case Format.JSON:
            return json.dumps(settings, indent=2) + "\n"
        case Format.SHELL:
            return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in settings.items())
        case Format.TKCLI:
            return _tkcli(credentials)
        case _:
            assert_never(form)


def client_settings(credentials: Credentials) -> dict[str, str]:
    """Each variable with its value: Keystead's own, those of the published examples, those that pages may read.

    Node adds the authorities of its variable to those that it knows. The variables of other programs replace these.
    """
    own = {variable: str(getattr(credentials, field)) for field, variable in ENVIRONMENT.items()}
    public = {"BASE_URL": credentials.base_url, "ORGANIZATION_ID": credentials.organization_id}
    trusted = dict.fromkeys((CA_FILE, "NODE_EXTRA_CA_CERTS"), credentials.ca_file) if credentials.ca_file else {}
    keys = {"API_PUBLIC_KEY": credentials.api_public_key, "API_PRIVATE_KEY": credentials.api_private_key}
    return (
        own
        | trusted
        | public
        | keys
        | {f"TURNKEY_{name}": value for name, value in (public | keys).items()}
        | {prefix + name: value for prefix in _PUBLIC_PREFIXES for name, value in public.items()}
    )


def _tkcli(credentials: Credentials) -> str:
    """tkcli reads a key from two files. It speaks HTTP to localhost:PORT, and HTTPS to every other host."""
    host = urlsplit(credentials.base_url).netloc
    return (
        'mkdir -p "$HOME/.config/turnkey/keys"\n'
        f'(umask 077; printf %s {credentials.api_private_key} > "$HOME/.config/turnkey/keys/keystead.private")\n'
        f'printf %s {credentials.api_public_key} > "$HOME/.config/turnkey/keys/keystead.public"\n'
        f"turnkey request --host {shlex.quote(host)} --organization {credentials.organization_id} "
        '--keys-folder "$HOME/.config/turnkey/keys" --key-name keystead '
        f'--path /public/v1/query/whoami --body \'{{"organizationId":"{credentials.organization_id}"}}\'\n'
    )
