"""Test cases that people write: their results, and the errors in them."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from keystead.api.records import Policy
from keystead.organizations.kinds.profile import RootQuorum
from keystead.policies.testing.cases import CaseFile, CaseResult, read_cases, run_case
from keystead.policies.testing.organization import (
    OrganizationUnderTest,
    organization_under_test,
    read_policies,
    read_quorum,
    read_users,
)
from keystead.policies.testing.schema import MalformedTable, read

NOON = "2026-09-09T12:00:00Z"
NOW_MS = 1_788_955_200_000
"""The same moment."""

USERS: list[dict[str, Any]] = [
    {"name": "Root"},
    {"name": "Ana", "tags": ["OPS"], "credentials": ["api-key", "passkey"]},
    {"name": "Ben", "id": "B", "tags": ["OPS", "SEC"], "email": "ben@example.com"},
    {"name": "Cy", "credentials": []},
    {
        "name": "Di",
        "credentials": ["CREDENTIAL_TYPE_API_KEY_ED25519", {"type": "passkey", "id": "K", "credential_id": "C"}],
    },
    {"name": "Twin", "id": "T1"},
]
LOGIN = {"type": "ACTIVITY_TYPE_STAMP_LOGIN"}
NAMES = {"A": "allow", "N": "needs consensus", "D": "deny"}


def policy(consensus: str = "", condition: str = "", effect: str = "ALLOW", time: str = "") -> dict[str, str]:
    given = {"consensus": consensus, "condition": condition, "time": time}
    return {"effect": f"EFFECT_{effect}", **{name: text for name, text in given.items() if text}}


def stage(*policies: dict[str, str], threshold: int = 1) -> OrganizationUnderTest:
    users = read_users(USERS, "user")
    written = read_policies([("p", [{"policyName": f"P{n}", **each} for n, each in enumerate(policies)])])
    quorum = read_quorum({"threshold": threshold, "users": ["Root", "Ana"][:threshold]}, users, "quorum")
    return organization_under_test(users, quorum, written)


def played(on: OrganizationUnderTest, **members: Any) -> CaseResult:
    case = {"name": "it", "who": "Ana", "type": "ACTIVITY_TYPE_CREATE_WALLET", "expect": "allow", **members}
    file = read({"cases": [case], "at": NOON}, CaseFile, "file")
    (only,) = read_cases(file, on, 0, "file")
    return run_case(only)


IS_ANA = policy("approvers.any(u, u.id == 'Ana')")
TWO_OPS = policy("approvers.filter(u, u.tags.contains('OPS')).count() >= 2")
ANY_TWO = policy("approvers.count() >= 2")
BY_PASSKEY = policy("credentials.any(c, c.type == 'CREDENTIAL_TYPE_WEBAUTHN_AUTHENTICATOR')")
NO_DELETE = policy(condition="activity.action == 'DELETE'", effect="DENY")
BIG = policy(condition="eth.tx.value > 5", effect="DENY")
GUARDED = policy(condition="activity.kind == 'SIGN_TRANSACTION' && eth.tx.value > 5", effect="DENY")
SIGN = {"type": "ACTIVITY_TYPE_SIGN_TRANSACTION_V2"}
API_KEYS = {"type": "ACTIVITY_TYPE_CREATE_API_KEYS_V2"}


def eth(**tx: Any) -> dict[str, Any]:
    return {"resources": {"eth": {"tx": tx}}}


EXPECTATIONS: list[tuple[str, list[dict[str, str]], dict[str, Any], str, tuple[str, ...]]] = [
    ("nothing allows it", [], {}, "D", ()),
    ("a policy allows", [IS_ANA], {}, "A", ("P0",)),
    ("to others it says nothing", [IS_ANA], {"who": "Ben"}, "D", ()),
    ("by id", [policy("approvers.any(u, u.id == 'B')")], {"who": "B"}, "A", ("P0",)),
    (
        "by e-mail and name",
        [policy("approvers.any(u, u.email == 'ben@example.com' && u.alias == 'Ben')")],
        {"who": "Ben"},
        "A",
        ("P0",),
    ),
    ("the root quorum", [], {"who": "Root"}, "A", ()),
    ("one of two", [TWO_OPS], {}, "N", ("P0",)),
    ("two of two", [TWO_OPS], {"approvals": ["Ben"]}, "A", ("P0",)),
    ("an uncounted submitter begins nothing", [TWO_OPS], {"who": "Cy", "approvals": ["Ana", "Ben"]}, "D", ()),
    ("the same user again", [ANY_TWO], {"approvals": ["Ana"]}, "N", ("P0",)),
    ("no approval after the last one needed", [ANY_TWO], {"approvals": ["Ben", "Root"]}, "A", ("P0",)),
    ("the root quorum approves what waits", [TWO_OPS], {"approvals": ["Root"]}, "A", ()),
    ("a denial wins", [policy(), NO_DELETE], {"type": "ACTIVITY_TYPE_DELETE_WALLETS"}, "D", ("P1",)),
    ("without a passkey", [BY_PASSKEY], {}, "N", ("P0",)),
    ("with a passkey", [BY_PASSKEY], {"who": {"who": "Ana", "with": "passkey"}}, "A", ("P0",)),
    ("with a passkey by its id", [BY_PASSKEY], {"who": {"who": "Di", "with": "K"}}, "A", ("P0",)),
    (
        "a second credential of the same user",
        [BY_PASSKEY],
        {"approvals": [{"who": "Ana", "with": "passkey"}]},
        "A",
        ("P0",),
    ),
    (
        "any API key",
        [policy("credentials.any(c, c.type == 'CREDENTIAL_TYPE_API_KEY_ED25519')")],
        {"who": {"who": "Di", "with": "api-key"}},
        "A",
        ("P0",),
    ),
    (
        "the id of a passkey's credential",
        [policy("credentials.any(c, c.credential_id == 'C')")],
        {"who": {"who": "Di", "with": "K"}},
        "A",
        ("P0",),
    ),
    (
        "a session",
        [policy("credentials.any(c, c.type == 'CREDENTIAL_TYPE_OTP_AUTH_KEY_P256')")],
        {"who": {"who": "Ben", "with": "CREDENTIAL_TYPE_OTP_AUTH_KEY_P256"}},
        "A",
        ("P0",),
    ),
    (
        "a user without a credential logs in",
        [policy("credentials.any(c, c.type == 'CREDENTIAL_TYPE_LOGIN')")],
        {"who": "Cy"},
        "A",
        ("P0",),
    ),
    ("a transaction", [policy(condition="eth.tx.value > 5")], {**SIGN, **eth(value=6)}, "A", ("P0",)),
    (
        "a number beyond 128 bits",
        [policy(condition="eth.tx.value > 5")],
        {**SIGN, **eth(value=2**200)},
        "A",
        ("P0",),
    ),
    (
        "a parameter",
        [policy(condition="activity.params.type == 'TRANSACTION_TYPE_TRON'")],
        {**SIGN, "params": {"type": "TRANSACTION_TYPE_TRON"}},
        "A",
        ("P0",),
    ),
    (
        'a parameter that is "" where left out',
        [policy(condition="activity.params.session_profile_id == ''")],
        {"type": "ACTIVITY_TYPE_STAMP_LOGIN"},
        "A",
        ("P0",),
    ),
    ("a failed denial denies nothing", [policy(), BIG], {}, "A", ("P0",)),
    ("the file's time", [policy(time=f"time.now == Timestamp('{NOON}')")], {}, "A", ("P0",)),
    (
        "its own time",
        [policy(time=f"time.now == Timestamp('{NOON}')")],
        {"at": "2026-09-09T14:00:01+02:00"},
        "D",
        (),
    ),
    (
        "the same time in a zone",
        [policy(time=f"time.now == Timestamp('{NOON}')")],
        {"at": "2026-09-09T14:00:00+02:00"},
        "A",
        ("P0",),
    ),
    ("a scope that covers it", [policy()], {"scope": "activity.resource == 'AUTH'", **LOGIN}, "A", ("P0",)),
    ("a scope that does not", [policy()], {"scope": "activity.resource == 'WALLET'", **LOGIN}, "D", ()),
    ("a scope that fails", [policy()], {"scope": "wallet.id == 'W'", **LOGIN}, "D", ()),
    ("own API keys", [], {**API_KEYS, "params": {"user_id": "Ana"}}, "A", ()),
    ("somebody else's", [], {**API_KEYS, "params": {"user_id": "B"}}, "D", ()),
    ("own authenticators", [], {"type": "ACTIVITY_TYPE_CREATE_AUTHENTICATORS_V2", "owner": "Ana"}, "A", ()),
    ("whose authenticators nobody said", [], {"type": "ACTIVITY_TYPE_CREATE_AUTHENTICATORS_V2"}, "D", ()),
    ("what the root quorum alone may do", [policy()], {"type": "ACTIVITY_TYPE_UPDATE_ROOT_QUORUM"}, "D", ()),
]


@pytest.mark.parametrize(
    ("policies", "members", "outcome", "by"), [row[1:] for row in EXPECTATIONS], ids=[r[0] for r in EXPECTATIONS]
)
def test_outcomes(
    policies: list[dict[str, str]], members: dict[str, Any], outcome: str, by: tuple[str, ...]
) -> None:
    result = played(stage(*policies), **members)
    assert (result.outcome, result.decision.policy_ids) == (NAMES[outcome], by)


HOLDS = [("allow", "", True), ("deny", "", False), ("allow", "P0", True), ("allow", "P1", False)]


@pytest.mark.parametrize(("expect", "by", "holds"), HOLDS)
def test_holds(expect: str, by: str, holds: bool) -> None:
    assert played(stage(IS_ANA, NO_DELETE), expect=expect, by=by).holds is holds


def test_a_quorum_of_two() -> None:
    assert played(stage(threshold=2), who="Root").outcome == "needs consensus"
    assert played(stage(threshold=2), who="Root", approvals=["Ben"]).uncounted == ("Ben",)
    assert played(stage(threshold=2), who="Root", approvals=["Ben", "Ana"]).outcome == "allow"


WRONG: list[tuple[str, dict[str, Any], str]] = [
    (
        "an unknown member",
        {"whom": "Ana"},
        "file, case 1: there is no 'whom' here, only name, who, type, expect, by, approvals",
    ),
    ("a member inside", {"who": {"who": "Ana", "by": "x"}}, "file, case 1.who: there is no 'by' here"),
    (
        "another outcome",
        {"expect": "denied"},
        "file, case 1.expect: 'denied' is unknown: expected allow or needs consensus or deny",
    ),
    ("an unknown user", {"who": "Anna"}, "file, case 1 (it).who: no user is called 'Anna': did you mean Ana?"),
    ("an unknown approver", {"approvals": ["Ben", "Zoe"]}, "file, case 1 (it).approvals: no user is called 'Zoe'"),
    ("an unknown owner", {"owner": "Zoe"}, "file, case 1 (it).owner: no user is called 'Zoe'"),
    ("an unknown policy", {"by": "P"}, "file, case 1 (it).by: there is no policy 'P': did you mean P0?"),
    (
        "an unknown type",
        {"type": "ACTIVITY_TYPE_CREATE_WALET"},
        "there is no type of activity 'ACTIVITY_TYPE_CREATE_WALET': did you mean ACTIVITY_TYPE_CREATE_WA",
    ),
    ("a type without its prefix", {"type": "CREATE_WALLET"}, "did you mean ACTIVITY_TYPE_CREATE_WALLET?"),
    ("a vote", {"type": "ACTIVITY_TYPE_APPROVE_ACTIVITY"}, "list it in the `approvals`"),
    ("a credential not held", {"who": {"who": "Ben", "with": "passkey"}}, "Ben has no credential 'passkey'"),
    ("a credential of nobody", {"who": {"who": "Ben", "with": "sesame"}}, "Ben has no credential 'sesame'"),
    (
        "a parameter of no policy",
        {"params": {"walletName": "w"}},
        "policies see no parameter of ACTIVITY_TYPE_CREATE_WALLET",
    ),
    ("a parameter misspelt", {**SIGN, "params": {"typ": "x"}}, "(it).params: there is no 'typ' here, only type"),
    ("a misspelt member", {"aprovals": []}, "there is no 'aprovals' here, only name, who, type"),
    ("what a misspelt member means", {"aprovals": []}, ": did you mean approvals?"),
    ("a misspelt parameter", {**SIGN, "params": {"tipe": ""}}, ": did you mean type?"),
    (
        "a word that a parameter never is",
        {**SIGN, "params": {"type": "TRANSACTION_TYPE_BITCON"}},
        "(it).params.type: 'TRANSACTION_TYPE_BITCON' is unknown: did you mean TRANSACTION_TYPE_BITCOIN?",
    ),
    (
        "a word like none",
        {**SIGN, "resources": {"eth": {"tx": {"type": "0x2"}}}},
        "(it).resources.eth.tx.type: '0x2' is unknown: expected LEGACY or TYPE_1 or TYPE_2 or TYPE_3 or TYPE_4",
    ),
    ("a parameter of another type", {**SIGN, "params": {"type": 1}}, "(it).params.type: expected a string"),
    (
        "an unknown keyword",
        {"resources": {"etc": {}}},
        "(it).resources: there is no 'etc' here, only wallet, wallets",
    ),
    ("the activity itself", {"resources": {"activity": {}}}, "there is no 'activity' here"),
    ("an unknown field", eth(chainId=1), "(it).resources.eth.tx: there is no 'chainId' here, only from, to, data"),
    ("no table", {"resources": {"eth": 1}}, "(it).resources.eth: expected a table"),
    ("no list", {"resources": {"wallets": {}}}, "(it).resources.wallets: expected a list"),
    (
        "in a list",
        {"resources": {"wallets": [{"id": "1"}, {"id": 2}]}},
        "(it).resources.wallets[1].id: expected a string",
    ),
    ("text for a number", eth(value="6"), "(it).resources.eth.tx.value: expected an integer"),
    ("truth for a number", eth(value=True), "(it).resources.eth.tx.value: expected an integer"),
    ("a number for truth", {"resources": {"wallet": {"exported": 1}}}, "wallet.exported: expected a boolean"),
    (
        "a fraction for anything",
        eth(contract_call_args={"wad": 0.5}),
        "contract_call_args.wad: expected a string, an integer, a",
    ),
    (
        "a number in quotes for a number",
        {"resources": {"eth": {"eip_7702_authorization": {"nonce": "1"}}}},
        "nonce: expected an integer",
    ),
    (
        "a fraction for a numeral",
        {"resources": {"eth": {"eip_7702_authorization": {"nonce": 0.5}}}},
        "nonce: expected an integer",
    ),
    (
        "a time without a zone",
        {"at": "2026-09-09T12:00:00"},
        "file, case 1.at: expected `datetime` with a timezone component",
    ),
]


@pytest.mark.parametrize(("members", "message"), [row[1:] for row in WRONG], ids=[row[0] for row in WRONG])
def test_refused(members: dict[str, Any], message: str) -> None:
    with pytest.raises(MalformedTable) as refused:
        played(stage(IS_ANA), **members)
    assert message in str(refused.value)


FILLED = {
    "wallet": {"id": "w", "label": "l", "imported": True, "exported": False},
    "eth": {
        "tx": {"value": 1, "contract_call_args": {"a": [1, {"b": "c"}], "d": True}},
        "eip_712": {"domain": {"chain_id": 2**200}, "message": {"list": [1]}},
        "eip_7702_authorization": {"chain_id": 1, "nonce": 2},
    },
    "solana": {"tx": {"instructions": [{"parsed_instruction_data": {"named_accounts": {"from": "x"}}}]}},
    "secret": {"static_properties": {"kind": "card"}},
}


def test_values_of_every_type_are_read() -> None:
    assert played(stage(IS_ANA), resources=FILLED).outcome == "allow"


USERS_WRONG: list[tuple[str, list[dict[str, Any]], str]] = [
    ("no name", [{"id": "A"}], "user 1: 'name' is missing"),
    ("a name twice", [{"name": "A"}, {"name": "A"}], "user 2: another user is called 'A'"),
    ("an id that is a name", [{"name": "A"}, {"name": "B", "id": "A"}], "user 2: another user is called 'A'"),
    (
        "a credential that nobody holds",
        [{"name": "A", "credentials": ["CREDENTIAL_TYPE_LOGIN"]}],
        "expected one of api-key, passkey, CREDENTIAL_TYPE_API_KEY_ED",
    ),
    ("a number for a tag", [{"name": "A", "tags": [1]}], "user 1.tags[0]: expected `str`"),
]


@pytest.mark.parametrize(
    ("users", "message"), [row[1:] for row in USERS_WRONG], ids=[row[0] for row in USERS_WRONG]
)
def test_users_refused(users: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(MalformedTable) as refused:
        read_users(users, "user")
    assert message in str(refused.value)


QUORUMS_WRONG = [
    ({"threshold": 2, "users": ["Ana", "Ana"]}, "2 among 1"),
    ({"users": []}, "1 among 0"),
    ({"users": ["Zoe"]}, "Zoe"),
]


@pytest.mark.parametrize(("quorum", "message"), QUORUMS_WRONG)
def test_quorums_refused(quorum: dict[str, Any], message: str) -> None:
    with pytest.raises(MalformedTable, match=message):
        read_quorum(quorum, read_users(USERS, "user"), "quorum")


ALLOW = {"policyName": "P", "effect": "EFFECT_ALLOW"}
POLICIES_WRONG: list[tuple[str, Any, str]] = [
    ("a number", 1, "here: expected a table"),
    ("no effect", {"policyName": "P"}, "here: 'effect' is missing"),
    (
        "a short effect",
        {**ALLOW, "effect": "ALLOW"},
        "here.effect: 'ALLOW' is unknown: expected EFFECT_ALLOW or EFFECT_DENY",
    ),
    (
        "names of update_policy",
        {**ALLOW, "policyCondition": "true"},
        "here: there is no 'policyCondition' here, only policyName",
    ),
    (
        "a text that is not a condition",
        {**ALLOW, "condition": "approvers.count() > 1"},
        "here: invalid policy condition: ",
    ),
    ("a name twice", [ALLOW, ALLOW], "here, policy 2: there is another policy 'P'"),
    ("in a table of policies", {"policies": [ALLOW, {}]}, "here, policy 2: 'policyName' is missing"),
]


@pytest.mark.parametrize(
    ("value", "message"), [row[1:] for row in POLICIES_WRONG], ids=[r[0] for r in POLICIES_WRONG]
)
def test_policies_refused(value: Any, message: str) -> None:
    with pytest.raises(MalformedTable) as refused:
        read_policies([("here", value)])
    assert message in str(refused.value)


def test_a_name_in_two_documents() -> None:
    with pytest.raises(MalformedTable, match="there: there is another policy 'P'"):
        read_policies([("here", ALLOW), ("there", ALLOW)])


def test_two_users_of_one_name() -> None:
    """An organization may have them; then an id is asked for."""
    users = read_users([{"name": "Ana", "id": "1"}, {"name": "Ann", "id": "2"}], "user")
    twins = [replace(user, user_name="Ana") for user in users]
    policies: list[Policy] = read_policies([("p", ALLOW)])
    on = organization_under_test(twins, RootQuorum(1, ()), policies)
    with pytest.raises(MalformedTable, match="2 users are called 'Ana': give an id"):
        played(on, who="Ana")
    assert played(on, who="2").outcome == "allow"


def test_without_any_time_the_cases_are_played_now() -> None:
    on = stage(policy(time=f"time.now == Timestamp('{NOON}')"))
    case = {"name": "it", "who": "Ana", "type": "ACTIVITY_TYPE_CREATE_WALLET", "expect": "allow"}
    (only,) = read_cases(read({"cases": [case]}, CaseFile, "file"), on, NOW_MS, "file")
    assert run_case(only).holds
