"""Runs `pip install` with these arguments, and says in one line how far it is: `make run` takes most of a minute.

It runs before anything is installed, so it uses nothing but the standard library."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise

_COLLECTING = re.compile(r"Collecting (?P<name>[A-Za-z0-9._-]+)")
_PINNED = re.compile(r"^[A-Za-z0-9._-]+(?:\[.*\])?==", re.MULTILINE)
_ERRORS_SHOWN = 30


def pinned(arguments: list[str]) -> int:
    """How many packages the requirement files among these arguments pin."""
    files = [value for option, value in pairwise(arguments) if option == "--requirement"]
    texts = []
    for file in files:
        with open(file) as opened:  # noqa: PTH123 - a module without imports starts faster
            texts.append(opened.read())
    return sum(len(_PINNED.findall(text)) for text in texts)


def progress(lines: Iterator[str], total: int, said: list[str]) -> Iterator[str]:
    """What to show after each line of pip. Appends every line to `said`."""
    number = 0
    for line in lines:
        said.append(line)
        if found := _COLLECTING.match(line.strip()):
            number += 1
            yield f"  getting package {number} of at most {max(total, number)}: {found['name']}"
        elif line.startswith("Installing collected packages"):
            yield f"  writing {number} packages"


def main(arguments: list[str]) -> int:
    """The exit code of pip. If it fails, its last lines are printed."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--progress-bar", "off"]
    is_terminal, said = sys.stdout.isatty(), list[str]()
    with subprocess.Popen(
        [*command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as pip:
        assert pip.stdout is not None
        for text in progress(pip.stdout, pinned(arguments), said):
            print(f"\r\x1b[K{text}" if is_terminal else text, end="" if is_terminal else "\n", flush=True)
    if is_terminal:
        print("\r\x1b[K", end="", flush=True)
    if pip.returncode:
        print("".join(said[-_ERRORS_SHOWN:]), end="", file=sys.stderr)
    return pip.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
