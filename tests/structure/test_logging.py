"""No module logs an exception itself: its message may be secret. `failures.defects` logs types and places."""

from __future__ import annotations

import ast

from tests.support.source_tree import assert_only, modules

NOT_OF_THE_SERVER = {"client", "testing"}
"""Packages that run in other programs."""


def test_exceptions_are_logged_in_one_place() -> None:
    found = {
        f"{module.name}: line {node.lineno}"
        for module in modules().values()
        if module.package not in NOT_OF_THE_SERVER
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and _logs_an_exception(node)
    }
    assert_only(found, (), "calls that log the message of an exception:")


def _logs_an_exception(call: ast.Call) -> bool:
    """`logger.exception("…")`, unlike `task.exception()`; any call with `exc_info`."""
    is_exception = isinstance(call.func, ast.Attribute) and call.func.attr == "exception" and bool(call.args)
    return is_exception or any(keyword.arg == "exc_info" for keyword in call.keywords)
