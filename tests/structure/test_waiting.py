"""No test depends on how fast the machine is: what must happen is awaited for `PATIENCE_S`.

A literal limit of more than a second, and a request with the five seconds of httpx, break this rule. A shorter time
is a pause. Time limits that the tested code gets have other names (`timeout_s`), and are not judged here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.support.source_tree import ROOT, assert_only, tracked_files

LONGEST_PAUSE_S = 1
_ENDS = {"wait", "join"}
_REQUESTS = {"Client", "AsyncClient", "get", "post", "request"}

ALLOWED = {"tests/client/test_client_settings.py", "tests/client/types_of_the_client.py"}
"""These set the time limit of the client that they test."""


def _is_limit(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float) and node.value > LONGEST_PAUSE_S


def _named_limits(call: ast.Call) -> list[ast.expr]:
    return [keyword.value for keyword in call.keywords if keyword.arg == "timeout"]


def _limits(tree: ast.Module) -> Iterator[ast.expr]:
    """Every wait that ends too early on a slow machine."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and any(_is_limit(limit) for limit in _named_limits(node)):
            yield node
            continue
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="httpx"), attr=attr)) if attr in _REQUESTS:
                in_process = any(keyword.arg == "transport" for keyword in node.keywords)
                if (node.args or node.keywords) and not in_process and not _named_limits(node):
                    yield node
            case ast.Call(func=ast.Attribute(value=ast.Name(id="asyncio"), attr="wait_for" | "timeout")):
                if _is_limit(node.args[-1]):
                    yield node
            case ast.Call(func=ast.Attribute(attr=attr), args=[only]) if attr in _ENDS and _is_limit(only):
                yield node
            case ast.BinOp(left=left, op=ast.Add()) if "monotonic" in ast.unparse(left) and _is_limit(node.right):
                yield node


def test_waits_are_patient() -> None:
    files = [path for path in tracked_files() if path.suffix == ".py" and path.parts[0] == "tests"]
    assert len(files) > 300
    found: dict[str, list[str]] = {}
    for path in files:
        for node in _limits(ast.parse((ROOT / path).read_text())):
            found.setdefault(str(path), []).append(f"{path}:{node.lineno}: {ast.unparse(node)}")
    rule = "use PATIENCE_S of tests.support.hanging"
    assert_only([line for path in found.keys() - ALLOWED for line in found[path]], [], rule)
    assert found.keys() >= ALLOWED, "no longer needed, delete these exceptions"


@pytest.mark.parametrize(
    ("line", "is_found"),
    [
        ("asyncio.wait_for(run(), 5)", True),
        ("asyncio.wait_for(run(), PATIENCE_S)", False),
        ("process.wait(30)", True),
        ("stop.wait(0.01)", False),
        ("subprocess.run(command, timeout=60)", True),
        ("subprocess.run(command, timeout=PATIENCE_S)", False),
        ("httpx.get(url)", True),
        ("httpx.get(url, timeout=5)", True),
        ("httpx.get(url, timeout=PATIENCE_S)", False),
        ("httpx.Client(transport=transport)", False),
        ("deadline = time.monotonic() + 20", True),
        ("deadline = time.monotonic() + PATIENCE_S", False),
    ],
)
def test_what_is_found(line: str, is_found: bool) -> None:
    assert bool(list(_limits(ast.parse(line)))) is is_found
