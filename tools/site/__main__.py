"""`python -m tools.site`: builds the documentation into build/site. A warning of the generator is an error.

Exit code 1 with the reason when a link leads nowhere, when a page is in no place of the navigation, or when a built
page would load something from another origin.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from tools.site.built import foreign_resources, missing_targets
from tools.site.configuration import configuration
from tools.site.sources import ROOT, Sources

BUILD = ROOT / "build"


def build(folder: Path) -> list[str]:
    """Build the site into `folder`/site; what is wrong with it, a line each."""
    shutil.rmtree(folder / "pages", ignore_errors=True)
    Sources().write(folder / "pages")
    (folder / "zensical.toml").write_text(configuration())
    generator = str(Path(sys.executable).with_name("zensical"))
    options = ["--strict", "--clean", "--config-file", "zensical.toml"]
    built = subprocess.run([generator, "build", *options], cwd=folder, capture_output=True, text=True)
    if built.returncode:
        return [built.stdout + built.stderr]
    return [*missing_targets(folder / "site"), *foreign_resources(folder / "site")]


def main() -> int:
    BUILD.mkdir(exist_ok=True)
    try:
        wrong = build(BUILD)
    except ValueError as refused:
        wrong = [str(refused)]
    print("\n".join(wrong) if wrong else f"built {BUILD / 'site' / 'index.html'}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
