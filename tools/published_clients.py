"""`python -m tools.published_clients`: do the newest published clients know names that public_schema.json lacks?

Each source of `src/keystead/api/public_schema.json` is asked for through the ordinary client of its registry
(cargo, npm, pip). A source that cannot be asked for is named: `make generate` also works without a network.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from keystead.api.public_schema import ACTIVITY_TYPES, PATHS, PUBLIC_SCHEMA, Source

_PATH = re.compile(r"/public/v1/(?:query|submit)/[a-z0-9_]+")
_ACTIVITY_TYPE = re.compile(r"\bACTIVITY_TYPE_[A-Z0-9_]+\b")

_OF_NO_OPERATION = frozenset({"ACTIVITY_TYPE_UNSPECIFIED", "ACTIVITY_TYPE_ETH_UNDELEGATE7702"})
"""Words that published clients have for no activity type: the zero of protobuf, and ETH_UNDELEGATE_7702 as the
generator of the crate spells it in Rust."""


def crate(name: str, folder: Path) -> Path:
    """The folder of the newest source of a crate. Raises OSError, CalledProcessError."""
    environment = {**os.environ, "CARGO_HOME": str(folder)}
    subprocess.run(["cargo", "info", name], cwd=folder, env=environment, check=True, capture_output=True)
    return next(folder.glob(f"registry/src/*/{name}-*"))


def _npm_package(name: str, folder: Path) -> Path:
    subprocess.run(["npm", "pack", "--silent", name], cwd=folder, check=True, capture_output=True)
    (archive,) = folder.glob("*.tgz")
    version = re.search(r"-(\d[^/]*)\.tgz\Z", archive.name)
    assert version, archive.name
    unpacked = folder / f"{name.rpartition('/')[2]}-{version[1]}"
    with tarfile.open(archive) as files:
        files.extractall(unpacked, filter="data")
    return unpacked


def _python_package(name: str, folder: Path) -> Path:
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", name]
    subprocess.run(pip, cwd=folder, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    unpacked = folder / "-".join(wheel.name.split("-")[:2])
    with zipfile.ZipFile(wheel) as files:
        files.extractall(unpacked)
    return unpacked


_NEWEST: Mapping[str, Callable[[str, Path], Path]] = {
    "crate": crate,
    "npm": _npm_package,
    "PyPI": _python_package,
}
"""By registry: what writes the newest package of a name into a folder, as NAME-VERSION."""


def unknown_names(package: Path) -> list[str]:
    """The paths and activity types in the text of a package that public_schema.json does not have."""
    found: set[str] = set()
    for file in package.rglob("*"):
        if file.suffix in {".rs", ".js", ".ts", ".py", ".json"}:
            text = file.read_text(errors="replace")
            found.update(_PATH.findall(text), _ACTIVITY_TYPE.findall(text))
    return sorted(found - PATHS - ACTIVITY_TYPES - _OF_NO_OPERATION)


def drift(source: Source) -> Iterator[str]:
    """What the newest version of a source says that public_schema.json does not."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            package = _NEWEST[source.kind](source.name, Path(folder))
        except (OSError, subprocess.CalledProcessError) as failed:
            yield f"{source.kind} {source.name} could not be asked for: {failed}"
            return
        newest = package.name.rpartition("-")[2]
        if newest != source.version:
            yield f"{source.kind} {source.name} {newest} is published; public_schema.json names {source.version}"
        if unknown := unknown_names(package):
            yield f"{source.kind} {source.name} {newest} has names that it lacks: {', '.join(unknown)}"


def main() -> None:
    for source in PUBLIC_SCHEMA.sources:
        if source.kind in _NEWEST:
            for line in drift(source):
                print(line)


if __name__ == "__main__":
    main()
