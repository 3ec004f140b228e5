"""A declaration is checked when it is made: execution and resources take the context that is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from keystead.api.catalogue import activity_kind
from keystead.api.parameters import RequestStruct
from keystead.api.records import Wire
from keystead.operations import CATALOGUE
from keystead.operations.declare import activity
from keystead.organizations.organization import Organization
from keystead.pipeline.context import ContextSource
from keystead.pipeline.execution_values import Execution, ExecutionOutput, ExecutionWith
from keystead.pipeline.operation import ActivityOperation
from keystead.policies.activity_shapes import ACTIVITY_SHAPES
from keystead.policies.namespaces import KEYWORDS, Clause


class DrillIntent(RequestStruct, frozen=True):
    pass


class OtherIntent(RequestStruct, frozen=True):
    pass


class DrillResult(Wire, frozen=True):
    pass


async def load_text(source: ContextSource, intent: DrillIntent) -> str:
    return ""


async def load_for_another_intent(source: ContextSource, intent: OtherIntent) -> str:
    return ""


def resources_of_text(organization: Organization, intent: DrillIntent, context: str) -> Mapping[str, Any]:
    return {}


def resources_without_context(organization: Organization, intent: DrillIntent, context: None) -> Mapping[str, Any]:
    return {}


def without_context(execution: Execution, intent: DrillIntent) -> ExecutionOutput[DrillResult]:
    """Drill."""
    return ExecutionOutput(result=DrillResult())


def of_text(execution: ExecutionWith[str], intent: DrillIntent) -> ExecutionOutput[DrillResult]:
    """Drill."""
    return ExecutionOutput(result=DrillResult())


def of_number(execution: ExecutionWith[int], intent: DrillIntent) -> ExecutionOutput[DrillResult]:
    """Drill."""
    return ExecutionOutput(result=DrillResult())


@pytest.mark.parametrize(
    ("execute", "load_context", "resources"),
    [
        (of_number, load_text, None),
        (of_text, None, None),
        (without_context, load_text, None),
        (of_text, load_for_another_intent, None),
        (of_text, load_text, resources_without_context),
        (without_context, None, resources_of_text),
    ],
    ids=[
        "the function takes a context of another type than is loaded",
        "the function takes a context, and none is loaded",
        "the function takes no context, and one is loaded",
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
