"""A declaration is checked when it is made: what is gathered is what the execution and the policies' facts take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from keystead.api.catalogue import activity_kind
from keystead.api.parameters import Asked
from keystead.api.records import Wire
from keystead.operations import CATALOGUE
from keystead.operations.declare import activity
from keystead.organizations.organization import Organization
from keystead.pipeline.activity import ActivityOperation, Execution, Informed, Outcome
from keystead.pipeline.gathering import Gathering
from keystead.policies.activity_shapes import situations


class DrillIntent(Asked, frozen=True):
    pass


class OtherIntent(Asked, frozen=True):
    pass


class DrillResult(Wire, frozen=True):
    pass


async def gathers_text(gathering: Gathering, intent: DrillIntent) -> str:
    return ""


async def for_another_intent(gathering: Gathering, intent: OtherIntent) -> str:
    return ""


def facts_of_text(organization: Organization, intent: DrillIntent, gathered: str) -> Mapping[str, Any]:
    return {}


def facts_of_nothing(organization: Organization, intent: DrillIntent, gathered: None) -> Mapping[str, Any]:
    return {}


def uninformed(execution: Execution, intent: DrillIntent) -> Outcome[DrillResult]:
    """Drill."""
    return Outcome(result=DrillResult())


def of_text(execution: Informed[str], intent: DrillIntent) -> Outcome[DrillResult]:
    """Drill."""
    return Outcome(result=DrillResult())


def of_number(execution: Informed[int], intent: DrillIntent) -> Outcome[DrillResult]:
    """Drill."""
    return Outcome(result=DrillResult())


@pytest.mark.parametrize(
    ("execute", "gather", "resources"),
    [
        (of_number, gathers_text, None),
        (of_text, None, None),
        (uninformed, gathers_text, None),
        (of_text, for_another_intent, None),
        (of_text, gathers_text, facts_of_nothing),
        (uninformed, None, facts_of_text),
    ],
    ids=[
        "gathers another type",
        "nothing is gathered",
        "does not take what is gathered",
        "gathers for another intent",
        "facts of nothing",
        "facts of what nobody gathers",
    ],
)
def test_types_that_do_not_fit_are_refused(execute: Any, gather: Any, resources: Any) -> None:
    with pytest.raises(TypeError, match="takes"):
        activity("ACTIVITY_TYPE_UPDATE_WALLET", gather=gather, resources=resources)(execute)


def test_warnings_about_policies_know_what_fills_their_keywords() -> None:
    """`policies.situations` says which kinds of activity fill wallet, private_key, eth.tx and so on."""
    roots = ("wallet", "private_key", "eth", "solana", "bitcoin", "tron", "tempo", "secret")
    expected = {one.kind for one in situations().each if any(path.startswith(roots) for path in one.present)}
    activities = [operation for operation in CATALOGUE if isinstance(operation, ActivityOperation)]
    kinds = {activity_kind(operation.activity_types[0]): operation for operation in activities}
    assert {kind for kind, operation in kinds.items() if operation.resources} == expected & kinds.keys()
