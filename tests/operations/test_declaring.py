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


class DrillIntent(RequestStruct, frozen=True):
    pass


class OtherIntent(RequestStruct, frozen=True):
    pass


class DrillResult(Wire, frozen=True):
    pass


async def loads_text(source: ContextSource, intent: DrillIntent) -> str:
    return ""


async def for_another_intent(source: ContextSource, intent: OtherIntent) -> str:
    return ""


def facts_of_text(organization: Organization, intent: DrillIntent, context: str) -> Mapping[str, Any]:
    return {}


def facts_of_nothing(organization: Organization, intent: DrillIntent, context: None) -> Mapping[str, Any]:
    return {}


def uninformed(execution: Execution, intent: DrillIntent) -> ExecutionOutput[DrillResult]:
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
        (of_number, loads_text, None),
        (of_text, None, None),
        (uninformed, loads_text, None),
        (of_text, for_another_intent, None),
        (of_text, loads_text, facts_of_nothing),
        (uninformed, None, facts_of_text),
    ],
    ids=[
        "loads_context another type",
        "nothing is context",
        "does not take what is context",
        "loads_context for another intent",
        "facts of nothing",
        "facts of what nobody loads_context",
    ],
)
def test_types_that_do_not_fit_are_refused(execute: Any, load_context: Any, resources: Any) -> None:
    with pytest.raises(TypeError, match="takes"):
        activity("ACTIVITY_TYPE_UPDATE_WALLET", load_context=load_context, resources=resources)(execute)


def test_warnings_about_policies_know_what_fills_their_keywords() -> None:
    """`policies.situations` says which kinds of activity fill wallet, private_key, eth.tx and so on."""
    roots = ("wallet", "private_key", "eth", "solana", "bitcoin", "tron", "tempo", "secret")
    expected = {one.kind for one in ACTIVITY_SHAPES.shapes if any(path.startswith(roots) for path in one.present)}
    activities = [operation for operation in CATALOGUE if isinstance(operation, ActivityOperation)]
    kinds = {activity_kind(operation.activity_types[0]): operation for operation in activities}
    assert {kind for kind, operation in kinds.items() if operation.resources} == expected & kinds.keys()
