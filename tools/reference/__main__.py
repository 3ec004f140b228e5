"""`python -m tools.reference`: writes docs/reference; with --check, 1 if a page there is not current."""

from __future__ import annotations

import sys
from pathlib import Path

from keystead.operations import CATALOGUE
from tools.reference.examples import run_examples, running_server
from tools.reference.pages import pages

FOLDER = Path(__file__).parents[2] / "docs" / "reference"


def main(arguments: list[str]) -> int:
    """Write the pages and remove those that no group has any more."""
    with running_server() as caller:
        made = pages(run_examples(caller, list(CATALOGUE)))
    found = {path.name: path.read_text() for path in FOLDER.glob("*.md")}
    stale = sorted(name for name in made.keys() | found.keys() if made.get(name) != found.get(name))
    if arguments == ["--check"]:
        for name in stale:
            print(f"docs/reference/{name} is not current: run make generate")
        return int(bool(stale))
    FOLDER.mkdir(exist_ok=True)
    for name in stale:
        if name in made:
            (FOLDER / name).write_text(made[name])
        else:
            (FOLDER / name).unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
