"""How help names values: `--port NUMBER`, `Usage: keystead backup [OPTIONS] FILE`; how a wrong choice is refused.

Not here: the texts of help, which stand beside each option; typer writes the names of Python's types into it.
"""

from __future__ import annotations

import re
from typing import Any, Final

import typer
from typer.core import TyperCommand

from keystead.api.spelling import did_you_mean

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
"""What typer calls the type of a value, and what help says. Choices are not here: they name themselves."""


def _value_name(option: Any, context: Any) -> str:
    shown: str = option.display_type(context).strip("<>")
    if shown.startswith("list["):
        shown = shown.removeprefix("list[").removesuffix("]")
    return _NAMES.get(shown, shown)


_NO_CHOICE: Final = re.compile(r"(?:Value error, )?'(?P<given>.*)' is not one of (?P<choices>'.*')\.?", re.DOTALL)


def _in_words(refusal: str) -> str:
    """The refusal of a value that is no choice, as other messages say it."""
    match = _NO_CHOICE.fullmatch(refusal)
    if match is None:
        return refusal
    choices = match["choices"].strip("'").split("', '")
    expected = did_you_mean(match["given"], choices) or f": expected {' or '.join(choices)}"
    return f"{match['given']!r} is unknown{expected}"


class PlainCommand(TyperCommand):
    """A command whose help has no name of a Python type, and its refusals none of a library's exceptions."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as refused:
            refused.message = _in_words(refused.message)
            raise

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        pieces = [self.options_metavar or ""]
        parameters: list[Any] = self.get_params(ctx)
        for each in parameters:
            if each.param_type_name == "argument":
                name = each.display_name_raw
                pieces.append((name if each.required else f"[{name}]") + ("..." if each.nargs != 1 else ""))
        return pieces

    def format_options(self, ctx: Any, formatter: Any) -> None:
        arguments, options = [], []
        parameters: list[Any] = self.get_params(ctx)
        for each in parameters:
            if each.param_type_name == "option":
                each.metavar = each.metavar or _value_name(each, ctx)
                options.append(each.get_help_record(ctx))
            else:
                name, text = each.get_help_record(ctx)
                arguments.append((name.partition(" <")[0], text))
        for title, rows in (("Arguments", arguments), ("Options", options)):
            if rows := [row for row in rows if row is not None]:
                with formatter.section(title):
                    formatter.write_dl(rows)


class PlainTyper(typer.Typer):
    """Makes plain commands."""

    def command(self, name: str | None = None, **attributes: Any) -> Any:
        return super().command(name, cls=PlainCommand, **attributes)
