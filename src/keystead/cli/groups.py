"""Groups of commands, such as `keystead policy`: all of one style."""

from __future__ import annotations

import typer

from keystead.cli.plain_help import PlainTyper


def group(help_text: str) -> typer.Typer:
    """A group, with the sentence that its help begins with."""
    made = PlainTyper(no_args_is_help=True, rich_markup_mode=None, add_completion=False, help=help_text)

    @made.callback()
    def nothing() -> None:
        """A callback makes a group of one command a group."""

    return made
