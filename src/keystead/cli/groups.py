"""Groups of commands, such as `keystead policy`: all of one style."""

from __future__ import annotations

import typer

from keystead.cli.plain_help import PlainTyper


def group(help_text: str) -> typer.Typer:
    """A new group of commands. `help_text`: the first sentence of its help."""
    app = PlainTyper(no_args_is_help=True, rich_markup_mode=None, add_completion=False, help=help_text)

    @app.callback()
    def no_options() -> None:
        """Does nothing: without a callback, typer would not make a group of a single command."""

    return app
