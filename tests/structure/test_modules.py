"""Every module is short enough to read at once. Its header names modules that exist. Every `match` says what
happens to a case that it does not list."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from functools import cache

from tests.support.source_tree import ROOT, Module, assert_only, modules, tracked_files

LINES_MAX = 500
LONG = {
    "src/keystead/client/operations.py": "generated",
    "src/keystead/client/shapes.py": "generated",
    "tests/stamps/test_attestation.py": "a table of attestations",
}
"""Modules that are longer, and why. May only shrink."""

NOT_MODULES = {"list", "diff", "apply", "lint", "list_users", "list_policies", "pkcs11", "sql"}
"""Commands, operations, an extra and a folder that headers of modules name after "Not here"."""

OPEN_SETS = {
    "chains.ethereum.transaction._read_legacy": "sequences by their length",
    "chains.ethereum.typed_data.integer_of": "JSON",
    "chains.solana.layouts._layout": "members of a JSON object",
    "chains.tron.messages._value": "names of types, those of messages among them",
    "describe.activity.mentioned_ids": "JSON",
    "describe.stamped._difference": "JSON",
    "describe.transactions.describe_tron": "kinds of contract, most of which are described alike",
    "operations.auth_proxy.accounts._looked_up": "text that a caller sends",
    "policies.explanation._value_text": "any value",
    "policies.language.values._kind_text": "any value",
    "sessions.client_signatures._without_empty": "JSON",
    "storage.postgres.reconnection.cause_of": "exceptions of a library and of the system",
}
"""Functions with a `match` over a set that is not closed, and what it is. Its last case takes every other value."""


def test_modules_are_short() -> None:
    found = {
        path.as_posix()
        for path in tracked_files()
        if path.suffix == ".py"
        and (ROOT / path).exists()
        and len((ROOT / path).read_text().splitlines()) > LINES_MAX
    }
    assert_only(found, LONG, f"modules of more than {LINES_MAX} lines; divide them by subject:")


def test_what_is_not_here_is_in_a_module_that_exists() -> None:
    """A header says `Not here: … (`module`)`, by a name that is relative to its package or to one above."""
    found = {
        f"{module.name}: {name}"
        for module in modules().values()
        for part in re.findall(r"Not here:(.*?)(?:\n\n|$)", ast.get_docstring(module.tree) or "", re.DOTALL)
        for name in re.findall(r"`([a-z][\w.]*)`", part)
        if name not in NOT_MODULES and not _exists(name, module)
    }
    assert not found


def _exists(name: str, module: Module) -> bool:
    """Whether a module has this name, or a module defines it."""
    packages = module.name.split(".")
    candidates = [".".join([*packages[:depth], name]) for depth in range(len(packages) + 1)]
    return any(
        candidate in modules() or candidate.rpartition(".")[2] in _top_level(candidate.rpartition(".")[0])
        for candidate in candidates
    )


@cache
def _top_level(name: str) -> set[str]:
    if name not in modules():
        return set()
    body = modules()[name].tree.body
    defined = {
        node.name for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    }
    assigned = {
        node.id
        for statement in body
        if isinstance(statement, ast.Assign | ast.AnnAssign)
        for node in ast.walk(statement)
        if isinstance(node, ast.Name)
    }
    return defined | assigned


def test_every_match_over_a_closed_set_ends_in_assert_never() -> None:
    """Then a new member is a type error until each `match` says what happens to it."""
    found = {name for name, node in _matches() if not _ends_in_assert_never(node)}
    assert_only(found, OPEN_SETS, "`match` that does not end in `case _: assert_never(…)`:")


def test_what_is_called_open_matches_no_member_of_a_closed_set() -> None:
    """Members of an enum (`Kind.OTHER`) and classes of Keystead are closed sets."""
    for name, node in _matches():
        if not _ends_in_assert_never(node):
            assert _is_irrefutable(node.cases[-1]), f"{name}: a value that no case takes is passed over"
            closed = {ast.unparse(pattern) for case in node.cases for pattern in _closed_patterns(case.pattern)}
            assert not closed or name == "storage.postgres.reconnection.cause_of", f"{name}: {closed}"


def test_no_default_of_a_mapping_is_a_member_of_a_closed_set() -> None:
    """`….get(value, Kind.OTHER)` takes every new value for `Kind.OTHER`. A `match` names the values."""
    for module in modules().values():
        for node in ast.walk(module.tree):
            match node:
                case ast.Call(func=ast.Attribute(attr="get"), args=[_, ast.Attribute(attr=default)]):
                    assert not default.isupper(), f"{module.name}: {ast.unparse(node)}"
                case _:
                    pass


@cache
def _matches() -> tuple[tuple[str, ast.Match], ...]:
    return tuple(_all_matches())


def _all_matches() -> Iterator[tuple[str, ast.Match]]:
    for module in modules().values():
        for function in ast.walk(module.tree):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                for node in ast.walk(function):
                    if isinstance(node, ast.Match):
                        yield f"{module.name}.{function.name}".removeprefix("keystead."), node


def _ends_in_assert_never(node: ast.Match) -> bool:
    match node.cases[-1]:
        case ast.match_case(guard=None, body=[ast.Expr(value=ast.Call(func=ast.Name(id="assert_never")))]) as last:
            return _is_irrefutable(last)
        case _:
            return False


def _closed_patterns(pattern: ast.pattern) -> Iterator[ast.pattern]:
    for node in ast.walk(pattern):
        match node:
            case ast.MatchValue(value=ast.Attribute()):
                yield node
            case ast.MatchClass(cls=ast.Name(id=name)) if name not in dir(builtins) and name != "Mapping":
                yield node
            case ast.MatchClass(cls=ast.Attribute()):
                yield node
            case _:
                pass


def _is_irrefutable(case: ast.match_case) -> bool:
    return case.guard is None and isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None
