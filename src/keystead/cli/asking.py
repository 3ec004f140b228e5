"""Asks the user before something is changed, on a terminal only. Scripts use --yes."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from keystead.cli.failure import Failure

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def confirm(question: str, yes: bool, command: str) -> None:
    """Ask, and return if the answer is yes. Raises Failure if it is no, or if the input is not a terminal."""
    if not yes and not is_yes(question, command):
        raise Failure("nothing was done: the answer was not yes")


def is_yes(question: str, command: str) -> bool:
    """Ask, and return whether the answer is yes. Raises Failure if the input is not a terminal."""
    if not sys.stdin.isatty():
        raise Failure(f"nothing was done: standard input is not a terminal; {command} --yes does not ask")
    sys.stdout.flush()
    print(f"\n{question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
