"""Refusals that policies cause, to the last member: malformed policies, and what a policy does not allow."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from tests.support.callers import SDK_FORM, Caller, refusal, unique
from tests.support.organization_fixtures import policy_params
from tests.support.servers import Server


class Bad(NamedTuple):
    """A policy that cannot be read; `message` begins the refusal."""

    name: str
    members: dict[str, Any]
    message: str


NO_FIELD = "Expression cannot be evaluated: field does not exist"
BAD_POLICIES = [
    Bad("unknown keyword", {"condition": "user.id == 'a'"}, "invalid policy condition: "),
    Bad("no such field", {"condition": "activity.colour == 'a'"}, f"invalid policy condition: {NO_FIELD}: "),
    Bad(
        "no such parameter",
        {"condition": "activity.params.colour == 'a'"},
        f"invalid policy condition: {NO_FIELD}: ",
    ),
    Bad("no boolean", {"condition": "activity.kind"}, "invalid policy condition: "),
    Bad("cut off", {"condition": "activity.kind =="}, "invalid policy condition: "),
    Bad("text and number", {"condition": "activity.kind == 1"}, "invalid policy condition: "),
    Bad("approvers in a condition", {"condition": "approvers.count() >= 2"}, "invalid policy condition: "),
    Bad("activity in a consensus", {"consensus": "activity.kind == 'A'"}, "invalid policy consensus: "),
    Bad("a list is not a consensus", {"consensus": "approvers"}, "invalid policy consensus: "),
    Bad("consensus in the time", {"time": "approvers.count() >= 2"}, "invalid policy time: "),
    Bad("no such time zone", {"time": "CronSpan('0 9 * * *', '8h', 'Europe/Atlantis')"}, "invalid policy time: "),
]


@pytest.mark.parametrize("bad", BAD_POLICIES, ids=lambda bad: bad.name)
def test_bad_policy(bad: Bad, caller: Caller) -> None:
    """Refused when it is made, alone or with others, and when one that is good shall become it."""
    parameters = policy_params(**bad.members)
    alone = caller.submit("create_policy", parameters)
    status, message = refusal(alone)
    assert (status, message[: len(bad.message)]) == (400, bad.message), message
    assert alone.json()["details"][0]["turnkeyErrorCode"] == "REQUEST_INVALID"
    before = caller.asked("list_policies")
    among_others = caller.submit("create_policies", {"policies": [policy_params(), parameters]})
    assert refusal(among_others) == (400, message)
    assert caller.asked("list_policies") == before
    made = caller.result("create_policy", policy_params())
    names = {"condition": "policyCondition", "consensus": "policyConsensus", "time": "time"}
    changed = {names[name]: value for name, value in bad.members.items()}
    assert refusal(caller.submit("update_policy", made | changed)) == (400, message)


def test_a_policys_name_is_taken(caller: Caller) -> None:
    parameters = policy_params()
    caller.submitted("create_policy", parameters)
    twins = [policy_params(), policy_params()]
    twins[1]["policyName"] = twins[0]["policyName"]
    for response in (
        caller.submit("create_policy", parameters),
        caller.submit("create_policies", {"policies": twins}),
    ):
        status, message = refusal(response)
        assert (status, "label must be unique" in message) == (400, True), message


TAG = {"userTagName": "never", "userIds": []}


@pytest.fixture
def user(caller: Caller) -> Caller:
    return caller.new_user()


def evaluations(caller: Caller, activity_id: str) -> Any:
    return caller.asked("get_policy_evaluations", activityId=activity_id)["policyEvaluations"]


@pytest.mark.parametrize("headers", [{}, SDK_FORM], ids=["documented", "sdk"])
@pytest.mark.parametrize("effect", ["implicit", "explicit"])
def test_denial(effect: str, headers: dict[str, str], caller: Caller, user: Caller) -> None:
    """In the documented shape, the same in both forms; the evaluation that it names can be read by anybody here."""
    policy_ids = []
    if effect == "explicit":
        consensus = f"approvers.any(u, u.id == '{user.user_id}')"
        for members in ({}, {"effect": "EFFECT_DENY"}):
            parameters = policy_params(condition="", consensus=consensus, **members)
            policy_ids.append(caller.result("create_policy", parameters)["policyId"])
    response = user.submit("create_user_tag", TAG, headers)
    error, listed = response.json(), [one["policyId"] for one in caller.asked("list_policies")["policies"]]
    (detail,) = error["details"]
    assert response.status_code == 403
    assert (set(error), error["code"], error["turnkeyErrorCode"]) == (
        {"code", "message", "details", "turnkeyErrorCode"},
        7,
        "",
    )
    assert error["message"].startswith("You don't have sufficient permissions to take this action (ACTIVITY_TYPE_")
    assert set(detail) == {"@type", "message", "activityId", "policyEvaluations"}
    assert detail["@type"] == "type.googleapis.com/errors.v1.PolicyEnginePermissionError"
    assert detail["message"] == (
        f"The following policies denied this action: {policy_ids[1]}"
        if policy_ids
        else "No policies evaluated to outcome: Allow"
    )
    assert [set(each) for each in detail["policyEvaluations"]] == [{"policyId", "outcome"}] * len(listed)
    outcomes = {each["policyId"]: each["outcome"] for each in detail["policyEvaluations"]}
    assert list(outcomes) == listed
    assert [outcomes[each] for each in policy_ids] == ["OUTCOME_ALLOW", "OUTCOME_DENY_EXPLICIT"][: len(policy_ids)]
    (kept,) = evaluations(user, detail["activityId"])
    assert (kept["activityId"], kept["organizationId"]) == (detail["activityId"], caller.organization_id)
    assert {each["policyId"]: each["outcome"] for each in kept["policyEvaluations"]} == outcomes
    assert refusal(caller.ask("get_activity", activityId=detail["activityId"]))[0] == 404
    ids = [activity["id"] for activity in caller.asked("list_activities")["activities"]]
    assert detail["activityId"] not in ids
    for policy_id in policy_ids:
        caller.submitted("delete_policy", {"policyId": policy_id})


def test_a_denial_in_the_log(caller: Caller, user: Caller, server: Server) -> None:
    """Who asked for what, and the id under which it can be explained."""
    response = user.submit("create_user_tag", TAG)
    line = server.request_line(response)
    (detail,) = response.json()["details"]
    assert (line["status"], line["path"]) == (403, "/public/v1/submit/create_user_tag")
    assert (line["organization_id"], line["user_id"]) == (caller.organization_id, user.user_id)
    assert line["activity_id"] == detail["activityId"]
    assert line["error"] == refusal(response)[1]


def test_evaluations_of_what_the_root_quorum_does(caller: Caller) -> None:
    """No policy is read, so none is named."""
    made = caller.submitted("create_user_tag", {"userTagName": unique("tag"), "userIds": []})
    (kept,) = evaluations(caller, made["id"])
    assert kept["policyEvaluations"] == []
    assert kept["voteId"] == made["votes"][0]["id"]


def test_no_evaluations_of_what_never_was(caller: Caller, user: Caller) -> None:
    assert refusal(caller.ask("get_policy_evaluations", activityId=user.user_id))[0] == 404
