"""An activity that one of two root users submits: recorded, not executed, and open to the other."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from keystead.stamps.signing import generate_api_key
from tests.support.callers import SDK_FORM, Caller, answered
from tests.support.servers import Server, user_with_key


class Quorum(NamedTuple):
    """Two root users of whom both must approve, and a user who is not in the quorum."""

    first: Caller
    second: Caller
    outsider: Caller


@pytest.fixture(scope="module")
def quorum(server: Server) -> Quorum:
    keys = [generate_api_key() for _ in range(3)]
    users = [user_with_key(key) for key in keys]
    organization = server.installation.add_organization(*users, threshold=2)
    return Quorum(
        *(server.caller.with_key(key, user.user_id, organization.id) for key, user in zip(keys, users, strict=True))
    )


@pytest.fixture
def waiting(quorum: Quorum) -> Any:
    body = quorum.first.submit_body("create_user_tag", {"userTagName": "waiting", "userIds": []})
    return answered(quorum.first.post("/public/v1/submit/create_user_tag", body, SDK_FORM))["activity"]


def test_recorded_with_the_submitters_vote_and_without_a_result(waiting: Any, quorum: Quorum) -> None:
    assert (waiting["status"], waiting["result"]) == ("ACTIVITY_STATUS_CONSENSUS_NEEDED", {})
    (vote,) = waiting["votes"]
    assert (vote["userId"], vote["selection"]) == (quorum.first.user_id, "VOTE_SELECTION_APPROVED")
    assert quorum.first.asked("list_user_tags")["userTags"] == []


def test_documented_form_has_an_empty_result_beside_the_activity(waiting: Any, quorum: Quorum) -> None:
    activity = quorum.first.asked("get_activity", activityId=waiting["id"])["activity"]
    assert set(activity["result"]) == {"activity"}
    assert activity["result"]["activity"]["result"] == {}


RIGHTS = [("first", False, True), ("second", True, True), ("outsider", False, False)]


@pytest.mark.parametrize(("who", "can_approve", "can_reject"), RIGHTS)
def test_who_may_vote(who: str, can_approve: bool, can_reject: bool, waiting: Any, quorum: Quorum) -> None:
    seen = getattr(quorum, who).asked("get_activity", activityId=waiting["id"])["activity"]
    assert (seen["canApprove"], seen["canReject"]) == (can_approve, can_reject)


def test_the_same_bytes_by_the_other_are_no_vote(quorum: Quorum) -> None:
    body = quorum.first.submit_body("create_user_tag", {"userTagName": "once more", "userIds": []})
    path = "/public/v1/submit/create_user_tag"
    first, second = (answered(caller.post(path, body))["activity"] for caller in (quorum.first, quorum.second))
    assert (second["id"], second["votes"]) == (first["id"], first["votes"])
    assert (first["canApprove"], second["canApprove"]) == (False, True)


def test_found_by_its_status(waiting: Any, quorum: Quorum) -> None:
    listed = quorum.second.asked("list_activities", filterByStatus=["ACTIVITY_STATUS_CONSENSUS_NEEDED"])
    assert waiting["id"] in [activity["id"] for activity in listed["activities"]]
