"""The docstrings of operations, which are their documentation for callers.

`python -OO` drops docstrings; then they are read from the source.
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Callable
from typing import Any


def summary(function: Callable[..., Any]) -> str:
    """The first line of the docstring. Raises ValueError if there is no docstring."""
    docstring = function.__doc__ if sys.flags.optimize < 2 else _docstring_in_source(function)
    if not docstring:
        raise ValueError(f"{function.__name__} has no docstring: it is the operation's documentation")
    return docstring.strip().splitlines()[0]


def _docstring_in_source(function: Callable[..., Any]) -> str:
    """The docstring in the function's source; the function's name if the source is not available."""
    try:
        (definition,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    except OSError:
        return function.__name__
    assert isinstance(definition, ast.FunctionDef | ast.AsyncFunctionDef)
    return ast.get_docstring(definition) or ""
