"""Queries of ours that the console asks: activities in words, a policy checked before it is saved, its keywords."""

from __future__ import annotations

from typing import Any

import pytest

from keystead import generate_api_key
from keystead.operations.activity_descriptions import DESCRIBED_AT_ONCE
from keystead.operations.bounds import MISSING_POLICIES_MAX, OWN_ADDRESSES_MAX
from tests.support.authorization_scenario import new_sub_organization
from tests.support.callers import Caller, answered, refusal, unique, user_params
from tests.support.servers import Server
from tests.support.sessions import logged_in


@pytest.fixture(scope="module")
def root(sqlite_server: Server) -> Caller:
    return new_sub_organization(sqlite_server.caller)


def _wallet(root: Caller, name: str) -> Any:
    account = {
        "curve": "CURVE_SECP256K1",
        "pathFormat": "PATH_FORMAT_BIP32",
        "path": "m/44'/60'/0'/0/0",
        "addressFormat": "ADDRESS_FORMAT_ETHEREUM",
    }
    return root.result("create_wallet", {"walletName": name, "accounts": [account]})


TRANSACTION = "02e40109018504a817c8008252089470997970c51812dc3a010c7d01b50e0d17dc79c80180c0"
"""Chain 1, 1 wei to 0x70997970C51812dc3A010C7d01b50e0d17dc79C8."""


@pytest.fixture(scope="module")
def signed_id(root: Caller) -> str:
    """An activity that signed TRANSACTION."""
    address = _wallet(root, "described")["addresses"][0]
    signed = root.submitted(
        "sign_transaction",
        {"signWith": address, "unsignedTransaction": TRANSACTION, "type": "TRANSACTION_TYPE_ETHEREUM"},
    )
    return str(signed["id"])


def test_a_transaction_in_words(root: Caller, signed_id: str) -> None:
    [described] = root.asked("describe_activities", activityIds=[signed_id])["activityDescriptions"]
    assert described["activityId"] == signed_id
    assert described["recipient"] == "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
    assert described["amount"] == "1 wei"
    assert described["headline"].endswith("on Ethereum (chain 1)")
    assert {"label": "chain", "text": "Ethereum (chain 1)"} in described["facts"]


def test_addresses_of_the_organization_have_the_names_of_their_wallets(root: Caller) -> None:
    private_key = {
        "privateKeyName": unique("pays"),
        "curve": "CURVE_SECP256K1",
        "addressFormats": ["ADDRESS_FORMAT_ETHEREUM"],
        "privateKeyTags": [],
    }
    made = root.result("create_private_keys", {"privateKeys": [private_key]})["privateKeys"][0]
    to = _wallet(root, "gets it")["addresses"][0]
    unsigned = TRANSACTION.replace("70997970c51812dc3a010c7d01b50e0d17dc79c8", to[2:].lower())
    asked = {"unsignedTransaction": unsigned, "type": "TRANSACTION_TYPE_ETHEREUM"}
    signed = root.submitted("sign_transaction", {"signWith": made["addresses"][0]["address"], **asked})
    [described] = root.asked("describe_activities", activityIds=[signed["id"]])["activityDescriptions"]
    facts = {each["label"]: each["text"] for each in described["facts"]}
    assert (facts["from private key"], facts["to wallet"]) == (repr(private_key["privateKeyName"]), "'gets it'")


def test_a_few_addresses_of_an_activity_are_looked_up(root: Caller) -> None:
    address = _wallet(root, "many times")["addresses"][0]
    users = [
        user_params(generate_api_key().public_key) | {"userName": address} for _ in range(OWN_ADDRESSES_MAX + 1)
    ]
    made = root.submitted("create_users", {"users": users})
    [described] = root.asked("describe_activities", activityIds=[made["id"]])["activityDescriptions"]
    named = [each for each in described["facts"] if each["text"] == "'many times'"]
    assert 0 < len(named) <= OWN_ADDRESSES_MAX


def test_ids_have_the_names_of_their_records(root: Caller) -> None:
    wallet_id = _wallet(root, "to be renamed")["walletId"]
    renamed = root.submitted("update_wallet", {"walletId": wallet_id, "walletName": "renamed"})
    [described] = root.asked("describe_activities", activityIds=[renamed["id"]])["activityDescriptions"]
    assert any(f"'renamed' ({wallet_id})" in fact["text"] for fact in described["facts"])


def test_whose_approvals_are_missing(root: Caller) -> None:
    asking, approving = root.new_user(), root.new_user()
    consensus = " && ".join(f"approvers.any(user, user.id == '{each.user_id}')" for each in (asking, approving))
    condition = "activity.kind == 'CREATE_USER_TAG'"
    made = root.result(
        "create_policy",
        {"policyName": "two of us", "effect": "EFFECT_ALLOW", "condition": condition, "consensus": consensus},
    )
    waiting = answered(asking.submit("create_user_tag", {"userTagName": "asked for", "userIds": []}))["activity"]
    [described] = root.asked("describe_activities", activityIds=[waiting["id"]])["activityDescriptions"]
    by_policy, by_quorum = described["missingApprovals"]
    assert (by_policy["policyId"], by_policy["userIds"]) == (made["policyId"], [approving.user_id])
    assert (by_quorum["count"], by_quorum["userIds"]) == (1, [root.user_id])
    approving.submitted("approve_activity", {"fingerprint": waiting["fingerprint"]})
    [described] = root.asked("describe_activities", activityIds=[waiting["id"]])["activityDescriptions"]
    assert described["missingApprovals"] == []


NUMBERS: dict[str, tuple[str, int, list[int]]] = {
    "one of three": ("approvers.filter(user, user.id in [{all}]).count() >= 2", 1, []),
    "two of three": ("approvers.filter(user, user.id in [{all}]).count() >= 3", 2, []),
    "all three": ("approvers.filter(user, user.id in [{all}]).count() >= 4", 3, []),
    "the first, and one of the others": (
        "approvers.any(user, user.id == '{first}') && approvers.filter(user, user.id in [{all}]).count() >= 3",
        2,
        [0],
    ),
}


@pytest.mark.parametrize(("consensus", "count", "required"), NUMBERS.values(), ids=NUMBERS)
def test_how_many_approvals_are_missing(root: Caller, consensus: str, count: int, required: list[int]) -> None:
    """The asker counts, too: its own approval is the first."""
    asking, *others = [root.new_user() for _ in range(4)]
    named = ", ".join(f"'{each.user_id}'" for each in (asking, *others))
    policy = {
        "policyName": unique("some"),
        "effect": "EFFECT_ALLOW",
        "condition": "activity.kind == 'CREATE_USER_TAG'",
        "consensus": consensus.replace("{all}", named).replace("{first}", others[0].user_id),
    }
    made = root.result("create_policy", policy)
    waiting = answered(asking.submit("create_user_tag", {"userTagName": unique("tag"), "userIds": []}))["activity"]
    [described] = root.asked("describe_activities", activityIds=[waiting["id"]])["activityDescriptions"]
    by_policy, _ = described["missingApprovals"]
    assert by_policy["userIds"] == [each.user_id for each in others]
    assert (by_policy["count"], by_policy["requiredUserIds"]) == (count, [others[at].user_id for at in required])
    root.submitted("delete_policies", {"policyIds": [made["policyId"]]})


def test_the_user_of_an_authentication_proxy_approves_nothing(sqlite_server: Server) -> None:
    parent = sqlite_server.caller
    asking, approving = parent.new_user(), parent.new_user()
    proxy_id = parent.result("enable_auth_proxy", {})["userId"]
    counted = ", ".join(f"'{each}'" for each in (asking.user_id, approving.user_id, proxy_id))
    consensus = f"approvers.filter(user, user.id in [{counted}]).count() >= 2"
    condition = "activity.kind == 'CREATE_PRIVATE_KEY_TAG'"
    policy = {"policyName": unique("two"), "effect": "EFFECT_ALLOW", "condition": condition, "consensus": consensus}
    made = parent.result("create_policy", policy)
    tag = {"privateKeyTagName": unique("tag"), "privateKeyIds": []}
    waiting = answered(asking.submit("create_private_key_tag", tag))["activity"]
    [described] = parent.asked("describe_activities", activityIds=[waiting["id"]])["activityDescriptions"]
    assert described["missingApprovals"][0]["userIds"] == [approving.user_id]
    parent.submitted("delete_policies", {"policyIds": [made["policyId"]]})
    parent.submitted("disable_auth_proxy", {"configId": proxy_id})


def test_what_a_session_of_a_profile_asked_for_waits_for_the_same_approvals(root: Caller) -> None:
    asking, approving = root.new_user(), root.new_user()
    consensus = " && ".join(f"approvers.any(user, user.id == '{each.user_id}')" for each in (asking, approving))
    condition = "activity.kind == 'CREATE_PRIVATE_KEY_TAG'"
    policy = {"policyName": unique("two"), "effect": "EFFECT_ALLOW", "condition": condition, "consensus": consensus}
    login = {"policyName": unique("login"), "effect": "EFFECT_ALLOW", "condition": "activity.kind == 'STAMP_LOGIN'"}
    made = root.result("create_policies", {"policies": [policy, login]})["policyIds"]
    profile = {"sessionProfileName": unique("tags"), "scope": condition}
    profile_id = root.result("create_session_profile", profile)["sessionProfileId"]
    session = logged_in(asking, sessionProfileId=profile_id)
    tag = {"privateKeyTagName": unique("tag"), "privateKeyIds": []}
    waiting = answered(session.submit("create_private_key_tag", tag))["activity"]
    [described] = root.asked("describe_activities", activityIds=[waiting["id"]])["activityDescriptions"]
    by_policy, by_quorum = described["missingApprovals"]
    assert (by_policy["policyId"], by_policy["userIds"]) == (made[0], [approving.user_id])
    assert by_quorum["userIds"] == [root.user_id]
    root.submitted("approve_activity", {"fingerprint": waiting["fingerprint"]})
    assert root.asked("get_activity", activityId=waiting["id"])["activity"]["status"] == "ACTIVITY_STATUS_COMPLETED"
    root.submitted("delete_policies", {"policyIds": made})


def test_a_description_names_a_few_policies_that_wait(root: Caller) -> None:
    """Each of 1,000 policies was once compared with each of 10,000 users, and named up to 100 of them."""
    asking = root.new_user()
    policy = {"effect": "EFFECT_ALLOW", "condition": "activity.kind == 'CREATE_USER_TAG'"}
    waiting_for = [
        policy | {"policyName": unique("waits"), "consensus": f"approvers.count() >= {2 + number}"}
        for number in range(MISSING_POLICIES_MAX + 2)
    ]
    for _ in waiting_for:
        root.new_user()
    made = root.result("create_policies", {"policies": waiting_for})["policyIds"]
    waiting = answered(asking.submit("create_user_tag", {"userTagName": unique("tag"), "userIds": []}))["activity"]
    [described] = root.asked("describe_activities", activityIds=[waiting["id"]])["activityDescriptions"]
    *by_policy, by_quorum = described["missingApprovals"]
    assert [way["policyId"] for way in by_policy] == made[:MISSING_POLICIES_MAX]
    assert by_quorum["userIds"] == [root.user_id]
    root.submitted("delete_policies", {"policyIds": made})


def test_activities_that_are_not_there_are_left_out(root: Caller) -> None:
    missing = "0190f1b6-0000-7000-8000-000000000001"
    assert root.asked("describe_activities", activityIds=[missing]) == {"activityDescriptions": []}


@pytest.mark.parametrize("count", [0, DESCRIBED_AT_ONCE + 1])
def test_a_request_names_a_few_activities(count: int, root: Caller) -> None:
    ids = [f"0190f1b6-0000-7000-8000-{number:012d}" for number in range(count)]
    assert refusal(root.ask("describe_activities", activityIds=ids))[0] == 400


CHECKED: list[tuple[dict[str, Any], list[tuple[str, int]], set[str]]] = [
    ({"condition": "eth.tx.value < 5"}, [], set()),
    ({"condition": "eth.tx.valu < 5"}, [("condition", 1)], set()),
    ({"condition": "true &&\n  nothing == 1"}, [("condition", 2)], set()),
    ({"condition": "1 ==", "consensus": "approvers.coun() > 1"}, [("consensus", 1), ("condition", 1)], set()),
    ({"time": "time.now > 1"}, [("time", 1)], set()),
    ({}, [], {"ALLOWS_EVERYTHING"}),
]


@pytest.mark.parametrize(("policy", "places", "warned"), CHECKED)
def test_a_policy_is_checked_and_not_saved(
    policy: dict[str, Any], places: list[tuple[str, int]], warned: set[str], root: Caller
) -> None:
    before = root.asked("list_policies")
    answer = root.asked("check_policy", effect="EFFECT_ALLOW", **policy)
    assert [(each["clause"], each["line"]) for each in answer["problems"]] == places
    assert warned <= {each["code"] for each in answer["warnings"]}
    assert root.asked("list_policies") == before


TRIED: list[tuple[dict[str, Any], str, str]] = [
    ({"condition": "eth.tx.value == 1"}, "OUTCOME_ALLOW", ""),
    ({"condition": "eth.tx.value > 1"}, "OUTCOME_DENY_IMPLICIT", "condition"),
    ({"condition": "eth.tx.value == 1", "effect": "EFFECT_DENY"}, "OUTCOME_DENY_EXPLICIT", ""),
    ({"condition": "solana.tx.transfers.count() > 0"}, "OUTCOME_ERROR", "condition"),
    ({"consensus": "approvers.count() >= 100"}, "OUTCOME_DENY_IMPLICIT", "consensus"),  # there are fewer users
    ({"time": "time.now < Timestamp('2020-01-01T00:00:00Z')"}, "OUTCOME_TIME_INACTIVE", "time"),
]


@pytest.mark.parametrize(("policy", "outcome", "clause"), TRIED)
def test_a_policy_is_tried_on_the_record(
    policy: dict[str, Any], outcome: str, clause: str, root: Caller, signed_id: str
) -> None:
    before = root.asked("list_policies")
    [tried] = root.asked("try_policy", activityIds=[signed_id], **{"effect": "EFFECT_ALLOW", **policy})[
        "triedActivities"
    ]
    assert (tried["activityId"], tried["outcome"], tried["clause"]) == (signed_id, outcome, clause)
    assert root.asked("list_policies") == before


@pytest.fixture(scope="module")
def allowing(root: Caller) -> tuple[str, str]:
    """A policy that allows a user to create wallets, and an activity that it allowed."""
    user = root.new_user()
    condition, consensus = "activity.kind == 'CREATE_WALLET'", f"approvers.any(user, user.id == '{user.user_id}')"
    made = root.result(
        "create_policy",
        {"policyName": "wallets", "effect": "EFFECT_ALLOW", "condition": condition, "consensus": consensus},
    )
    wallet = user.submitted("create_wallet", {"walletName": "allowed", "accounts": []})
    return made["policyId"], wallet["id"]


@pytest.mark.parametrize(
    ("effect", "is_replacement", "verdict", "rule"),
    [
        ("EFFECT_ALLOW", False, "allow", "a policy allows"),
        ("EFFECT_DENY", False, "deny", "a policy denies"),
        ("EFFECT_DENY", True, "deny", "a policy denies"),
    ],
)
def test_a_policy_is_tried_among_the_others(
    effect: str, is_replacement: bool, verdict: str, rule: str, root: Caller, allowing: tuple[str, str]
) -> None:
    policy_id, activity_id = allowing
    replaced = {"policyId": policy_id} if is_replacement else {}
    asked: dict[str, Any] = {
        "effect": effect,
        "condition": "activity.action == 'CREATE'",
        "activityIds": [activity_id],
        **replaced,
    }
    [tried] = root.asked("try_policy", **asked)["triedActivities"]
    assert (tried["verdict"], tried["rule"]) == (verdict, rule)
    assert (tried["savedVerdict"], tried["savedRule"]) == ("allow", "a policy allows")


def test_a_replaced_policy_no_longer_allows(root: Caller, allowing: tuple[str, str]) -> None:
    policy_id, activity_id = allowing
    asked: dict[str, Any] = {
        "effect": "EFFECT_ALLOW",
        "condition": "eth.tx.value == 1",
        "activityIds": [activity_id],
    }
    [further] = root.asked("try_policy", **asked)["triedActivities"]
    [replacing] = root.asked("try_policy", **asked, policyId=policy_id)["triedActivities"]
    assert (further["verdict"], replacing["verdict"]) == ("allow", "deny")


def test_what_the_root_quorum_does_no_policy_decides(root: Caller, signed_id: str) -> None:
    [tried] = root.asked("try_policy", effect="EFFECT_DENY", activityIds=[signed_id])["triedActivities"]
    assert (tried["outcome"], tried["verdict"]) == ("OUTCOME_DENY_EXPLICIT", "allow")
    assert tried["rule"] == "enough members of the root quorum approve"


def test_a_policy_that_is_not_there_is_not_replaced(root: Caller, signed_id: str) -> None:
    missing = "0190f1b6-0000-7000-8000-000000000001"
    refused = root.ask("try_policy", effect="EFFECT_ALLOW", activityIds=[signed_id], policyId=missing)
    assert refusal(refused)[0] == 404


def test_each_part_of_a_policy_is_explained(root: Caller, allowing: tuple[str, str]) -> None:
    policy_id, activity_id = allowing
    answer = root.asked("explain_policy", activityId=activity_id, policyId=policy_id)
    consensus, condition = answer["explainedClauses"]
    assert (consensus["clause"], condition["clause"]) == ("consensus", "condition")
    [part] = condition["parts"]
    assert (part["text"], part["value"]) == ("activity.kind == 'CREATE_WALLET'", "true")
    assert part["values"] == [{"path": "activity.kind", "value": "CREATE_WALLET"}]


@pytest.mark.parametrize("missing", ["activityId", "policyId"])
def test_only_what_is_there_is_explained(missing: str, root: Caller, allowing: tuple[str, str]) -> None:
    ids: dict[str, Any] = {
        "policyId": allowing[0],
        "activityId": allowing[1],
        missing: "0190f1b6-0000-7000-8000-000000000001",
    }
    assert refusal(root.ask("explain_policy", **ids))[0] == 404


def test_a_policy_that_cannot_be_read_is_not_tried(root: Caller, signed_id: str) -> None:
    refused = root.ask("try_policy", effect="EFFECT_ALLOW", condition="nothing == 1", activityIds=[signed_id])
    assert refusal(refused)[0] == 400


def test_keywords_of_every_clause(root: Caller) -> None:
    keywords = {
        (each["clause"], each["path"]): each["type"]
        for each in root.asked("list_policy_keywords")["policyKeywords"]
    }
    assert keywords["condition", "eth.tx.to"] == "a string of hexadecimal digits"
    assert keywords["condition", "solana.tx.transfers[].amount"] == "an integer"
    assert keywords["consensus", "approvers[].tags"] == "a list"
    assert keywords["time", "time.now"] == "a timestamp"
