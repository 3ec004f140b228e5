"""The source of Keystead as syntax trees, for the tests of its structure.

Here: modules, their imports, the names that they change. Not here: the rules (`tests/structure`).
"""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"

PURE = (
    *("primitives", "api", "stamps", "organizations", "chains", "policies", "pipeline", "describe"),
    "sessions",
)
"""The packages that hold no mutable state."""


class Module(NamedTuple):
    """`name` is dotted; `path` is relative to the repository."""

    name: str
    path: Path
    tree: ast.Module

    @property
    def package(self) -> str:
        """The package below keystead: `policies` of `keystead.policies.language.grammar`."""
        return [*self.name.split("."), ""][1]


@cache
def modules() -> Mapping[str, Module]:
    """Every module of Keystead by its dotted name."""
    found = {}
    for file in sorted(SOURCE.rglob("*.py")):
        parts = file.relative_to(SOURCE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = Module(name, file.relative_to(ROOT), ast.parse(file.read_text()))
    return found


def pure_modules() -> list[Module]:
    return [module for module in modules().values() if module.package in PURE]


@cache
def imported_names(module: Module) -> tuple[str, ...]:
    """The dotted name of everything that the module imports, also in functions and for type checkers."""
    return tuple(_imported_names(module))


def _imported_names(module: Module) -> Iterator[str]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module.path}:{node.lineno}: imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def imported_modules(module: Module) -> set[str]:
    """The modules of Keystead that this one imports."""
    known, found = modules(), set()
    for name in imported_names(module):
        while name and name not in known:
            name = name.rpartition(".")[0]
        if name:
            found.add(name)
    return found - {module.name}


@cache
def tracked_files() -> tuple[Path, ...]:
    """The files of the repository, relative to it."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    return tuple(Path(name) for name in listed.decode().split("\0") if name)


def assert_only(found: Collection[str], allowed: Collection[str], rule: str) -> None:
    """`found` breaks the rule. `allowed` are exceptions, which may only become fewer: a stale one fails too."""
    new, stale = sorted(set(found) - set(allowed)), sorted(set(allowed) - set(found))
    assert not new, f"{rule}\n" + "\n".join(new)
    assert not stale, "no longer needed, delete these exceptions:\n" + "\n".join(stale)
