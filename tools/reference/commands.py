"""The page of the commands: what each says about itself and its options (`keystead COMMAND -h`).

Not here: the commands (`keystead.cli`), whose help this is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer
from typer.core import TyperGroup, TyperOption

from keystead.cli.main import COMMANDS, app

HOW_TO_READ = """\
Every command with its arguments and options. [Command line](../command-line.md) says where commands take their
credentials from, and shows examples."""


def commands_page(mark: str) -> str:
    """The text of the page. `mark`: its first line."""
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    context = typer.Context(group, info_name="keystead")
    lines = [mark, "# Commands", "", HOW_TO_READ]
    for name in COMMANDS:
        lines += _command(group.get_command(context, name), f"keystead {name}", context)
    return "\n".join(lines) + "\n"


def _command(command: Any, name: str, parent: Any) -> Iterator[str]:
    """The lines about a command, or about each command of a group."""
    context = typer.Context(command, parent=parent, info_name=name.rpartition(" ")[2])
    if isinstance(command, TyperGroup):
        for member in command.list_commands(context):
            yield from _command(command.get_command(context, member), f"{name} {member}", context)
        return
    yield from ("", f"## {name}", "")
    pieces = [piece for piece in command.collect_usage_pieces(context) if piece != "[OPTIONS]"]
    if pieces:
        yield from (f"`{name} {' '.join(pieces)}`", "")
    yield from (line.strip() for line in (command.help or "").strip().splitlines())
    options = [each.get_help_record(context) for each in command.params if isinstance(each, TyperOption)]
    if options:
        yield from ("", "| option | meaning |", "|---|---|")
        yield from (f"| `{_cell(option[0])}` | {_cell(option[1])} |" for option in options if option is not None)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
