"""One name, one type: no two modules define types of the same name, so that a search finds one definition."""

from __future__ import annotations

import ast
from collections import defaultdict

from tests.support.source_tree import modules

CLIENT_COPIES = {f"keystead.client.{module}" for module in ("shapes", "operations", "errors")}
"""What a client sees of the server's classes, under their names. The client imports nothing of the server."""


def test_no_two_types_of_one_name() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for module in modules().values():
        if module.name not in CLIENT_COPIES:
            for name in _defined(module.tree):
                places[name].append(module.name)
    found = {f"{name}: {', '.join(of)}" for name, of in places.items() if len(of) > 1}
    assert not found, "names of several types; rename one of each"


def _defined(tree: ast.Module) -> set[str]:
    """The classes and type aliases at the top level of a module, private ones too, without leading underscores.

    Type variables are left out: each module that uses one defines it.
    """
    found = set()
    for node in tree.body:
        match node:
            case ast.ClassDef(name=name):
                found.add(name)
            case ast.AnnAssign(target=ast.Name(id=name), annotation=ast.Name(id="TypeAlias")):
                found.add(name)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.BinOp() | ast.Subscript() | ast.Name()):
                if not name.isupper() and name.lstrip("_")[:1].isupper():
                    found.add(name)
            case _:
                pass
    return {name.lstrip("_") for name in found}
