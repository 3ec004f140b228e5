"""The status that a developer chose for the next activities of a type, whatever is decided about them."""

from __future__ import annotations

import json

import pytest

from keystead import ActivityFailed, ActivityStatus, Effect
from keystead.api.developer_controls import OUTCOMES
from keystead.client.errors import ApiError
from keystead.testing import DevelopmentServer, TestOrganization

TYPE = "ACTIVITY_TYPE_CREATE_USER_TAG"
TAG = {"userTagName": "Operators", "userIds": []}


def submitted(organization: TestOrganization, name: str = "Operators") -> str:
    """The status of a submission's activity, read anew."""
    answer = organization.client.request("submit/create_user_tag", {"parameters": {**TAG, "userTagName": name}})
    activity_id: str = answer["activity"]["id"]
    status: str = organization.client.get_activity(activity_id=activity_id).activity.status
    assert status == answer["activity"]["status"]
    return status


def tags(organization: TestOrganization) -> list[str]:
    return [tag.tag_name for tag in organization.client.list_user_tags().user_tags]


@pytest.mark.parametrize("status", ActivityStatus)
def test_every_status(server: DevelopmentServer, organization: TestOrganization, status: ActivityStatus) -> None:
    server.controls.next_outcome(TYPE, status)
    assert submitted(organization) == status
    assert tags(organization) == (["Operators"] if status is ActivityStatus.COMPLETED else [])
    assert submitted(organization, "after it") == ActivityStatus.COMPLETED


def test_what_fails_says_that_it_was_chosen(server: DevelopmentServer, organization: TestOrganization) -> None:
    server.controls.next_outcome(TYPE, ActivityStatus.FAILED)
    with pytest.raises(ActivityFailed, match="a developer chose that this activity fails"):
        organization.client.create_user_tag(user_tag_name="Operators", user_ids=[])


@pytest.mark.parametrize(
    "status", [ActivityStatus.CREATED, ActivityStatus.PENDING, ActivityStatus.CONSENSUS_NEEDED]
)
def test_an_approval_executes_what_waits(
    server: DevelopmentServer, organization: TestOrganization, status: ActivityStatus
) -> None:
    server.controls.next_outcome(TYPE, status)
    waiting = organization.client.create_user_tag(user_tag_name="Operators", user_ids=[])
    assert waiting.activity.status == status
    assert tags(organization) == []
    done = organization.client.approve_activity(fingerprint=waiting.activity.fingerprint)
    assert done.activity.status == ActivityStatus.COMPLETED
    assert tags(organization) == ["Operators"]


def test_a_reset_forgets_the_outcome_of_bytes(server: DevelopmentServer) -> None:
    server.controls.next_outcome(TYPE, ActivityStatus.REJECTED)
    prepared = server.client.prepare("submit/create_user_tag", {"parameters": TAG})
    assert json.loads(server.client.send(prepared))["activity"]["status"] == ActivityStatus.REJECTED
    server.controls.reset()
    assert json.loads(server.client.send(prepared))["activity"]["status"] == ActivityStatus.COMPLETED


def test_equal_bytes_have_one_outcome(server: DevelopmentServer, organization: TestOrganization) -> None:
    server.controls.next_outcome(TYPE, ActivityStatus.REJECTED, count=2)
    prepared = organization.client.prepare("submit/create_user_tag", {"parameters": TAG})
    assert organization.client.send(prepared) == organization.client.send(prepared)
    assert submitted(organization, "another") == ActivityStatus.REJECTED
    assert submitted(organization, "the third") == ActivityStatus.COMPLETED


def test_outcomes_are_of_their_type_and_in_order(server: DevelopmentServer, organization: TestOrganization) -> None:
    server.controls.next_outcome("ACTIVITY_TYPE_CREATE_PRIVATE_KEY_TAG", ActivityStatus.FAILED)
    server.controls.next_outcome(TYPE, ActivityStatus.PENDING)
    server.controls.next_outcome(TYPE, ActivityStatus.REJECTED)
    assert submitted(organization, "one") == ActivityStatus.PENDING
    assert submitted(organization, "two") == ActivityStatus.REJECTED
    assert submitted(organization, "three") == ActivityStatus.COMPLETED
    server.controls.clear_outcomes()
    made = organization.client.create_private_key_tag(private_key_tag_name="x", private_key_ids=[])
    assert made.activity.status == ActivityStatus.COMPLETED


def test_a_denial_becomes_the_chosen_status(server: DevelopmentServer, organization: TestOrganization) -> None:
    organization.client.create_policy(
        policy_name="none", effect=Effect.DENY, condition="true", consensus="true", notes=""
    )
    server.controls.next_outcome(TYPE, ActivityStatus.COMPLETED)
    assert submitted(organization) == ActivityStatus.COMPLETED


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"type": "ACTIVITY_TYPE_NOTHING", "status": "ACTIVITY_STATUS_FAILED"}, "no submission makes"),
        ({"type": "ACTIVITY_TYPE_APPROVE_ACTIVITY", "status": "ACTIVITY_STATUS_FAILED"}, "no submission makes"),
        ({"type": TYPE, "status": "ACTIVITY_STATUS_LOST"}, "unknown value"),
        ({"type": TYPE}, "field `status` is missing"),
        ({"type": TYPE, "status": "ACTIVITY_STATUS_FAILED", "count": 0}, "count"),
        ({}, "field `status` is missing"),
    ],
)
def test_what_cannot_be_chosen(server: DevelopmentServer, change: dict[str, object], why: str) -> None:
    with pytest.raises(ApiError, match=why):
        server.controls.change(OUTCOMES, change)
    assert server.controls.read(OUTCOMES).outcomes == ()
