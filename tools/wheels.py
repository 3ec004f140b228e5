"""Checks that every locked package installs from a wheel, without a compiler, on each Python and platform.

Here: the supported Pythons and platforms, and the check of a lock file. `make lock` runs it:

    python -m tools.wheels requirements/server.lock

The exit code is 1 if a wheel is missing; the missing ones are named. `--page` writes docs/platforms.md.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from packaging.markers import Marker
from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import parse_wheel_filename

PYTHONS = ("3.11", "3.12", "3.13", "3.14", "3.15")


class Platform(NamedTuple):
    """A platform, with its name in docs/platforms.md. `tags`: the platform tags of wheels that it can install."""

    name: str
    tags: tuple[str, ...]
    markers: Mapping[str, str]


def _manylinux(machine: str) -> tuple[str, ...]:
    """The tags of wheels for glibc 2.28 or newer."""
    older = {17: "manylinux2014", 12: "manylinux2010", 5: "manylinux1"}
    by_glibc = [f"manylinux_2_{minor}_{machine}" for minor in range(28, 4, -1)]
    return (*by_glibc, *(f"{name}_{machine}" for name in older.values()), f"linux_{machine}")


def _musllinux(machine: str) -> tuple[str, ...]:
    """The tags of wheels for musl 1.2 or newer."""
    return tuple(f"musllinux_1_{minor}_{machine}" for minor in (2, 1, 0))


def _macos(machine: str, newest: int) -> tuple[str, ...]:
    versions = [*(f"{major}_0" for major in range(newest, 10, -1)), *(f"10_{minor}" for minor in range(16, 3, -1))]
    return tuple(f"macosx_{version}_{kind}" for version in versions for kind in (machine, "universal2"))


def _markers(system: str, platform: str, machine: str, os_name: str = "posix") -> dict[str, str]:
    return {
        "sys_platform": platform,
        "platform_system": system,
        "platform_machine": machine,
        "os_name": os_name,
        "platform_python_implementation": "CPython",
        "implementation_name": "cpython",
    }


PLATFORMS = (
    Platform("Linux x86-64, glibc 2.28", _manylinux("x86_64"), _markers("Linux", "linux", "x86_64")),
    Platform("Linux ARM64, glibc 2.28", _manylinux("aarch64"), _markers("Linux", "linux", "aarch64")),
    Platform("Linux x86-64, musl 1.2", _musllinux("x86_64"), _markers("Linux", "linux", "x86_64")),
    Platform("Linux ARM64, musl 1.2", _musllinux("aarch64"), _markers("Linux", "linux", "aarch64")),
    Platform("macOS 14, Apple silicon", _macos("arm64", 14), _markers("Darwin", "darwin", "arm64")),
    Platform("Windows x86-64", ("win_amd64",), _markers("Windows", "win32", "AMD64", "nt")),
)


class Locked(NamedTuple):
    """A locked package, with the names of its wheels' files. `marker`: on which environments it is installed."""

    name: str
    version: str
    marker: Marker | None
    wheels: tuple[str, ...]


def locked(lock: Path) -> list[Locked]:
    """The packages of a lock file, with the wheels that the package index lists now."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "pylock.toml"
        command = ["uv", "pip", "compile", "--quiet", "--universal", "--no-deps", "--python-version", PYTHONS[0]]
        subprocess.run([*command, "--format", "pylock.toml", str(lock), "-o", str(file)], check=True)
        packages: list[dict[str, Any]] = tomllib.loads(file.read_text())["packages"]
    return [
        Locked(
            one["name"],
            one["version"],
            Marker(one["marker"]) if "marker" in one else None,
            tuple(unquote(urlsplit(wheel["url"]).path).rpartition("/")[2] for wheel in one.get("wheels", ())),
        )
        for one in packages
    ]


@cache
def _runs(python: str, platforms: tuple[str, ...]) -> frozenset[Tag]:
    version = tuple(map(int, python.split(".")))
    return frozenset([*cpython_tags(version, platforms=platforms), *compatible_tags(version, platforms=platforms)])


def has_wheel(package: Locked, python: str, platform: Platform) -> bool:
    """Whether a wheel of this package can be installed there, or the package is not needed there."""
    environment = {**platform.markers, "python_version": python, "python_full_version": f"{python}.0"}
    if package.marker is not None and not package.marker.evaluate(environment):
        return True
    runs = _runs(python, platform.tags)
    return any(not parse_wheel_filename(wheel)[3].isdisjoint(runs) for wheel in package.wheels)


def missing(packages: Iterable[Locked]) -> Iterator[tuple[Locked, str, Platform]]:
    for package in packages:
        for platform in PLATFORMS:
            for python in PYTHONS:
                if not has_wheel(package, python, platform):
                    yield package, python, platform


def page(packages: Iterable[Locked]) -> str:
    """docs/platforms.md: a line for each platform, a column for each Python."""
    without: dict[tuple[str, str], list[str]] = {}
    for package, python, platform in missing(packages):
        without.setdefault((platform.name, python), []).append(package.name)
    lines = [_HEAD, f"| | {' | '.join(PYTHONS)} |", "|---" * (len(PYTHONS) + 1) + "|"]
    for platform in PLATFORMS:
        cells = [", ".join(without.get((platform.name, python), ["yes"])) for python in PYTHONS]
        lines.append(f"| {platform.name} | {' | '.join(cells)} |")
    return "\n".join([*lines, _FOOT])


_HEAD = """# Pythons and platforms

Generated by `make lock`. Keystead installs without a compiler where every package of `requirements/server.lock`
has a wheel ("yes"); elsewhere the packages without one are named.
"""

_FOOT = """
- Linux with glibc 2.28 or newer (Debian 10, Ubuntu 20.04, RHEL 8) or musl 1.2 or newer (Alpine 3.14).
- macOS on Apple silicon. `cryptography` and `cbor2` publish no wheels for Intel processors any more.
- This table says what installs. Keystead is run and tested on Linux x86-64. The server needs Unix sockets and
  uvloop, so on Windows nothing but the client can work. The signer is confined on Linux alone
  ([security.md](security.md)).
- Tests need more packages than the server. Some have no wheels for Python 3.14 and 3.15 and for musl yet."""


def main() -> int:
    parser = argparse.ArgumentParser(description="Check that each locked package has wheels for every platform.")
    parser.add_argument("lock", type=Path, help="a lock file of this repository")
    parser.add_argument("--page", type=Path, help="write docs/platforms.md to this file")
    arguments = parser.parse_args()
    packages = locked(arguments.lock)
    if arguments.page is not None:
        arguments.page.write_text(page(packages) + "\n")
    found = list(missing(packages))
    for package, python, platform in found:
        said = f"{package.name} {package.version} has no wheel for Python {python} on {platform.name}"
        print(said, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
