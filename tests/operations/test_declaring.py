"""A declaration is checked when it is made: execution and resources take the context that is loaded. The types say
how the activity is executed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from keystead.api.catalogue import activity_kind
from keystead.api.parameters import RequestStruct
from keystead.api.records import Wire
from keystead.operations import CATALOGUE
from keystead.operations.declare import activity, declared_types
from keystead.organizations.organization import Organization
from keystead.pipeline.context import ContextSource, ForeignSource
from keystead.pipeline.execution import (
    Execution,
    ExecutionWith,
    ExecutionWithOAuth2,
    Output,
    OutputWithoutChanges,
    RefusalWithRows,
)
from keystead.pipeline.operation import ActivityOperation
from keystead.policies.activity_shapes import ACTIVITY_SHAPES
from keystead.policies.language.namespaces import KEYWORDS, Clause


class DrillIntent(RequestStruct, frozen=True):
    pass


class OtherIntent(RequestStruct, frozen=True):
    pass


class DrillResult(Wire, frozen=True):
    pass


async def load_text(source: ContextSource, intent: DrillIntent) -> str:
    return ""


async def load_text_of_others(source: ForeignSource, intent: DrillIntent) -> str:
    return ""


async def load_from_an_organization(source: Organization, intent: DrillIntent) -> str:
    return ""


async def load_for_another_intent(source: ContextSource, intent: OtherIntent) -> str:
    return ""


def resources_of_text(organization: Organization, intent: DrillIntent, context: str) -> Mapping[str, Any]:
    return {}


def resources_without_context(organization: Organization, intent: DrillIntent, context: None) -> Mapping[str, Any]:
    return {}


def without_context(execution: Execution, intent: DrillIntent) -> Output[DrillResult]:
    """Drill."""
    return Output(result=DrillResult())


def of_text(execution: ExecutionWith[str], intent: DrillIntent) -> Output[DrillResult]:
    """Drill."""
    return Output(result=DrillResult())


def of_number(execution: ExecutionWith[int], intent: DrillIntent) -> Output[DrillResult]:
    """Drill."""
    return Output(result=DrillResult())


def without_changes(execution: Execution, intent: DrillIntent) -> OutputWithoutChanges[DrillResult]:
    """Drill."""
    return OutputWithoutChanges(result=DrillResult())


async def refusing(
    execution: ExecutionWith[str], intent: DrillIntent
) -> OutputWithoutChanges[DrillResult] | RefusalWithRows:
    """Drill."""
    return OutputWithoutChanges(result=DrillResult())


def asking(execution: ExecutionWithOAuth2[str], intent: DrillIntent) -> Output[DrillResult]:
    """Drill."""
    return Output(result=DrillResult())


@pytest.mark.parametrize(
    ("execute", "load_context", "declared"),
    [
        (without_context, None, {"changes_organization"}),
        (of_text, load_text, {"changes_organization", "context_is_own"}),
        (of_text, load_text_of_others, {"changes_organization"}),
        (asking, load_text, {"changes_organization", "context_is_own", "asks_provider"}),
        (without_changes, None, set()),
        (refusing, load_text, {"context_is_own"}),
    ],
)
def test_types_declare_how_an_activity_is_executed(execute: Any, load_context: Any, declared: set[str]) -> None:
    types = declared_types(execute, load_context, None)
    assert (types.intent, types.result) == (DrillIntent, DrillResult)
    names = ("changes_organization", "context_is_own", "asks_provider")
    assert {name for name in names if getattr(types, name)} == declared


@pytest.mark.parametrize(
    ("execute", "load_context", "resources"),
    [
        (of_number, load_text, None),
        (of_text, None, None),
        (without_context, load_text, None),
        (asking, None, None),
        (of_text, load_from_an_organization, None),
        (of_text, load_for_another_intent, None),
        (of_text, load_text, resources_without_context),
        (without_context, None, resources_of_text),
    ],
    ids=[
        "the function takes a context of another type than is loaded",
        "the function takes a context, and none is loaded",
        "the function takes no context, and one is loaded",
        "the function asks a provider, and no context is loaded",
        "the context is loaded from another source",
        "the context is loaded for another intent",
        "the resources take no context, and one is loaded",
        "the resources take a context, and none is loaded",
    ],
)
def test_types_that_do_not_fit_are_refused(execute: Any, load_context: Any, resources: Any) -> None:
    with pytest.raises(TypeError, match="takes"):
        activity("ACTIVITY_TYPE_UPDATE_WALLET", load_context=load_context, resources=resources)(execute)


def test_warnings_about_policies_know_what_fills_their_keywords() -> None:
    """`policies.activity_shapes` says which kinds of activity fill wallet, eth.tx and other keywords."""
    keywords = KEYWORDS[Clause.CONDITION].keys() - {"activity"}
    expected = {
        shape.kind for shape in ACTIVITY_SHAPES.shapes if keywords & {path.split(".")[0] for path in shape.present}
    }
    activities = [operation for operation in CATALOGUE if isinstance(operation, ActivityOperation)]
    kinds = {activity_kind(operation.activity_types[0]): operation for operation in activities}
    assert {kind for kind, operation in kinds.items() if operation.resources} == expected & kinds.keys()
