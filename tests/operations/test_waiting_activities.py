"""An activity that one of two root users submits: recorded, not executed, and open to the other."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from keystead.keys import master_key
from keystead.pipeline import authorization
from keystead.pipeline.decision_basis import DecisionBasis
from keystead.stamps.signing import generate_api_key
from tests.support.callers import SDK_FORM, Caller, answered, unique, user_params
from tests.support.in_process import serving
from tests.support.servers import Installation, Server, user_with_key


class Quorum(NamedTuple):
    """Two root users who must both approve, and a user who is not in the quorum."""

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


def test_lists_evaluate_the_policies_once(
    installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until the organization or the activity changes, a list that is asked for again evaluates no policy."""
    evaluated, may_approve = 0, authorization.may_approve

    def counted(basis: DecisionBasis, user_id: str) -> bool:
        nonlocal evaluated
        evaluated += 1
        return may_approve(basis, user_id)

    key_file = tmp_path / "master.key"
    master_key.create(key_file, installation.master_key)

    async def run() -> None:
        async with serving(installation, key_file) as http:
            with httpx.Client() as unused:
                root = installation.caller(unused)

            async def sent(who: Caller, path: str, body: bytes) -> Any:
                response = await http.post(f"/public/v1/{path}", content=body, headers=who.stamped(body) | SDK_FORM)
                assert response.status_code == 200, response.text
                return response.json()

            async def submitted(who: Caller, name: str, parameters: Any) -> Any:
                return (await sent(who, f"submit/{name}", who.submit_body(name, parameters)))["activity"]

            async def listed() -> list[bool]:
                body = second.query_body(filterByStatus=["ACTIVITY_STATUS_CONSENSUS_NEEDED"])
                found = await sent(second, "query/list_activities", body)
                return [activity["canApprove"] for activity in found["activities"]]

            key = generate_api_key()
            users = await submitted(root, "create_users", {"users": [user_params(key.public_key)]})
            second = root.with_key(key, users["result"]["createUsersResult"]["userIds"][0])
            both = {"threshold": 2, "userIds": [root.user_id, second.user_id]}
            await submitted(root, "update_root_quorum", both)
            tags = [{"userTagName": unique("tag"), "userIds": []} for _ in range(3)]
            waiting = [await submitted(root, "create_user_tag", tag) for tag in tags]
            monkeypatch.setattr(authorization, "may_approve", counted)
            assert await listed() == [True] * 3
            assert await listed() == [True] * 3
            assert evaluated == 3
            # A new version of the organization, and a new vote, are looked at anew.
            await submitted(second, "approve_activity", {"fingerprint": waiting[0]["fingerprint"]})
            assert await listed() == [True] * 2

    asyncio.run(run())
    assert evaluated >= 5
