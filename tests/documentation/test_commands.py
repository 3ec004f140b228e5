"""Every command of Keystead that a page shows is one: its name, its options and its arguments are known."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from keystead.cli.main import app

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "packages").rglob("README.md")])
FENCED = re.compile(r"^```(?:sh|bash|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"(?<=\n\n)(?: {4}\S.*\n(?: {5,}.*\n)*)+")
INLINE = re.compile(r"`(keystead [^`]+)`")
BEFORE = re.compile(r"^(?:\$ |uvx |\.venv/bin/|[A-Z_]+=\S* )*")


def commands_of(page: Path) -> Iterator[str]:
    """As they are written, one a line."""
    text = page.read_text()
    for block in FENCED.findall(text) + INDENTED.findall(re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)):
        for line in block.replace("\\\n", " ").splitlines():
            command = BEFORE.sub("", line.strip())
            if command.startswith("keystead "):
                yield command
    for line in INLINE.findall(re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)):
        yield " ".join(line.split())


SHOWN = {command: page for page in PAGES for command in commands_of(page)}
PLACEHOLDERS = {"COMMAND", "…"}
OPERATORS = ("|", "&", ">", "#")
"""What begins the next command, a redirection or a remark."""


def test_there_are_commands() -> None:
    assert len(SHOWN) > 80


@pytest.mark.parametrize("command", sorted(SHOWN))
def test_a_command_that_a_page_shows(command: str) -> None:
    page = SHOWN[command]
    _, *words = itertools.takewhile(lambda word: word[:1] not in OPERATORS, shlex.split(command))
    found: Any = typer.main.get_command(app)
    context = found.make_context("keystead", [], resilient_parsing=True)
    while hasattr(found, "commands"):
        names = [word for word in words if not word.startswith("-")]
        if not names:
            break
        if names[0] in PLACEHOLDERS:
            return
        words.remove(names[0])
        group, found = found, found.get_command(context, names[0])
        assert found is not None, f"{page}: there is no command {names[0]!r} in {sorted(group.commands)}"
    known = {name for each in found.get_params(context) for name in (*each.opts, *each.secondary_opts)}
    known |= {"-h", "--help", "--debug"}
    given = {word.partition("=")[0] for word in words if word.startswith("-")}
    assert given <= known, page
