"""Writes the sources of the package `keystead-client`: the Python client alone, under an import name of its own.

    python -m tools.client_package FOLDER

The folder then holds all that building a distribution needs. Here: which modules belong to it (what the client
imports, directly or not), the import name in them, the metadata. Not here: the client (`keystead.client`).
"""

from __future__ import annotations

import argparse
import ast
import re
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
SOURCE: Final = ROOT / "src"
NAME: Final = "keystead-client"
IMPORT_NAME: Final = "keystead_client"

_DOTTED = re.compile(r"\bkeystead(?=\.(?:api|client|primitives|stamps)\b)")
_FROM = re.compile(r"\bfrom keystead(?= import )")
_OWN_VERSION = re.compile(r'(?<=version\(")keystead(?="\))')

README: Final = """# keystead-client

The Python client of [Keystead](HOMEPAGE), a self-hosted server for Turnkey's public HTTP API, without the server.

```python
from keystead_client import Client

client = Client.from_env()
print(client.list_wallets().wallets)
```

It is the client of the package `keystead` of the same version, under another import name, so that both may be
installed side by side. [How it is used](DOCUMENTATION).

Apache-2.0.
"""


def write_package(folder: Path) -> None:
    """Write the package's sources into a folder that does not exist yet."""
    modules = _modules()
    for name, file in modules.items():
        target = folder / "src" / IMPORT_NAME / file.relative_to(SOURCE / "keystead")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(_renamed(file.read_text(encoding="utf-8"), name), encoding="utf-8")
    (folder / "src" / IMPORT_NAME / "py.typed").touch()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    urls = project["urls"]
    readme = README.replace("HOMEPAGE", urls["Homepage"]).replace("DOCUMENTATION", urls["Documentation"])
    (folder / "README.md").write_text(readme, encoding="utf-8")
    (folder / "LICENSE").write_bytes((ROOT / "LICENSE").read_bytes())
    (folder / "pyproject.toml").write_text(
        _metadata(project, sorted(_dependencies(modules, project))), encoding="utf-8"
    )


def _modules() -> dict[str, Path]:
    """The files of the client, and of what it imports of Keystead, by their dotted names."""
    found: dict[str, Path] = {}
    waiting = ["keystead", *(f"keystead.client.{file.stem}" for file in (SOURCE / "keystead/client").glob("*.py"))]
    while waiting:
        name = waiting.pop()
        file = _file(name)
        if file is None or name in found:
            continue
        found[name] = file
        waiting += [name.rpartition(".")[0], *_imported(file)]
    return found


def _file(name: str) -> Path | None:
    place = SOURCE / name.replace(".", "/")
    files = (place / "__init__.py", place.with_suffix(".py"))
    return next((file for file in files if name and file.is_file()), None)


def _imported(file: Path) -> Iterator[str]:
    """The dotted names of what the file imports: modules, and names in them."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module)
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _renamed(text: str, name: str) -> str:
    text = _OWN_VERSION.sub(NAME, _FROM.sub(f"from {IMPORT_NAME}", _DOTTED.sub(IMPORT_NAME, text)))
    if left := re.search(r"^\s*(?:from|import) keystead\b.*", text, re.MULTILINE):
        raise ValueError(f"{name}: the import name of {left[0].strip()!r} is not changed")
    return text


def _dependencies(modules: dict[str, Path], project: dict[str, Any]) -> Iterator[str]:
    """The declared dependencies of Keystead that these modules import."""
    imported = {name.partition(".")[0] for file in modules.values() for name in _imported(file)}
    distributions = {_normal(each) for name in imported for each in packages_distributions().get(name, ())}
    for declared in project["dependencies"]:
        if _normal(re.split(r"[<>=;\[ ]", declared)[0]) in distributions:
            yield declared


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _metadata(project: dict[str, Any], dependencies: list[str]) -> str:
    classifiers = [
        each for each in project["classifiers"] if not each.startswith(("Environment", "Framework", "Topic"))
    ]
    urls = "\n".join(f'{name} = "{url}"' for name, url in project["urls"].items())
    return f"""[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "{NAME}"
version = "{project["version"]}"
description = "The Python client of Keystead, a self-hosted server for Turnkey's public HTTP API."
readme = "README.md"
license = "{project["license"]}"
license-files = ["LICENSE"]
requires-python = "{project["requires-python"]}"
keywords = {_list(project["keywords"])}
classifiers = {_list(classifiers)}
dependencies = {_list(dependencies)}

[project.urls]
{urls}

[tool.setuptools.packages.find]
where = ["src"]

[tool.setuptools.package-data]
{IMPORT_NAME} = ["py.typed"]
"""


def _list(values: list[str]) -> str:
    return "[" + ", ".join(f'"{value}"' for value in values) + "]"


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the sources of the package keystead-client.")
    parser.add_argument("folder", type=Path, help="a folder that does not exist yet")
    write_package(parser.parse_args().folder)


if __name__ == "__main__":
    main()
