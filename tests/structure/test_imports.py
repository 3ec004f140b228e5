"""No two modules import each other, by any way round; each chosen library is imported by one module."""

from __future__ import annotations

from collections.abc import Mapping

from tests.support.source_tree import assert_only, imported_modules, imported_names, modules

ONE_IMPORTER = {
    "btclib_libsecp256k1": "keystead.primitives.secp256k1",
    "tiny_keccak": "keystead.primitives.keccak",
    "pyhpke": "keystead.primitives.hpke",
    "mnemonic": "keystead.keys.word_lists",
}
"""Libraries that can be replaced in one file."""

NOT_IMPORTED = {"setuptools", "pkg_resources"}
"""What a server must run without."""

CIRCLES: set[str] = set()
"""Circles of today, each as its modules in alphabetical order. May only shrink."""


def circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """The strongly connected components of more than one node (Tarjan)."""
    index: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = lowest[node] = len(index)
        stack.append(node)
        for other in sorted(graph[node]):
            if other not in index:
                visit(other)
                lowest[node] = min(lowest[node], lowest[other])
            elif other in stack:
                lowest[node] = min(lowest[node], index[other])
        if lowest[node] == index[node]:
            at = stack.index(node)
            component, stack[at:] = stack[at:], []
            if len(component) > 1:
                found.append(sorted(component))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found


def test_no_import_circles() -> None:
    graph = {module.name: imported_modules(module) for module in modules().values()}
    found = {" <-> ".join(circle) for circle in circles(graph)}
    assert_only(found, CIRCLES, "modules that import each other, by any way round:")


def test_a_circle_is_found() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set[str]()}
    assert circles(graph) == [["b", "c"]]


def test_one_module_imports_each_library() -> None:
    importers: dict[str, set[str]] = {library: set() for library in {*ONE_IMPORTER, *NOT_IMPORTED}}
    for module in modules().values():
        for library in {name.partition(".")[0] for name in imported_names(module)} & importers.keys():
            importers[library].add(module.name)
    for library in NOT_IMPORTED:
        assert not importers.pop(library), f"{library} must not be imported"
    assert importers == {library: {module} for library, module in ONE_IMPORTER.items()}
