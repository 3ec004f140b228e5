"""Packages that are called pure hold no mutable module state.

What counts as state, at the top level of a module:

- a collection that is empty, or of a type that exists to be changed (`defaultdict`, `deque`, …), or a lock;
- a collection that any module changes: by an item, by `+=`, by a method such as `append`;
- a name that a function rebinds (`global`);
- an instance of a class of Keystead with a method that changes `self`;
- a cache (`functools.cache`, `lru_cache`) of a method, of a function that reads any of the above, or unbounded,
  unless all parameters are types: of these the program has finitely many.

A collection that nothing changes is a constant. A bounded cache of a function of its arguments alone cannot be seen
from outside. Neither is state.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.source_tree import Module, assert_only, imported_names, modules, pure_modules

STATE: frozenset[str] = frozenset()
"""State of today, as `module: name`. May only shrink."""

_MUTABLE_TYPES = {
    *("OrderedDict", "defaultdict", "deque", "Counter", "ChainMap", "WeakKeyDictionary", "WeakValueDictionary"),
    *("WeakSet", "bytearray", "count", "cycle", "Lock", "RLock", "Event", "Condition", "Semaphore", "local"),
    *("ContextVar", "Queue", "SimpleQueue", "Random"),
}
_COLLECTION_TYPES = {"dict", "list", "set"}
_CHANGING_METHODS = {
    *("append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse", "add", "discard", "update"),
    *("setdefault", "popitem", "move_to_end", "appendleft", "popleft", "extendleft", "difference_update"),
    *("intersection_update", "symmetric_difference_update"),
}


def test_pure_packages_hold_no_state() -> None:
    everything = list(modules().values())
    changed, stateful = changed_names(everything), stateful_classes(everything)
    found = {f"{module.name}: {name}" for module in pure_modules() for name in state_of(module, changed, stateful)}
    assert_only(found, STATE, "mutable module state in a package that is called pure:")


def state_of(module: Module, changed: set[str], stateful: set[str]) -> set[str]:
    imported, found = _imported(module), set()
    for name, value in _assignments(module.tree):
        is_changed = _is_collection(value) and f"{module.name}.{name}" in changed
        is_object = isinstance(value, ast.Call) and _qualified(value.func, module.name, imported) in stateful
        if _is_mutable(value) or is_changed or is_object:
            found.add(name)
    found |= {name for node in ast.walk(module.tree) if isinstance(node, ast.Global) for name in node.names}
    return found | {
        name for name, function in _cached(module.tree) if not _is_a_function_of_arguments(function, found)
    }


def _assignments(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in tree.body:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    yield target.id, node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None and isinstance(node.target, ast.Name):
            yield node.target.id, node.value


def _called(value: ast.expr) -> str:
    """The last part of the name of what is called: `OrderedDict` of `collections.OrderedDict[str, int]()`."""
    if not isinstance(value, ast.Call):
        return ""
    function = value.func.value if isinstance(value.func, ast.Subscript) else value.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _is_mutable(value: ast.expr) -> bool:
    """A collection that is of use only when it is changed, or an object with state."""
    match value:
        case ast.Dict(keys=[]) | ast.List(elts=[]):
            return True
        case ast.Call(args=[], keywords=[]):
            return _called(value) in _MUTABLE_TYPES | _COLLECTION_TYPES
        case _:
            return _called(value) in _MUTABLE_TYPES


def _is_collection(value: ast.expr) -> bool:
    displays = (ast.Dict, ast.List, ast.Set, ast.DictComp, ast.ListComp, ast.SetComp)
    return isinstance(value, displays) or _called(value) in _COLLECTION_TYPES


def changed_names(of: list[Module]) -> set[str]:
    """Dotted names of what any module changes in place: `keystead.api.enums.KNOWN`, if something is put into it."""
    found = set()
    for module in of:
        imported = _imported(module)
        for node in ast.walk(module.tree):
            targets: list[ast.expr]
            match node:
                case ast.Assign(targets=assigned):
                    targets = [target.value for target in assigned if isinstance(target, ast.Subscript)]
                case ast.AugAssign(target=ast.Subscript(value=value)):
                    targets = [value]
                case ast.AugAssign(target=target):
                    targets = [target]
                case ast.Delete(targets=deleted):
                    targets = [target.value for target in deleted if isinstance(target, ast.Subscript)]
                case ast.Call(func=ast.Attribute(value=value, attr=method)) if method in _CHANGING_METHODS:
                    targets = [value]
                case _:
                    continue
            found |= {name for target in targets if (name := _qualified(target, module.name, imported))}
    return found


def _imported(module: Module) -> dict[str, str]:
    """What each imported name stands for."""
    return {name.rpartition(".")[2]: name for name in imported_names(module)}


def _qualified(node: ast.expr, module: str, imported: dict[str, str]) -> str:
    """The dotted name that a name, or an attribute of a module, stands for. A local name counts as the module's."""
    if isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Name):
        return imported.get(node.id, f"{module}.{node.id}")
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in imported:
        return f"{imported[node.value.id]}.{node.attr}"
    return ""


def stateful_classes(of: list[Module]) -> set[str]:
    """Dotted names of the classes with a method that changes `self` after it was made."""
    found = set()
    for module in of:
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef) and any(map(_changes_self, node.body)):
                found.add(f"{module.name}.{node.name}")
    return found


def _changes_self(method: ast.stmt) -> bool:
    if not isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef) or not method.args.args:
        return False
    if method.name in {"__init__", "__new__", "__post_init__", "__set_name__", "__init_subclass__"}:
        return False
    own = method.args.args[0].arg

    def of_self(node: ast.expr) -> bool:
        while isinstance(node, ast.Attribute | ast.Subscript):
            node = node.value
        return isinstance(node, ast.Name) and node.id == own

    for node in ast.walk(method):
        match node:
            case ast.Assign(targets=targets) | ast.Delete(targets=targets):
                changed = targets
            case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
                changed = [target]
            case ast.Call(func=ast.Attribute(value=value, attr=name)) if name in _CHANGING_METHODS:
                changed = [value]
            case _:
                continue
        if any(isinstance(one, ast.Attribute | ast.Subscript) and of_self(one) for one in changed):
            return True
    return False


def _cached(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    for owner in ast.walk(tree):
        for node in getattr(owner, "body", ()) if isinstance(owner, ast.Module | ast.ClassDef) else ():
            if isinstance(node, ast.FunctionDef) and any(_is_cache(one) for one in node.decorator_list):
                prefix = f"{owner.name}." if isinstance(owner, ast.ClassDef) else ""
                yield prefix + node.name, node


def _is_cache(decorator: ast.expr) -> bool:
    named = decorator.func if isinstance(decorator, ast.Call) else decorator
    return ast.unparse(named).rpartition(".")[2] in {"cache", "lru_cache"}


def _is_a_function_of_arguments(function: ast.FunctionDef, state: set[str]) -> bool:
    parameters = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    if parameters and parameters[0].arg == "self":
        return False
    types = [
        one.annotation for one in parameters if one.annotation and ast.unparse(one.annotation).startswith("type[")
    ]
    if len(types) < len(parameters) and not any(map(_is_bounded, function.decorator_list)):
        return False
    return not any(isinstance(node, ast.Name) and node.id in state for node in ast.walk(function))


def _is_bounded(decorator: ast.expr) -> bool:
    """`lru_cache` with a number, or without any, where it is 128. `cache` and `maxsize=None` have no bound."""
    if not isinstance(decorator, ast.Call):
        return ast.unparse(decorator).endswith("lru_cache")
    given = [*decorator.args, *(keyword.value for keyword in decorator.keywords if keyword.arg == "maxsize")]
    return not any(isinstance(one, ast.Constant) and one.value is None for one in given)


CASES = {
    "an empty dict": ("X = {}", {"X"}),
    "an empty list with a type": ("X: list[int] = []", {"X"}),
    "an ordered dict": ("from collections import OrderedDict\nX: OrderedDict[str, int] = OrderedDict()", {"X"}),
    "a constant": ("X = {1: 2}\ny = X[1]", set[str]()),
    "an item put in": ("X = {1: 2}\ndef f():\n    X[2] = 3", {"X"}),
    "a method that changes": ("X = [1]\ndef f():\n    X.append(2)", {"X"}),
    "a rebound name": ("X = 1\ndef f():\n    global X\n    X = 2", {"X"}),
    "an object with state": ("class C:\n    def f(self):\n        self.n += 1\nX = C()", {"X"}),
    "an object without state": ("class C:\n    def f(self):\n        return self.n\nX = C()", set[str]()),
    "a bounded cache": ("@lru_cache(maxsize=9)\ndef f(a):\n    return a", set[str]()),
    "a cache without a bound": ("@cache\ndef f(a):\n    return a", {"f"}),
    "a cache by type": ("@cache\ndef f(a: type[int]):\n    return a", set[str]()),
    "a cache without parameters": ("@cache\ndef f():\n    return 1", set[str]()),
    "a cache of a method": ("class C:\n    @lru_cache(maxsize=9)\n    def f(self, a):\n        return a", {"C.f"}),
    "a cache that reads state": ("X = {}\n@cache\ndef f():\n    return X[1]", {"X", "f"}),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_state(name: str) -> None:
    text, expected = CASES[name]
    module = Module("keystead.api.example", Path("example.py"), ast.parse(text))
    assert state_of(module, changed_names([module]), stateful_classes([module])) == expected
