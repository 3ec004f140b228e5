"""Scripts of packages that pages load, and diagrams: blocks of Mermaid, which code hosts draw, too.

The generator would load both from another origin. Here they come from tools/site/node_modules (package.json), and
Mermaid only on the pages that have a diagram.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path, PurePosixPath

PACKAGES = Path(__file__).parent / "node_modules"
SCRIPTS = PurePosixPath("assets/scripts")
DIAGRAMS = "mermaid.tiny.js"
COPIED = {
    DIAGRAMS: "@mermaid-js/tiny/dist/mermaid.tiny.js",
    "iframe-worker.js": "iframe-worker/shim/index.js",
}
"""By the name in the site. zensical.toml names the second one: without it the generator adds its own address."""


def copy_scripts(folder: Path) -> None:
    """Put the scripts below the pages. Raises FileNotFoundError if `make docs` did not install the packages."""
    (folder / SCRIPTS).mkdir(parents=True, exist_ok=True)
    for name, source in COPIED.items():
        shutil.copyfile(PACKAGES / source, folder / SCRIPTS / name)


def with_diagrams(text: str, place: PurePosixPath) -> str:
    """The page at this place of the site, with the script that draws its diagrams if it has any."""
    if not re.search(r"^```mermaid$", text, re.MULTILINE):
        return text
    script = os.path.relpath(SCRIPTS / DIAGRAMS, place.parent)
    return f'{text}\n<script src="{script}"></script>\n'
