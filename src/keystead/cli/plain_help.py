"""How help names values (`--port NUMBER`, `Usage: keystead backup [OPTIONS] FILE`), and how a wrong choice is
refused.

typer would show the names of Python's types. Not here: the texts of help, which are written at each option.
"""

from __future__ import annotations

import re
from typing import Any, Final

import typer
from typer.core import TyperCommand

from keystead.api.choices import did_you_mean

_NAMES: Final = {
    "str": "TEXT",
    "int": "NUMBER",
    "int range": "NUMBER",
    "float": "NUMBER",
    "float range": "NUMBER",
    "Path": "PATH",
    "path": "PATH",
    "file": "PATH",
    "directory": "PATH",
}
"""The name in help, by typer's name of the type. Choices are not here: help lists them."""


def _value_name(option: Any, context: Any) -> str:
    shown: str = option.display_type(context).strip("<>")
    if shown.startswith("list["):
        shown = shown.removeprefix("list[").removesuffix("]")
    return _NAMES.get(shown, shown)


_NO_CHOICE: Final = re.compile(r"(?:Value error, )?'(?P<given>.*)' is not one of (?P<choices>'.*')\.?", re.DOTALL)


def _reword(refusal: str) -> str:
    """The refusal of a value that is not one of the choices, in the style of the other messages."""
    match = _NO_CHOICE.fullmatch(refusal)
    if match is None:
        return refusal
    choices = match["choices"].strip("'").split("', '")
    expected = did_you_mean(match["given"], choices) or f": expected {' or '.join(choices)}"
    return f"{match['given']!r} is unknown{expected}"


class PlainCommand(TyperCommand):
    """A command whose help names no Python type, and whose refusals name no exception of a library."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as refused:
            refused.message = _reword(refused.message)
            raise

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        pieces = [self.options_metavar or ""]
        parameters: list[Any] = self.get_params(ctx)
        for parameter in parameters:
            if parameter.param_type_name == "argument":
                name = parameter.display_name_raw
                pieces.append(
                    (name if parameter.required else f"[{name}]") + ("..." if parameter.nargs != 1 else "")
                )
        return pieces

    def format_options(self, ctx: Any, formatter: Any) -> None:
        arguments, options = [], []
        parameters: list[Any] = self.get_params(ctx)
        for parameter in parameters:
            if parameter.param_type_name == "option":
                parameter.metavar = parameter.metavar or _value_name(parameter, ctx)
                options.append(parameter.get_help_record(ctx))
            else:
                name, text = parameter.get_help_record(ctx)
                arguments.append((name.partition(" <")[0], text))
        for title, rows in (("Arguments", arguments), ("Options", options)):
            if rows := [row for row in rows if row is not None]:
                with formatter.section(title):
                    formatter.write_dl(rows)


class PlainTyper(typer.Typer):
    """An application whose commands are PlainCommands."""

    def command(self, name: str | None = None, **attributes: Any) -> Any:
        return super().command(name, cls=PlainCommand, **attributes)
