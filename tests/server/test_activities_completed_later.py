"""Activities that wait for votes, over HTTP: what voters see, and the activity after its last vote."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from keystead.stamps.signing import generate_api_key
from tests.support.authorization_scenario import new_sub_organization
from tests.support.callers import SDK_FORM, Caller, answered, api_key_params, refusal, unique, user_params
from tests.support.organization_fixtures import policy_params
from tests.support.servers import Installation, Server

COMPLETED, FAILED, REJECTED, OPEN = (
    f"ACTIVITY_STATUS_{status}" for status in ("COMPLETED", "FAILED", "REJECTED", "CONSENSUS_NEEDED")
)


class Pair:
    """Two users who may together do everything that policies govern."""

    def __init__(self, root: Caller) -> None:
        self.root = root
        keys = [generate_api_key() for _ in range(2)]
        made = root.result("create_users", {"users": [user_params(key.public_key) for key in keys]})
        self.ana, self.ben = (root.with_key(key, id_) for key, id_ in zip(keys, made["userIds"], strict=True))
        either = " || ".join(f"u.id == '{user_id}'" for user_id in made["userIds"])
        consensus = f"approvers.filter(u, {either}).count() >= 2"
        self.policy_id = root.result("create_policy", policy_params(condition="", consensus=consensus))["policyId"]

    def proposed(self, operation: str, parameters: dict[str, Any], **envelope: Any) -> Any:
        activity = answered(self.ana.submit(operation, parameters, SDK_FORM, **envelope))["activity"]
        assert (activity["status"], activity["result"]) == (OPEN, {})
        return activity

    def approved(self, activity: Any) -> Any:
        return voted(self.ben, "approve_activity", activity)


def voted(voter: Caller, operation: str, activity: Any) -> Any:
    """The answer to a vote: the activity voted on."""
    answer = answered(voter.submit(operation, {"fingerprint": activity["fingerprint"]}, SDK_FORM))["activity"]
    assert answer["id"] == activity["id"]
    return answer


@pytest.fixture
def pair(caller: Caller) -> Pair:
    return Pair(caller)


def read(reader: Caller, activity: Any) -> Any:
    return reader.asked("get_activity", SDK_FORM, activityId=activity["id"])["activity"]


def test_both_forms_of_a_vote(pair: Pair) -> None:
    """The documented form nests the activity voted on, as it does for a submission."""
    activity = pair.proposed("create_user_tag", {"userTagName": unique("tag"), "userIds": []})
    answer = answered(pair.ben.submit("approve_activity", {"fingerprint": activity["fingerprint"]}))["activity"]
    nested = answer["result"].pop("activity")
    assert nested == answer
    assert (answer["id"], answer["status"]) == (activity["id"], COMPLETED)
    assert isinstance(answer["createdAt"], str)
    assert [vote["userId"] for vote in read(pair.root, activity)["votes"]] == [pair.ana.user_id, pair.ben.user_id]


def test_an_activity_that_fails_when_it_is_executed(pair: Pair) -> None:
    """The name was free when Ana asked for it: the activity failed, and the failure tells why."""
    tag = {"userTagName": unique("tag"), "userIds": []}
    activity = pair.proposed("create_user_tag", tag)
    pair.root.submitted("create_user_tag", tag)
    answer = pair.approved(activity)
    assert (answer["status"], answer["result"]) == (FAILED, {})
    assert (answer["failure"]["code"], "label must be unique" in answer["failure"]["message"]) == (3, True)
    assert read(pair.root, activity)["failure"] == answer["failure"]


def test_refused_at_once_is_no_activity(pair: Pair) -> None:
    """What could not be done even with every approval is found out when it is done, not before."""
    activity = pair.proposed("delete_policy", {"policyId": pair.ana.user_id})
    answer = pair.approved(activity)
    assert (answer["status"], answer["failure"]["code"]) == (FAILED, 5)


def test_app_proofs_name_every_approval(pair: Pair) -> None:
    tag = {"userTagName": unique("tag"), "userIds": []}
    activity = pair.proposed("create_user_tag", tag, generateAppProofs=True)
    assert not activity.get("appProofs")
    (proof,) = pair.approved(activity)["appProofs"]
    for voter in (pair.ana, pair.ben):
        assert voter.key.public_key in proof["proofPayload"]


VOTERS: list[Callable[[Pair], Caller]] = [lambda pair: pair.ana, lambda pair: pair.ben]


@pytest.mark.parametrize("who", VOTERS, ids=["the proposer", "the approver"])
def test_deleting_one_of_the_voters(who: Callable[[Pair], Caller], pair: Pair) -> None:
    gone = who(pair)
    activity = pair.proposed("delete_users", {"userIds": [gone.user_id]})
    answer = pair.approved(activity)
    assert (answer["status"], answer["canApprove"], answer["canReject"]) == (COMPLETED, False, False)
    assert gone.user_id in [vote["userId"] for vote in read(pair.root, activity)["votes"]]
    assert refusal(gone.ask("whoami"))[0] == 401


def test_deleting_the_policy_that_allows_it(pair: Pair) -> None:
    activity = pair.proposed("delete_policy", {"policyId": pair.policy_id})
    assert pair.approved(activity)["status"] == COMPLETED
    assert refusal(pair.root.ask("get_policy", policyId=pair.policy_id))[0] == 404
    assert refusal(pair.ana.submit("delete_policy", {"policyId": pair.policy_id}))[0] == 403


def test_the_policy_is_gone(pair: Pair) -> None:
    """Nobody but the root quorum has a vote any more, and its submitter may withdraw it."""
    activities = [pair.proposed("create_user_tag", {"userTagName": unique("tag"), "userIds": []}) for _ in range(2)]
    pair.root.submitted("delete_policy", {"policyId": pair.policy_id})
    for activity in activities:
        for operation in ("approve_activity", "reject_activity"):
            response = pair.ben.submit(operation, {"fingerprint": activity["fingerprint"]})
            assert refusal(response)[0] == 403
            assert response.json()["details"][0]["activityId"] == activity["id"]
        shown = [read(reader, activity) for reader in (pair.ana, pair.ben, pair.root)]
        assert [one["canApprove"] for one in shown] == [False, False, True]
        assert [one["canReject"] for one in shown] == [True, False, True]
    assert voted(pair.ana, "reject_activity", activities[0])["status"] == REJECTED
    assert voted(pair.root, "approve_activity", activities[1])["status"] == COMPLETED


def test_approving_and_then_rejecting(caller: Caller) -> None:
    """One vote a user: the later one counts."""
    first, second, third = (caller.new_user() for _ in range(3))
    members = " || ".join(f"u.id == '{one.user_id}'" for one in (first, second, third))
    consensus = f"approvers.filter(u, {members}).count() >= 3"
    caller.submitted("create_policy", policy_params(condition="", consensus=consensus))
    tag = {"userTagName": unique("tag"), "userIds": []}
    activity = answered(first.submit("create_user_tag", tag))["activity"]
    assert voted(second, "approve_activity", activity)["status"] == OPEN
    assert voted(second, "reject_activity", activity)["status"] == REJECTED
    votes = {vote["userId"]: vote["selection"] for vote in read(caller, activity)["votes"]}
    assert votes == {first.user_id: "VOTE_SELECTION_APPROVED", second.user_id: "VOTE_SELECTION_REJECTED"}
    status, message = refusal(third.submit("approve_activity", {"fingerprint": activity["fingerprint"]}))
    assert (status, REJECTED in message) == (400, True)


def test_a_vote_elsewhere_finds_nothing(pair: Pair) -> None:
    """A fingerprint means an activity of the organization that is named."""
    activity = pair.proposed("create_user_tag", {"userTagName": unique("tag"), "userIds": []})
    sub = new_sub_organization(pair.root)
    status, message = refusal(sub.submit("approve_activity", {"fingerprint": activity["fingerprint"]}))
    assert (status, message.startswith("No activity found with fingerprint")) == (404, True)


def test_a_root_quorum_of_two_dissolves_its_sub_organization(caller: Caller) -> None:
    """The answer to the last vote is of an organization that no longer exists."""
    keys = [generate_api_key() for _ in range(2)]
    users = [
        {name: value for name, value in user_params(key.public_key).items() if name != "userTags"} for key in keys
    ]
    asked = {"subOrganizationName": unique("sub"), "rootUsers": users, "rootQuorumThreshold": 2}
    made = caller.result("create_sub_organization", asked)
    one, two = (
        caller.with_key(key, user_id, made["subOrganizationId"])
        for key, user_id in zip(keys, made["rootUserIds"], strict=True)
    )
    waiting = answered(one.submit("create_user_tag", {"userTagName": "never", "userIds": []}, SDK_FORM))["activity"]
    activity = answered(one.submit("delete_sub_organization", {}, SDK_FORM))["activity"]
    assert activity["status"] == OPEN
    assert voted(two, "approve_activity", activity)["status"] == COMPLETED
    for who in (one, two):
        assert refusal(who.submit("approve_activity", {"fingerprint": waiting["fingerprint"]}))[0] == 404
        assert refusal(who.ask("get_activity", activityId=activity["id"]))[0] == 404


def test_a_root_quorum_of_two(caller: Caller) -> None:
    """What only the root quorum may do waits for the second, whatever policies say; then one of them goes."""
    sub = new_sub_organization(caller)
    other, powerless = sub.new_user(), sub.new_user()
    sub.submitted("create_policy", policy_params(condition="", consensus=""))
    both = [sub.user_id, other.user_id]
    sub.submitted("update_root_quorum", {"threshold": 2, "userIds": both})
    renamed = {"organizationName": unique("renamed")}
    assert refusal(powerless.submit("update_organization_name", renamed))[0] == 403
    activity = answered(other.submit("update_organization_name", renamed, SDK_FORM))["activity"]
    assert (activity["status"], read(powerless, activity)["canApprove"]) == (OPEN, False)
    assert refusal(powerless.submit("reject_activity", {"fingerprint": activity["fingerprint"]}))[0] == 403
    assert voted(sub, "approve_activity", activity)["status"] == COMPLETED
    assert sub.asked("whoami")["organizationName"] == renamed["organizationName"]
    status, message = refusal(powerless.submit("delete_users", {"userIds": [other.user_id]}))
    assert (status, message.startswith("quorum users missing")) == (400, True)
    alone = {"threshold": 1, "userIds": [sub.user_id]}
    assert voted(sub, "approve_activity", answered(other.submit("update_root_quorum", alone))["activity"])["result"]
    assert refusal(other.submit("update_organization_name", renamed))[0] == 403
    assert powerless.submitted("delete_users", {"userIds": [other.user_id]})


def test_an_activity_outlasts_its_server(installation: Installation, start: Callable[..., Server]) -> None:
    """Proposed at a server that then crashes, approved at the next."""
    first = start(installation)
    pair = Pair(first.caller)
    activity = pair.proposed("create_user_tag", {"userTagName": "late", "userIds": []})
    first.kill()
    second = start(installation)
    ben = Caller(second.http, pair.ben.organization_id, pair.ben.user_id, pair.ben.key)
    assert voted(ben, "approve_activity", activity)["status"] == COMPLETED
    assert [tag["tagName"] for tag in second.caller.asked("list_user_tags")["userTags"]] == ["late"]


def test_a_policy_for_everything_is_for_own_credentials_too(pair: Pair) -> None:
    """A policy that could allow it comes before the right to change one's own."""
    added = {"userId": pair.ana.user_id, "apiKeys": [api_key_params(generate_api_key().public_key)]}
    assert pair.approved(pair.proposed("create_api_keys", added))["status"] == COMPLETED
