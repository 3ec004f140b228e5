"""The command `keystead`: its commands, and how a failure reads (one line on standard error, exit code 1).

Here: the list of commands. Not here: what each does, one module a subject.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from keystead.cli import api_keys, development, installation, requests, tables
from keystead.cli.failure import Failure

app = typer.Typer(
    name="keystead",
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
    """Options of every command."""
    if debug:
        Failure.show_traceback = True


app.command("dev")(development.dev)
app.command("init")(installation.init)
app.command("serve")(installation.serve)
app.command("request")(requests.request)
app.command("wallets")(tables.wallets)
app.command("users")(tables.users)
app.command("activities")(tables.activities)
app.command("interfaces")(tables.interfaces)
app.add_typer(api_keys.app, name="api-key")


def main() -> None:
    """Run the command line. Exit code 0, 1 for a failure, 2 for wrong usage."""
    try:
        app()
    except Exception as failure:  # noqa: BLE001 - a command's last resort: one line, never a traceback unasked
        Failure.report(failure)
        sys.exit(1)
