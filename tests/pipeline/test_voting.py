"""Votes: which count, how often, on what, and the effect of changes of the organization on them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from keystead.api.enums import ActivityStatus, VoteSelection
from keystead.api.errors import InvalidRequest, LimitReached, NotFound, PermissionDenied, Unauthenticated
from keystead.operations.activities import recorded_bytes
from keystead.pipeline import vote
from keystead.pipeline.activity import RecordedActivity, voter_bytes
from keystead.pipeline.bounds import VOTE_BYTES_MAX
from tests.support.approval_flows import new_user
from tests.support.organization_harness import DAY_MS, OrganizationHarness, public_key

CONSENSUS_NEEDED, COMPLETED = ActivityStatus.CONSENSUS_NEEDED, ActivityStatus.COMPLETED
FAILED, REJECTED = ActivityStatus.FAILED, ActivityStatus.REJECTED


def quorum_of_two() -> OrganizationHarness:
    return OrganizationHarness("R1", "R2", "R3", "Dan", root=["R1", "R2", "R3"], threshold=2)


def three_by_policy() -> OrganizationHarness:
    """Root alone, and anybody with two others."""
    harness = OrganizationHarness("Root", "Ana", "Ben", "Cy", root=["Root"])
    harness.policy(name="three", consensus="approvers.count() >= 3", condition="activity.resource == 'WALLET'")
    return harness


def asked(harness: OrganizationHarness, who: str, name: str = "waiting") -> RecordedActivity:
    activity = harness.submit(who, "create_wallet", {"walletName": name, "accounts": []})
    assert activity.status is CONSENSUS_NEEDED
    return activity


def test_a_fingerprint_that_no_activity_has() -> None:
    harness = quorum_of_two()
    activity = asked(harness, "R1")
    for fingerprint in ("sha256:" + "0" * 64, activity.id, activity.fingerprint.upper(), "x"):
        for name in ("approve_activity", "reject_activity"):
            with pytest.raises(NotFound, match="No activity found with fingerprint"):
                harness.submit("R2", name, {"fingerprint": fingerprint})
    assert harness.activities() == [activity]


def test_a_vote_carries_what_was_signed() -> None:
    harness = quorum_of_two()
    activity = asked(harness, "R1")
    body = harness.body("approve_activity", {"fingerprint": activity.fingerprint})
    done = harness.send("R2", "approve_activity", body)
    assert [(vote.user_id, vote.selection) for vote in done.votes] == [
        (harness.user_ids["R1"], VoteSelection.APPROVED),
        (harness.user_ids["R2"], VoteSelection.APPROVED),
    ]
    submitted, approved = done.votes
    assert submitted.message.encode() == activity.request
    assert (approved.message.encode(), approved.signature) == (body, "signature by R2")
    assert (approved.public_key, approved.scheme) == (public_key("R2"), "scheme")
    assert approved.user == harness.user("R2")
    assert {vote.activity_id for vote in done.votes} == {activity.id}


def test_each_user_counts_once() -> None:
    harness = three_by_policy()
    activity = asked(harness, "Ana")
    for who in ("Ana", "Ben", "Ben", "Ana", "Ben"):
        activity = harness.approve(who, activity)
        assert activity.status is CONSENSUS_NEEDED
    assert [vote.user_id for vote in activity.votes] == [harness.user_ids["Ana"], harness.user_ids["Ben"]]
    harness.result("Root", "create_api_keys", {"userId": harness.user_ids["Ben"], "apiKeys": [_key("further")]})
    activity = harness.approve("Ben", activity, key="further")
    assert activity.status is CONSENSUS_NEEDED, "another credential of the same user"
    assert len(activity.votes) == 2
    assert harness.approve("Cy", activity).status is COMPLETED


def _key(label: str) -> dict[str, str]:
    return {"apiKeyName": label, "publicKey": public_key(label), "curveType": "API_KEY_CURVE_P256"}


def test_an_activity_takes_a_limited_number_of_approvals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vote, "APPROVALS_MAX", 2)
    harness = three_by_policy()
    activity = harness.approve("Ben", asked(harness, "Ana"))
    with pytest.raises(LimitReached, match=f"activity {activity.id} has 2 approvals"):
        harness.approve("Cy", activity)
    assert harness.activities()[-1] == activity
    assert harness.approve("Ben", activity) == activity, "an approval that adds nothing"
    assert harness.reject("Cy", activity).status is REJECTED


def test_the_voters_of_an_activity_have_limited_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    harness = three_by_policy()
    activity = harness.approve("Ben", asked(harness, "Ana"))
    voters = [harness.user(name) for name in ("Ana", "Ben", "Cy")]
    monkeypatch.setattr(vote, "VOTERS_BYTES_MAX", sum(map(voter_bytes, voters)) - 1)
    with pytest.raises(LimitReached, match=f"have voted on activity {activity.id} and this user have"):
        harness.approve("Cy", activity)
    assert harness.activities()[-1] == activity
    assert harness.approve("Ben", activity) == activity, "an approval that adds nothing"
    monkeypatch.setattr(vote, "VOTERS_BYTES_MAX", sum(map(voter_bytes, voters)))
    assert harness.approve("Cy", activity).status is COMPLETED


def test_a_page_counts_the_bytes_of_voters() -> None:
    harness = three_by_policy()
    activity = asked(harness, "Ana")
    (approval,) = activity.votes
    longer = replace(approval, user=replace(approval.user, user_name=approval.user.user_name + "a" * 1_000))
    assert recorded_bytes(replace(activity, votes=(longer,))) == recorded_bytes(activity) + 1_000


@pytest.mark.parametrize("name", ["approve_activity", "reject_activity"])
def test_the_body_of_a_vote_is_short(name: str) -> None:
    harness = quorum_of_two()
    activity = asked(harness, "R1")
    body = harness.body(name, {"fingerprint": activity.fingerprint})
    padded = body[:-1] + b" " * (VOTE_BYTES_MAX - len(body)) + b"}"
    with pytest.raises(InvalidRequest, match="at most 4096 bytes, and this one has 4097"):
        harness.send("R2", name, padded[:-1] + b" }")
    assert harness.activities() == [activity]
    assert harness.send("R2", name, padded).status in (COMPLETED, REJECTED)


def test_the_same_bytes_again() -> None:
    harness = three_by_policy()
    activity = asked(harness, "Ana")
    approval = harness.body("approve_activity", {"fingerprint": activity.fingerprint})
    once = harness.send("Ben", "approve_activity", approval)
    assert harness.send("Ben", "approve_activity", approval) == once
    assert harness.send("Ana", "create_wallet", activity.request) == once
    assert harness.send("Cy", "create_wallet", activity.request) == once, "another's submission is not a vote"
    done = harness.send("Cy", "approve_activity", approval)
    assert done.status is COMPLETED, "another's approval, stamped by oneself, is one's own"
    harness.clock.ms += 2 * DAY_MS
    assert harness.send("Ben", "approve_activity", approval) == done, "answered before the clock is looked at"
    assert harness.send("Cy", "approve_activity", approval) == done
    assert harness.send("Ana", "create_wallet", activity.request) == done


def test_the_same_bytes_of_a_further_proof() -> None:
    harness = three_by_policy()
    activity = asked(harness, "Ana")
    harness.result("Root", "create_api_keys", {"userId": harness.user_ids["Ben"], "apiKeys": [_key("further")]})
    harness.approve("Ben", activity)
    approval = harness.body("approve_activity", {"fingerprint": activity.fingerprint})
    harness.send("Ben", "approve_activity", approval, key="further")
    done = harness.approve("Cy", activity)
    assert done.status is COMPLETED
    assert harness.send("Ben", "approve_activity", approval, key="further") == done


def test_the_same_bytes_of_an_approval_that_became_a_rejection() -> None:
    harness = three_by_policy()
    activity = asked(harness, "Ana")
    approval = harness.body("approve_activity", {"fingerprint": activity.fingerprint})
    harness.send("Ben", "approve_activity", approval)
    rejected = harness.reject("Ben", activity)
    assert (rejected.status, [vote.selection for vote in rejected.votes]) == (
        REJECTED,
        [VoteSelection.APPROVED, VoteSelection.REJECTED],
    )
    assert harness.send("Ben", "approve_activity", approval) == rejected


def _completed(harness: OrganizationHarness) -> RecordedActivity:
    return harness.approve("R2", asked(harness, "R1"))


def _rejected(harness: OrganizationHarness) -> RecordedActivity:
    return harness.reject("R2", asked(harness, "R1"))


def _failed(harness: OrganizationHarness) -> RecordedActivity:
    activity = asked(harness, "R1")
    harness.approve("R2", asked(harness, "R1"))
    return harness.approve("R2", activity)


@pytest.mark.parametrize("ended", [_completed, _rejected, _failed])
@pytest.mark.parametrize("vote", ["approve_activity", "reject_activity"])
@pytest.mark.parametrize("who", ["R1", "R2", "R3"])
def test_a_vote_on_a_final_activity(
    ended: Callable[[OrganizationHarness], RecordedActivity], vote: str, who: str
) -> None:
    harness = quorum_of_two()
    activity = ended(harness)
    with pytest.raises(InvalidRequest, match=f"already in status {activity.status}"):
        harness.vote(who, vote, activity)
    assert activity in harness.activities()
    assert harness.send("R1", "create_wallet", activity.request) == activity


@pytest.mark.parametrize("vote", ["approve_activity", "reject_activity"])
def test_who_does_not_count_may_not_vote(vote: str) -> None:
    harness = quorum_of_two()
    activity = asked(harness, "R1")
    handed_in = harness.stores[0].handed_in
    with pytest.raises(PermissionDenied) as denied:
        harness.vote("Dan", vote, activity)
    assert denied.value.details is not None
    assert denied.value.details[0]["activityId"] == activity.id
    assert harness.activities() == [activity]
    assert harness.stores[0].handed_in == handed_in


def test_the_submitter_cancels() -> None:
    harness = three_by_policy()
    rejected = harness.reject("Ana", asked(harness, "Ana"))
    assert rejected.status is REJECTED
    assert [vote.selection for vote in rejected.votes] == [VoteSelection.REJECTED]
    assert not harness.organization.wallets


def test_the_submitter_cancels_after_the_policy_was_deleted() -> None:
    harness = three_by_policy()
    activity = asked(harness, "Ana")
    (policy_id,) = harness.organization.policies
    harness.result("Root", "delete_policy", {"policyId": policy_id})
    with pytest.raises(PermissionDenied):
        harness.approve("Ben", activity)
    assert harness.reject("Ana", activity).status is REJECTED


def test_a_policy_that_changes_meanwhile() -> None:
    harness = three_by_policy()
    activity = asked(harness, "Ana")
    (policy_id,) = harness.organization.policies
    harness.result("Root", "update_policy", {"policyId": policy_id, "policyConsensus": "approvers.count() >= 2"})
    assert harness.approve("Ben", activity).status is COMPLETED


def test_a_denying_policy_is_created_meanwhile() -> None:
    harness = three_by_policy()
    activity = asked(harness, "Ana")
    denial = harness.policy(effect="EFFECT_DENY", condition="activity.resource == 'WALLET'")
    with pytest.raises(PermissionDenied):
        harness.approve("Ben", activity)
    harness.result("Root", "delete_policy", {"policyId": denial})
    assert harness.approve("Ben", activity).status is CONSENSUS_NEEDED
    assert harness.approve("Cy", activity).status is COMPLETED


def test_a_voter_is_deleted_meanwhile() -> None:
    harness = three_by_policy()
    activity = asked(harness, "Ana")
    harness.approve("Ben", activity)
    gone = harness.caller("Ben")
    harness.result("Root", "delete_users", {"userIds": [harness.user_ids["Ben"]]})
    harness.result("Root", "create_users", {"users": [new_user(harness) | {"userName": "Ben"}]})
    assert harness.approve("Cy", activity).status is CONSENSUS_NEEDED, "Ana and Cy; Ben's vote is gone with Ben"
    with pytest.raises(Unauthenticated):
        body = harness.body("approve_activity", {"fingerprint": activity.fingerprint})
        harness.run(harness.sending(gone, "approve_activity", body))
    assert harness.approve("Root", activity).status is COMPLETED


def test_a_submitter_is_deleted_meanwhile() -> None:
    harness = three_by_policy()
    activity = asked(harness, "Ana")
    harness.result("Root", "delete_users", {"userIds": [harness.user_ids["Ana"]]})
    assert harness.approve("Ben", activity).status is CONSENSUS_NEEDED
    assert harness.approve("Cy", activity).status is CONSENSUS_NEEDED, "two are left"
    done = harness.approve("Root", activity)
    assert (done.status, done.submitter_id) == (COMPLETED, harness.user_ids["Ana"])


def test_a_member_is_removed_from_the_quorum_meanwhile() -> None:
    harness = quorum_of_two()
    activity = asked(harness, "R1")
    change = harness.submit(
        "R2", "update_root_quorum", {"threshold": 2, "userIds": [harness.user_ids[n] for n in ("R2", "R3", "Dan")]}
    )
    assert harness.approve("R3", change).status is COMPLETED
    assert harness.approve("R2", activity).status is CONSENSUS_NEEDED, "R1 does not count any more"
    assert harness.approve("Dan", activity).status is COMPLETED, "and Dan does"


def test_a_key_is_deleted_while_its_request_is_in_progress() -> None:
    harness = three_by_policy()
    harness.result("Root", "create_api_keys", {"userId": harness.user_ids["Ben"], "apiKeys": [_key("further")]})
    activity = asked(harness, "Ana")
    caller = harness.caller("Ben", "further")
    key_id = harness.user("Ben").api_keys[-1].api_key_id
    harness.result("Root", "delete_api_keys", {"userId": harness.user_ids["Ben"], "apiKeyIds": [key_id]})
    body = harness.body("approve_activity", {"fingerprint": activity.fingerprint})
    with pytest.raises(Unauthenticated):
        harness.run(harness.sending(caller, "approve_activity", body))
    harness.result("Root", "create_api_keys", {"userId": harness.user_ids["Cy"], "apiKeys": [_key("further")]})
    with pytest.raises(Unauthenticated):
        harness.run(harness.sending(caller, "approve_activity", body))
    assert activity in harness.activities()


def test_approvals_lapse() -> None:
    harness = three_by_policy()
    activity = asked(harness, "Ana")
    harness.approve("Ben", activity)
    harness.clock.ms = activity.created_at_ms + DAY_MS
    for who in ("Ana", "Ben", "Cy"):
        assert harness.seen(who, activity).can_approve, f"{who}'s approval has lapsed or was never cast"
    assert harness.approve("Cy", activity).status is CONSENSUS_NEEDED, "a day later Cy is the first"
    assert not harness.seen("Cy", activity).can_approve
    assert harness.approve("Ana", activity).status is CONSENSUS_NEEDED
    done = harness.approve("Ben", activity)
    assert done.status is COMPLETED
    assert sorted(vote.user_id for vote in done.votes) == sorted(harness.user_ids[n] for n in ("Ana", "Ben", "Cy"))


def test_approvals_last_to_the_last_millisecond() -> None:
    harness = three_by_policy()
    activity = asked(harness, "Ana")
    harness.approve("Ben", activity)
    harness.clock.ms = activity.created_at_ms + DAY_MS - 2
    assert harness.approve("Cy", activity).status is COMPLETED


def test_a_server_whose_clock_is_behind() -> None:
    harness = three_by_policy()
    activity = asked(harness, "Ana")
    harness.clock.ms -= 5_000
    activity = harness.approve("Ben", activity)
    assert not harness.seen("Ben", activity).can_approve
    harness.clock.ms += 5_000
    activity = harness.approve("Cy", activity)
    assert activity.status is COMPLETED, "Ben's approval, as it seems older than the request, counts"
    assert activity.updated_at_ms >= activity.created_at_ms
