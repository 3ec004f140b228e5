"""The one part of the package's metadata that is computed: the readme, with links that work outside the repository.

A package index shows README.md alone, where `docs/tour.md` leads nowhere. All other metadata are in pyproject.toml.
"""

import re
import tomllib
from pathlib import Path

from setuptools import setup

HERE = Path(__file__).parent


def readme() -> str:
    """README.md, each relative link made absolute below the project's source URL."""
    project = tomllib.loads((HERE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    source = project["urls"]["Source"].rstrip("/")
    text = (HERE / "README.md").read_text(encoding="utf-8")
    return re.sub(r"\]\((?!https?:|mailto:|#)([^)]+)\)", rf"]({source}/\1)", text)


setup(long_description=readme(), long_description_content_type="text/markdown")
