"""The values of settings as text: a value as a variable has it, and "expected …" at the end of an error.

The text of an error depends only on the type of the setting. No error repeats the value, which may be a secret.
"""

from __future__ import annotations

import typing
from typing import Any

import msgspec


def shown_value(value: object) -> str:
    """The value in the form in which a variable sets it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def expected_value(settings: type[msgspec.Struct], name: str) -> str:
    """The values of this field, as in "expected a whole number from 0 to 65535"."""
    annotated = typing.get_type_hints(settings, include_extras=True)[name]
    kind = annotated.__origin__
    if typing.get_origin(kind) is typing.Literal:
        return f"expected {_alternatives(typing.get_args(kind))}"
    if kind is bool:
        return "expected true or false"
    if kind is int:
        return f"expected a whole number{_bounds(annotated.__metadata__)}"
    return "expected text"


def _alternatives(words: tuple[str, ...]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"


def _bounds(metadata: tuple[Any, ...]) -> str:
    (meta,) = (entry for entry in metadata if isinstance(entry, msgspec.Meta))
    if meta.le is not None:
        return f" from {meta.ge} to {meta.le}"
    return f", {meta.ge} or more"
