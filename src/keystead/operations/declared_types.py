"""What the types of an operation's functions declare, and the check that they fit together.

Here: the reading of type hints. Not here: the declaration (`declare`).
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from typing import Any

import msgspec

from keystead.api.parameters import RequestStruct
from keystead.api.records import Wire
from keystead.organizations.organization import Organization
from keystead.pipeline.context import ContextSource, ForeignSource
from keystead.pipeline.execution import (
    Execution,
    ExecutionWith,
    ExecutionWithOAuth2,
    Output,
    OutputWithoutChanges,
)
from keystead.pipeline.operation import Execute, LoadContext, Resources


class DeclaredTypes(msgspec.Struct, frozen=True, kw_only=True):
    """What the types of an activity's functions declare. ActivityOperation describes the fields."""

    intent: type[RequestStruct]
    result: type[Wire]
    changes_organization: bool
    asks_provider: bool
    context_is_own: bool


def declared_types(
    execute: Execute, load_context: LoadContext | None, resources: Resources | None
) -> DeclaredTypes:
    """Read the types. Raises TypeError unless the three functions take the same intent and the loaded context."""
    execution, intent, output = signature(execute)
    source: Any = None
    context: Any = type(None)
    takes: list[Any] = [Execution]
    if load_context is not None:
        source, parameters, context = signature(load_context)
        takes = [ExecutionWith[context], ExecutionWithOAuth2[context]]
        if source not in (ContextSource, ForeignSource) or parameters != intent:
            raise TypeError(
                f"{load_context.__name__} takes (ContextSource or ForeignSource, {intent.__name__}), "
                f"not ({source}, {parameters})"
            )
    if execution not in takes:
        raise TypeError(f"an execution of {intent.__name__} takes {' or '.join(map(str, takes))}, not {execution}")
    if resources is not None:
        hints = [hint for name, hint in typing.get_type_hints(resources).items() if name != "return"]
        if hints != [Organization, intent, context]:
            raise TypeError(f"{resources.__name__} takes (Organization, {intent}, {context}), not {hints}")
    output_type, result = _output(output)
    return DeclaredTypes(
        intent=intent,
        result=result,
        changes_organization=output_type is not OutputWithoutChanges,
        asks_provider=typing.get_origin(execution) is ExecutionWithOAuth2,
        context_is_own=source is ContextSource,
    )


def signature(function: Callable[..., Any]) -> tuple[Any, Any, Any]:
    """The types of a function's two parameters and of what it returns."""
    hints = typing.get_type_hints(function)
    first, second = inspect.signature(function).parameters
    return hints[first], hints[second], hints["return"]


def _output(returned: Any) -> tuple[Any, type[Wire]]:
    """The type of the output and of its result. An execution may also return a RefusalWithRows."""
    outputs = (Output, OutputWithoutChanges)
    (output,) = [hint for hint in (returned, *typing.get_args(returned)) if typing.get_origin(hint) in outputs]
    (result,) = typing.get_args(output)
    return typing.get_origin(output), result
