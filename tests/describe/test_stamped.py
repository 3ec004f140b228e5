"""Whether an activity shows the request that was stamped."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest

from keystead.describe.stamped import difference_from_stamped

PARAMETERS = {"userTagName": "Operators", "userIds": ["a", "b"], "notes": "", "limits": {"seconds": 60}}
STAMPED = json.dumps({"type": "ACTIVITY_TYPE_CREATE_USER_TAG", "parameters": PARAMETERS})
APPROVAL = {"message": '{"type": "ACTIVITY_TYPE_APPROVE_ACTIVITY"}'}


def activity() -> dict[str, Any]:
    return {
        "type": "ACTIVITY_TYPE_CREATE_USER_TAG",
        "fingerprint": "sha256:" + hashlib.sha256(STAMPED.encode()).hexdigest(),
        "votes": [{"message": STAMPED}, APPROVAL],
        "intent": {"createUserTagIntent": copy.deepcopy(PARAMETERS)},
    }


def changed(change: Callable[[dict[str, Any], dict[str, Any]], object]) -> dict[str, Any]:
    made = activity()
    change(made, made["intent"]["createUserTagIntent"])
    return made


@pytest.mark.parametrize(
    "change",
    [
        lambda made, intent: None,
        lambda made, intent: intent.pop("notes"),
        lambda made, intent: intent.update(expires=None),
        lambda made, intent: intent["limits"].update(seconds="60"),
        lambda made, intent: made["votes"].reverse(),
        lambda made, intent: made["votes"].clear(),
    ],
    ids=["as it is", "empty left out", "empty added", "a number as text", "votes in another order", "no votes"],
)
def test_the_same(change: Callable[[dict[str, Any], dict[str, Any]], object]) -> None:
    assert difference_from_stamped(changed(change)) is None


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (lambda made, intent: intent.update(userTagName="Guests"), "parameters.userTagName differs"),
        (lambda made, intent: intent.pop("userTagName"), "parameters.userTagName differs"),
        (lambda made, intent: intent.update(expires="3600"), "parameters.expires differs"),
        (lambda made, intent: intent["userIds"].append("c"), "parameters.userIds differs"),
        (lambda made, intent: intent["userIds"].reverse(), "parameters.userIds[0] differs"),
        (lambda made, intent: intent["limits"].update(seconds=61), "parameters.limits.seconds differs"),
        (lambda made, intent: made.update(intent={}), "parameters.limits differs"),
        (lambda made, intent: made.update(type="ACTIVITY_TYPE_X"), "is of type ACTIVITY_TYPE_CREATE_USER_TAG"),
        (lambda made, intent: made.update(fingerprint="sha256:00"), "no request that it shows has its fingerprint"),
        (lambda made, intent: made["votes"].pop(0), "no request that it shows has its fingerprint"),
    ],
)  # fmt: skip
def test_a_difference(change: Callable[[dict[str, Any], dict[str, Any]], object], where: str) -> None:
    difference = difference_from_stamped(changed(change))
    assert difference is not None
    assert difference.endswith(where)


def test_a_request_that_is_not_json() -> None:
    made = activity()
    made["votes"] = [{"message": "["}]
    made["fingerprint"] = "sha256:" + hashlib.sha256(b"[").hexdigest()
    assert "not JSON" in str(difference_from_stamped(made))
