"""The command `keystead`: its commands, and how a failure reads (one line on standard error, exit code 1).

Here: the list of commands, each imported only when it is asked for: a server is not loaded to list wallets.
Not here: what each does, one module a subject.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from keystead.cli.failure import Failure

COMMANDS = {
    "dev": "development:dev",
    "env": "environment:env",
    "init": "installation:init",
    "migrate": "migrating:migrate_database",
    "serve": "serving:serve",
    "request": "requests:request",
    "wallets": "tables:wallets",
    "users": "tables:users",
    "activities": "activities:activities",
    "show": "showing:show",
    "interfaces": "tables:interfaces",
    "outbox": "outbox:outbox",
    "approve": "votes:approve",
    "reject": "votes:reject",
    "policy": "policies:app",
    "api-key": "api_keys:app",
    "auth-proxy": "auth_proxies:app",
    "keys": "keys:app",
}
"""Where each command is: module of this package, and function or group in it."""


class _Commands(TyperGroup):
    """Imports a command's module when the command is named or help lists it."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - the base class passes it
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 - the base class passes it
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name].partition(":")
        found = getattr(import_module(f"keystead.cli.{module}"), name)
        if isinstance(found, typer.Typer):
            return typer.main.get_command(found)
        alone = typer.Typer(add_completion=False, rich_markup_mode=None)
        alone.command(cmd_name)(found)
        return typer.main.get_command(alone)


app = typer.Typer(
    name="keystead",
    cls=_Commands,
    help="Organizations, users, wallets and contract interfaces behind a signed HTTP API.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode=None,
)


@app.callback()
def options(
    debug: Annotated[bool, typer.Option("--debug", help="Show a traceback when a command fails.")] = False,
) -> None:
    """Organizations, users, wallets and contract interfaces behind a signed HTTP API."""
    if debug:
        Failure.show_traceback = True


def main() -> None:
    """Run the command line. Exit code 0, 1 for a failure, 2 for wrong usage."""
    try:
        app()
    except Exception as failure:  # noqa: BLE001 - the user gets one line, and a traceback with --debug only
        Failure.report(failure)
        sys.exit(1)
