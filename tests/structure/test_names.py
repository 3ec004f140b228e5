"""One name, one class: no two modules define classes of the same name, so that a search finds one definition."""

from __future__ import annotations

import ast
from collections import defaultdict

from tests.support.source_tree import modules

CLIENT_COPIES = {"keystead.client.shapes", "keystead.client.operations", "keystead.client.errors"}
"""What a client sees of the server's classes, under their names. The client imports nothing of the server."""


def test_no_two_classes_of_one_name() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for module in modules().values():
        if module.name not in CLIENT_COPIES:
            for name in _defined(module.tree):
                places[name].append(module.name)
    found = {f"{name}: {', '.join(of)}" for name, of in places.items() if len(of) > 1}
    assert not found, "names of several classes; rename one of each"


def _defined(tree: ast.Module) -> set[str]:
    """The classes and unions at the top level of a module, private ones too."""
    found = set()
    for node in tree.body:
        match node:
            case ast.ClassDef(name=name):
                found.add(name)
            case ast.AnnAssign(target=ast.Name(id=name), annotation=ast.Name(id="TypeAlias")):
                found.add(name)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.BinOp(op=ast.BitOr(), left=ast.Name())):
                found.add(name)
            case _:
                pass
    return found
