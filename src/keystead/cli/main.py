"""The command `keystead`: its commands, and how a failure is reported (one line on standard error, exit code 1).

Here: the list of commands. The module of a command is imported only when it is called, so help, completion and
`keystead wallets` load no server. Not here: the commands, one module for each subject.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Annotated, Any, Final, NamedTuple

import typer
from typer.completion import completion_init  # type: ignore[attr-defined]
from typer.core import TyperCommand, TyperGroup

from keystead.cli.completion import COMPLETE_VARIABLE
from keystead.cli.failure import Failure
from keystead.cli.plain_help import PlainTyper

_GARBAGE_THRESHOLD: Final = 100_000
"""A command imports hundreds of modules, which are never garbage. With Python's default, the searches for garbage
meanwhile take an eighth of the time of a start. A server sets its own (`server.run`)."""


class Command(NamedTuple):
    """The place of a command: module:function or module:group of this package. `help`: its line in the help of
    `keystead`; the command's own help begins with the same words."""

    place: str
    help: str


COMMANDS: Final[Mapping[str, Command]] = {
    "dev": Command("development.development:dev", "Run a development server."),
    "console": Command("development.console:console", "Print a link to the console of `keystead dev`, logged in."),
    "env": Command("development.environment:env", "Print the settings that clients and published examples read."),
    "fixtures": Command("development.fixtures:app", "Keep an organization as a file that a server makes again."),
    "init": Command("operator.installation:init", "Migrate the database, and make the first organization."),
    "migrate": Command("operator.migrating:migrate_database", "Bring the tables of a database to this version."),
    "status": Command("operator.status:status", "Show the state of an installation on one screen."),
    "check": Command("operator.checking:check", "Check that a database is whole and fits its master key."),
    "backup": Command("operator.backups:backup", "Copy a SQLite database to a file, while servers use it."),
    "restore": Command("operator.backups:restore_database", "Make a new SQLite database from a backup."),
    "recover": Command("operator.recovering:app", "Let people in again who are locked out of an organization."),
    "serve": Command("operator.serving:serve", "Serve an installation that `init` made."),
    "request": Command("requests:request", "Stamp a request and send it."),
    "wallets": Command("tables:wallets", "List the wallets."),
    "users": Command("tables:users", "List the users."),
    "interfaces": Command("tables:interfaces", "List the contract interfaces."),
    "activities": Command("activities:activities", "List the newest activities: who, what, to whom, how much."),
    "show": Command("showing:show", "Describe what an activity asks for."),
    "approve": Command("activities:approve", "Approve an activity that waits, after showing it."),
    "reject": Command("activities:reject", "Reject an activity that waits, after showing it."),
    "policy": Command("policies.policies:app", "List, compare, apply, test and explain policies."),
    "controls": Command("policies.controls:app", "List velocity controls, and show how much of them is left."),
    "outbox": Command("outbox:outbox", "Show the e-mails and SMS that `keystead dev` has kept."),
    "api-key": Command("api_keys:app", "Make key pairs that stamp requests."),
    "auth-proxy": Command("auth_proxies:app", "Say what browsers without a key may do."),
    "keys": Command("operator.keys:app", "Show and change the keys of the installation itself."),
    "completion": Command("completion:completion", "Print the completion of a shell."),
}


class _Commands(TyperGroup):
    """Imports the module of a command when the command is called."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = {name: TyperCommand(name, help=command.help) for name, command in COMMANDS.items()}
        self._is_listing = False

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if self._is_listing or cmd_name not in COMMANDS:
            return super().get_command(ctx, cmd_name)
        module, _, name = COMMANDS[cmd_name].place.partition(":")
        member = getattr(import_module(f"keystead.cli.{module}"), name)
        if isinstance(member, typer.Typer):
            return typer.main.get_command(member)
        single = PlainTyper(add_completion=False, rich_markup_mode=None)
        single.command(cmd_name)(member)
        return typer.main.get_command(single)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with self._listing():
            super().format_commands(ctx, formatter)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        with self._listing():
            return super().shell_complete(ctx, incomplete)

    @contextmanager
    def _listing(self) -> Iterator[None]:
        """While commands are listed, do not import their modules: names and lines of help suffice."""
        self._is_listing = True
        try:
            yield
        finally:
            self._is_listing = False


app = typer.Typer(
    name="keystead",
    cls=_Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        from keystead.cli.versions import version_line

        print(version_line())
        raise typer.Exit


@app.callback()
def options(
    debug: Annotated[bool, typer.Option("--debug", help="Show a traceback when a command fails.")] = False,
    _version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Keep keys and wallets behind Turnkey's public HTTP API, on your own machines.

    `keystead dev` starts a server to try it on; `keystead COMMAND -h` explains a command.
    """
    if debug:
        Failure.show_traceback = True


def main() -> None:
    """Run the command line. Exit code 0, 1 for a failure, 2 for wrong usage."""
    gc.set_threshold(_GARBAGE_THRESHOLD)
    if COMPLETE_VARIABLE in os.environ:
        completion_init()
    try:
        app(prog_name="keystead")
    except Exception as failure:  # noqa: BLE001 - the user gets one line, and a traceback with --debug only
        Failure.report(failure)
        sys.exit(1)
