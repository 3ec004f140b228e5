"""Votes: whose count, how often, on what, and what becomes of them when the organization changes meanwhile."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from keystead.api.enums import ActivityStatus, VoteSelection
from keystead.api.errors import InvalidRequest, NotFound, PermissionDenied, Unauthenticated
from keystead.pipeline.activity import Activity
from tests.support.approval_flows import new_user
from tests.support.organization_harness import DAY_MS, Company, public_key

CONSENSUS_NEEDED, COMPLETED = ActivityStatus.CONSENSUS_NEEDED, ActivityStatus.COMPLETED
FAILED, REJECTED = ActivityStatus.FAILED, ActivityStatus.REJECTED


def quorum_of_two() -> Company:
    return Company("R1", "R2", "R3", "Dan", root=["R1", "R2", "R3"], threshold=2)


def three_by_policy() -> Company:
    """Root alone, and anybody with two others."""
    company = Company("Root", "Ana", "Ben", "Cy", root=["Root"])
    company.policy(name="three", consensus="approvers.count() >= 3", condition="activity.resource == 'WALLET'")
    return company


def asked(company: Company, who: str, name: str = "waiting") -> Activity:
    activity = company.submit(who, "create_wallet", {"walletName": name, "accounts": []})
    assert activity.status is CONSENSUS_NEEDED
    return activity


def test_a_fingerprint_that_no_activity_has() -> None:
    company = quorum_of_two()
    activity = asked(company, "R1")
    for fingerprint in ("sha256:" + "0" * 64, activity.id, activity.fingerprint.upper(), "x"):
        for vote in ("approve_activity", "reject_activity"):
            with pytest.raises(NotFound, match="No activity found with fingerprint"):
                company.submit("R2", vote, {"fingerprint": fingerprint})
    assert company.activities() == [activity]


def test_a_vote_carries_what_was_signed() -> None:
    company = quorum_of_two()
    activity = asked(company, "R1")
    body = company.body("approve_activity", {"fingerprint": activity.fingerprint})
    done = company.send("R2", "approve_activity", body)
    assert [(vote.user_id, vote.selection) for vote in done.votes] == [
        (company.user_ids["R1"], VoteSelection.APPROVED),
        (company.user_ids["R2"], VoteSelection.APPROVED),
    ]
    submitted, approved = done.votes
    assert submitted.message.encode() == activity.request
    assert (approved.message.encode(), approved.signature) == (body, "signature by R2")
    assert (approved.public_key, approved.scheme) == (public_key("R2"), "scheme")
    assert approved.user == company.user("R2")
    assert {vote.activity_id for vote in done.votes} == {activity.id}


def test_each_user_counts_once() -> None:
    company = three_by_policy()
    activity = asked(company, "Ana")
    for who in ("Ana", "Ben", "Ben", "Ana", "Ben"):
        activity = company.approve(who, activity)
        assert activity.status is CONSENSUS_NEEDED
    assert [vote.user_id for vote in activity.votes] == [company.user_ids["Ana"], company.user_ids["Ben"]]
    company.result("Root", "create_api_keys", {"userId": company.user_ids["Ben"], "apiKeys": [_key("further")]})
    activity = company.approve("Ben", activity, key="further")
    assert activity.status is CONSENSUS_NEEDED, "another credential of the same user"
    assert len(activity.votes) == 2
    assert company.approve("Cy", activity).status is COMPLETED


def _key(label: str) -> dict[str, str]:
    return {"apiKeyName": label, "publicKey": public_key(label), "curveType": "API_KEY_CURVE_P256"}


def test_the_same_bytes_again() -> None:
    company = three_by_policy()
    activity = asked(company, "Ana")
    approval = company.body("approve_activity", {"fingerprint": activity.fingerprint})
    once = company.send("Ben", "approve_activity", approval)
    assert company.send("Ben", "approve_activity", approval) == once
    assert company.send("Ana", "create_wallet", activity.request) == once
    assert company.send("Cy", "create_wallet", activity.request) == once, "another's submission is no vote"
    done = company.send("Cy", "approve_activity", approval)
    assert done.status is COMPLETED, "another's approval, stamped by oneself, is one's own"
    company.clock.ms += 2 * DAY_MS
    assert company.send("Ben", "approve_activity", approval) == done, "answered before the clock is looked at"
    assert company.send("Cy", "approve_activity", approval) == done
    assert company.send("Ana", "create_wallet", activity.request) == done


def test_the_same_bytes_of_a_further_proof() -> None:
    company = three_by_policy()
    activity = asked(company, "Ana")
    company.result("Root", "create_api_keys", {"userId": company.user_ids["Ben"], "apiKeys": [_key("further")]})
    company.approve("Ben", activity)
    approval = company.body("approve_activity", {"fingerprint": activity.fingerprint})
    company.send("Ben", "approve_activity", approval, key="further")
    done = company.approve("Cy", activity)
    assert done.status is COMPLETED
    assert company.send("Ben", "approve_activity", approval, key="further") == done


def test_the_same_bytes_of_an_approval_that_became_a_rejection() -> None:
    company = three_by_policy()
    activity = asked(company, "Ana")
    approval = company.body("approve_activity", {"fingerprint": activity.fingerprint})
    company.send("Ben", "approve_activity", approval)
    rejected = company.reject("Ben", activity)
    assert (rejected.status, [vote.selection for vote in rejected.votes]) == (
        REJECTED,
        [VoteSelection.APPROVED, VoteSelection.REJECTED],
    )
    assert company.send("Ben", "approve_activity", approval) == rejected


def _completed(company: Company) -> Activity:
    return company.approve("R2", asked(company, "R1"))


def _rejected(company: Company) -> Activity:
    return company.reject("R2", asked(company, "R1"))


def _failed(company: Company) -> Activity:
    activity = asked(company, "R1")
    company.approve("R2", asked(company, "R1"))
    return company.approve("R2", activity)


@pytest.mark.parametrize("ended", [_completed, _rejected, _failed])
@pytest.mark.parametrize("vote", ["approve_activity", "reject_activity"])
@pytest.mark.parametrize("who", ["R1", "R2", "R3"])
def test_a_vote_on_what_has_ended(ended: Callable[[Company], Activity], vote: str, who: str) -> None:
    company = quorum_of_two()
    activity = ended(company)
    with pytest.raises(InvalidRequest, match=f"already in status {activity.status}"):
        company.vote(who, vote, activity)
    assert activity in company.activities()
    assert company.send("R1", "create_wallet", activity.request) == activity


@pytest.mark.parametrize("vote", ["approve_activity", "reject_activity"])
def test_who_does_not_count_may_not_vote(vote: str) -> None:
    company = quorum_of_two()
    activity = asked(company, "R1")
    handed_in = company.stores[0].handed_in
    with pytest.raises(PermissionDenied) as denied:
        company.vote("Dan", vote, activity)
    assert denied.value.details is not None
    assert denied.value.details[0]["activityId"] == activity.id
    assert company.activities() == [activity]
    assert company.stores[0].handed_in == handed_in


def test_the_submitter_cancels() -> None:
    company = three_by_policy()
    rejected = company.reject("Ana", asked(company, "Ana"))
    assert rejected.status is REJECTED
    assert [vote.selection for vote in rejected.votes] == [VoteSelection.REJECTED]
    assert not company.organization.wallets


def test_the_submitter_cancels_after_the_policy_went() -> None:
    company = three_by_policy()
    activity = asked(company, "Ana")
    (policy_id,) = company.organization.policies
    company.result("Root", "delete_policy", {"policyId": policy_id})
    with pytest.raises(PermissionDenied):
        company.approve("Ben", activity)
    assert company.reject("Ana", activity).status is REJECTED


def test_a_policy_that_changes_meanwhile() -> None:
    company = three_by_policy()
    activity = asked(company, "Ana")
    (policy_id,) = company.organization.policies
    company.result("Root", "update_policy", {"policyId": policy_id, "policyConsensus": "approvers.count() >= 2"})
    assert company.approve("Ben", activity).status is COMPLETED


def test_a_denial_that_comes_meanwhile() -> None:
    company = three_by_policy()
    activity = asked(company, "Ana")
    denial = company.policy(effect="EFFECT_DENY", condition="activity.resource == 'WALLET'")
    with pytest.raises(PermissionDenied):
        company.approve("Ben", activity)
    company.result("Root", "delete_policy", {"policyId": denial})
    assert company.approve("Ben", activity).status is CONSENSUS_NEEDED
    assert company.approve("Cy", activity).status is COMPLETED


def test_a_voter_who_goes_meanwhile() -> None:
    company = three_by_policy()
    activity = asked(company, "Ana")
    company.approve("Ben", activity)
    gone = company.caller("Ben")
    company.result("Root", "delete_users", {"userIds": [company.user_ids["Ben"]]})
    company.result("Root", "create_users", {"users": [new_user(company) | {"userName": "Ben"}]})
    assert company.approve("Cy", activity).status is CONSENSUS_NEEDED, "Ana and Cy; Ben's vote is gone with Ben"
    with pytest.raises(Unauthenticated):
        body = company.body("approve_activity", {"fingerprint": activity.fingerprint})
        company.run(company.sending(gone, "approve_activity", body))
    assert company.approve("Root", activity).status is COMPLETED


def test_a_proposer_who_goes_meanwhile() -> None:
    company = three_by_policy()
    activity = asked(company, "Ana")
    company.result("Root", "delete_users", {"userIds": [company.user_ids["Ana"]]})
    assert company.approve("Ben", activity).status is CONSENSUS_NEEDED
    assert company.approve("Cy", activity).status is CONSENSUS_NEEDED, "two are left"
    done = company.approve("Root", activity)
    assert (done.status, done.submitter_id) == (COMPLETED, company.user_ids["Ana"])


def test_a_member_who_leaves_the_quorum_meanwhile() -> None:
    company = quorum_of_two()
    activity = asked(company, "R1")
    change = company.submit(
        "R2", "update_root_quorum", {"threshold": 2, "userIds": [company.user_ids[n] for n in ("R2", "R3", "Dan")]}
    )
    assert company.approve("R3", change).status is COMPLETED
    assert company.approve("R2", activity).status is CONSENSUS_NEEDED, "R1 does not count any more"
    assert company.approve("Dan", activity).status is COMPLETED, "and Dan does"


def test_a_key_that_goes_while_its_request_is_under_way() -> None:
    company = three_by_policy()
    company.result("Root", "create_api_keys", {"userId": company.user_ids["Ben"], "apiKeys": [_key("further")]})
    activity = asked(company, "Ana")
    caller = company.caller("Ben", "further")
    key_id = company.user("Ben").api_keys[-1].api_key_id
    company.result("Root", "delete_api_keys", {"userId": company.user_ids["Ben"], "apiKeyIds": [key_id]})
    body = company.body("approve_activity", {"fingerprint": activity.fingerprint})
    with pytest.raises(Unauthenticated):
        company.run(company.sending(caller, "approve_activity", body))
    company.result("Root", "create_api_keys", {"userId": company.user_ids["Cy"], "apiKeys": [_key("further")]})
    with pytest.raises(Unauthenticated):
        company.run(company.sending(caller, "approve_activity", body))
    assert activity in company.activities()


def test_approvals_lapse() -> None:
    company = three_by_policy()
    activity = asked(company, "Ana")
    company.approve("Ben", activity)
    company.clock.ms = activity.created_at_ms + DAY_MS
    for who in ("Ana", "Ben", "Cy"):
        assert company.seen(who, activity).can_approve, f"{who}'s approval has lapsed or was never cast"
    assert company.approve("Cy", activity).status is CONSENSUS_NEEDED, "a day later Cy is the first"
    assert not company.seen("Cy", activity).can_approve
    assert company.approve("Ana", activity).status is CONSENSUS_NEEDED
    done = company.approve("Ben", activity)
    assert done.status is COMPLETED
    assert sorted(vote.user_id for vote in done.votes) == sorted(company.user_ids[n] for n in ("Ana", "Ben", "Cy"))


def test_approvals_last_to_the_last_millisecond() -> None:
    company = three_by_policy()
    activity = asked(company, "Ana")
    company.approve("Ben", activity)
    company.clock.ms = activity.created_at_ms + DAY_MS - 2
    assert company.approve("Cy", activity).status is COMPLETED


def test_a_server_whose_clock_is_behind() -> None:
    company = three_by_policy()
    activity = asked(company, "Ana")
    company.clock.ms -= 5_000
    activity = company.approve("Ben", activity)
    assert not company.seen("Ben", activity).can_approve
    company.clock.ms += 5_000
    activity = company.approve("Cy", activity)
    assert activity.status is COMPLETED, "Ben's approval, as it seems older than the request, counts"
    assert activity.updated_at_ms >= activity.created_at_ms
