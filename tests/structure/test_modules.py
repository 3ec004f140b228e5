"""Every module is short enough to read at once; every `match` says what happens to a case that it does not list."""

from __future__ import annotations

import ast

from tests.support.source_tree import ROOT, assert_only, modules, tracked_files

LINES_MAX = 500
LONG = {
    "src/keystead/client/operations.py": "generated",
    "src/keystead/client/shapes.py": "generated",
    "tests/stamps/test_attestation.py": "a table of attestations",
}
"""Modules that are longer, and why. May only shrink."""

OPEN_MATCHES: set[str] = set()
"""Functions of today with a `match` without a last `case _`. May only shrink."""


def test_modules_are_short() -> None:
    found = {
        path.as_posix()
        for path in tracked_files()
        if path.suffix == ".py"
        and (ROOT / path).exists()
        and len((ROOT / path).read_text().splitlines()) > LINES_MAX
    }
    assert_only(found, LONG, f"modules of more than {LINES_MAX} lines; divide them by subject:")


def test_every_match_has_a_last_case() -> None:
    """Over a closed set it is `case _: assert_never(value)`: a new member is a type error until it is placed."""
    found = set()
    for module in modules().values():
        for function in ast.walk(module.tree):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                for node in ast.walk(function):
                    if isinstance(node, ast.Match) and not _is_irrefutable(node.cases[-1]):
                        found.add(f"{module.name}.{function.name}")
    assert_only(found, OPEN_MATCHES, "`match` without a last `case _`:")


def _is_irrefutable(case: ast.match_case) -> bool:
    return case.guard is None and isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None
