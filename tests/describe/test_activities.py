"""What an activity asks, by its kind; policies compared line by line; who voted with which credential."""

from __future__ import annotations

from typing import Any

import pytest

from keystead.describe.activity import credential_of, describe_activity, name_of
from keystead.describe.amounts import in_units
from keystead.describe.bounds import FACTS_MAX
from keystead.describe.description import Names
from keystead.describe.fields import facts_of
from keystead.describe.policy_changes import policy_diff

WALLET, ANA, BEN, POLICY = (f"01a1ffce-afbf-7700-92ee-00000000000{number}" for number in range(1, 5))
STANDING = {
    "policyId": POLICY,
    "policyName": "Two",
    "effect": "EFFECT_ALLOW",
    "consensus": "approvers.count() >= 2",
    "condition": "true",
    "notes": "",
}
NAMES = Names(
    of_ids={WALLET: "Treasury", ANA: "Ana", BEN: "Ben", POLICY: "Two"},
    policies={POLICY: STANDING},
)


def activity(kind: str, status: str = "CONSENSUS_NEEDED", **intent: Any) -> dict[str, Any]:
    return {
        "type": f"ACTIVITY_TYPE_{kind}",
        "status": f"ACTIVITY_STATUS_{status}",
        "intent": {"anyIntent": intent} if intent else {},
    }


@pytest.mark.parametrize(
    ("asked", "headline"),
    [
        (activity("CREATE_WALLET"), "Create wallet"),
        (activity("CREATE_WALLET", walletName="Treasury", accounts=[]), "Create wallet 'Treasury'"),
        (activity("CREATE_USERS_V4", users=[{"userName": "Cy"}, {"userName": "Di"}]), "Create users 'Cy', 'Di'"),
        (activity("DELETE_USERS", userIds=[ANA, BEN]), "Delete users 'Ana', 'Ben'"),
        (activity("DELETE_WALLETS", walletIds=["another"]), "Delete wallets"),
        (
            activity("EXPORT_WALLET", walletId=WALLET, targetPublicKey="04ab"),
            f"Export the mnemonic of the wallet 'Treasury' ({WALLET})",
        ),
        (
            activity("EXPORT_WALLET_ACCOUNT", address="0x" + "ab" * 20, targetPublicKey="04ab"),
            "Export the private key of the account 0xABaBaBaBABabABabAbAbABAbABabababaBaBABaB",
        ),
        (
            activity("EXPORT_SECRETS", secrets=[{"secretId": WALLET, "targetPublicKey": "04ab"}]),
            f"Export the secret 'Treasury' ({WALLET})",
        ),
        (activity("IMPORT_SECRETS", secrets=[{"name": "visa"}, {"name": None}]), "Import 2 secrets 'visa'"),
        (activity("SET_IP_ALLOWLIST", rules=[], enabled=False), "Store the IP allow-list of the organization"),
        (activity("SET_IP_ALLOWLIST", rules=[], publicKey="02ab"), "Set the IP allow-list of API key 02ab"),
        (
            activity("UPDATE_ROOT_QUORUM", threshold=2, userIds=[ANA, BEN]),
            f"Set the root quorum: 2 of 'Ana' ({ANA}), 'Ben' ({BEN})",
        ),
        (
            activity("CREATE_POLICY_V3", policyName="P", effect="EFFECT_DENY", condition="true"),
            "Create the policy 'P'",
        ),
        (
            activity("CREATE_POLICIES", policies=[{"policyName": n, "effect": "EFFECT_DENY"} for n in "ABCD"]),
            "Create 4 policies: 'A', 'B', 'C', …",
        ),
        (activity("UPDATE_POLICY_V2", policyId=POLICY, policyNotes="x"), f"Change the policy 'Two' ({POLICY})"),
        (activity("DELETE_POLICY", policyId=POLICY), f"Delete the policy 'Two' ({POLICY})"),
    ],
    ids=lambda value: value["type"] if isinstance(value, dict) else "",
)
def test_headline(asked: dict[str, Any], headline: str) -> None:
    assert describe_activity(asked, NAMES).headline == headline


def test_a_changed_policy_is_compared_with_the_policy_in_force() -> None:
    asked = activity("UPDATE_POLICY_V2", policyId=POLICY, policyConsensus="approvers.count() >= 1")
    (change,) = describe_activity(asked, NAMES).facts
    assert change.text.split("\n") == [
        "- consensus: approvers.count() >= 2",
        "+ consensus: approvers.count() >= 1",
    ]


def test_what_is_done_is_not_compared_with_what_stands_today() -> None:
    asked = activity("UPDATE_POLICY_V2", "COMPLETED", policyId=POLICY, policyConsensus="true")
    assert [(fact.label, fact.text) for fact in describe_activity(asked, NAMES).facts] == [
        ("policy consensus", "true")
    ]


@pytest.mark.parametrize(
    ("asked", "caution"),
    [
        (activity("CREATE_POLICY_V3", policyName="P", effect="EFFECT_ALLOW"), "allows everything to everybody"),
        (activity("EXPORT_WALLET", walletId=WALLET, targetPublicKey="04ab"), "the private half of that key"),
        (activity("UPDATE_ROOT_QUORUM", threshold=1, userIds=[ANA]), "may do everything"),
    ],
)
def test_cautions(asked: dict[str, Any], caution: str) -> None:
    (found,) = describe_activity(asked, NAMES).cautions
    assert caution in found


def test_facts_name_what_ids_stand_for() -> None:
    asked = activity("UPDATE_USER", userId=ANA, userTagIds=[BEN], userName=None, userEmail="")
    facts = describe_activity(asked, NAMES).facts
    assert [(fact.label, fact.text) for fact in facts] == [
        ("user id", f"'Ana' ({ANA})"),
        ("user tag ids", f"'Ben' ({BEN})"),
    ]


def test_facts_are_bounded() -> None:
    facts = facts_of({"many": [{"n": number} for number in range(1_000)], "long": "x" * 10_000})
    assert len(facts) == FACTS_MAX + 1
    assert facts[-1].text == "more follows that is not shown here"
    (long,) = facts_of({"long": "x" * 10_000})
    assert len(long.text) < 500
    assert long.text.endswith("… (10000 characters)")


@pytest.mark.parametrize(
    ("before", "after", "lines"),
    [
        (STANDING, STANDING, ()),
        (None, {"policyName": "P", "effect": "EFFECT_DENY"}, ("+ name: P", "+ effect: EFFECT_DENY")),
        ({"policyName": "P", "notes": "x"}, None, ("- name: P", "- notes: x")),
        ({"time": None}, {"time": ""}, ()),
        (
            {"condition": "a\n&& b\n&& c"},
            {"condition": "a\n&& d\n&& c"},
            ("  condition: a", "- condition: && b", "+ condition: && d", "  condition: && c"),
        ),
    ],
)
def test_policy_diff(before: Any, after: Any, lines: tuple[str, ...]) -> None:
    assert policy_diff(before, after) == lines


@pytest.mark.parametrize(
    ("value", "places", "text"),
    [
        (0, 18, "0 X"),
        (1, 18, "0.000000000000000001 X"),
        (10**18, 18, "1 X"),
        (15, 1, "1.5 X"),
        (10**30, 9, f"{10**21} X"),
    ],
)
def test_amounts_are_exact(value: int, places: int, text: str) -> None:
    assert in_units(value, places, "X") == text


USER = {
    "userName": "Ana",
    "apiKeys": [{"apiKeyName": "Laptop", "credential": {"publicKey": "02aa"}}],
    "authenticators": [{"authenticatorName": "Phone", "credential": {"publicKey": "04bb"}}],
}


@pytest.mark.parametrize(
    ("key", "credential"),
    [
        ("02aa", "API key 'Laptop'"),
        ("04bb", "passkey 'Phone'"),
        ("02cc", "a key that is no longer the user's, 02cc…"),
        ("", ""),
    ],
)
def test_who_voted_with_what(key: str, credential: str) -> None:
    vote = {"userId": ANA, "user": USER, "publicKey": key}
    assert (name_of(vote), credential_of(vote)) == ("Ana", credential)


def test_a_vote_without_a_user() -> None:
    assert name_of({"userId": ANA}) == ANA


LOCKOUTS: dict[str, tuple[dict[str, Any], str]] = {
    "without rules": ({"rules": [], "enabled": True}, "every request to the organization is refused"),
    "with rules": ({"rules": [{"cidr": "192.0.2.0/24"}], "enabled": True}, "also those that would change the list"),
    "of a key": ({"rules": [{"cidr": "192.0.2.0/24"}], "publicKey": "02ab"}, "requests from other addresses"),
}


@pytest.mark.parametrize(("intent", "caution"), LOCKOUTS.values(), ids=LOCKOUTS)
def test_an_ip_allowlist_is_described_with_the_requests_it_refuses(intent: dict[str, Any], caution: str) -> None:
    (shown,) = describe_activity(activity("SET_IP_ALLOWLIST", **intent), Names()).cautions
    assert caution in shown
    assert describe_activity(activity("SET_IP_ALLOWLIST", rules=[], enabled=False), Names()).cautions == ()
