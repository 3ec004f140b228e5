"""A credential that the consensus of a policy would count, added by a credential that it does not count.

Each row is a policy and what Ana may add with each of her credentials. Not here: the same over HTTP
(`tests.server.test_counted_credentials`), which operations add what (`tests.operations.test_added_credentials`).
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from keystead.api.enums import Effect
from keystead.api.records import Policy
from keystead.policies.authorize import Rule, Verdict, authorize
from keystead.policies.request import Approval, CredentialUsed
from keystead.primitives.unreadable import Unreadable
from tests.support.examples import examples
from tests.support.policy_fixtures import ANA, USERS, allow, api_key, deny, passkey, request, user

KEY, PASSKEY, LOGIN = (f"CREDENTIAL_TYPE_{name}" for name in ("API_KEY_P256", "WEBAUTHN_AUTHENTICATOR", "LOGIN"))
SESSION = CredentialUsed(id="session-A", type=LOGIN, public_key="02session")
STAMPS = {"key": api_key("A"), "passkey": passkey("A"), "session": SESSION}


def added(type_: str, holder: Any = "A", **members: Any) -> Mapping[str, Any]:
    """A credential as it is about to be added."""
    unknown = Unreadable("later")
    public_key = "02fresh" if type_ == KEY else unknown if type_ == PASSKEY else ""
    value = {"id": "", "user_id": holder, "type": type_, "credential_id": "", "public_key": public_key}
    return value | members


ADDED = {"key": added(KEY), "passkey": added(PASSKEY), "session": added(LOGIN)}

ALL = "key passkey session"
A_PASSKEY = f"credentials.any(c, c.type == '{PASSKEY}')"


def signing(consensus: str) -> Policy:
    """A policy that is about something else than credentials."""
    return allow("activity.action == 'SIGN'", consensus)


ROWS: list[tuple[str, Policy, dict[str, str]]] = [
    ("counts a passkey", signing(A_PASSKEY), {"key": "key session", "passkey": ALL, "session": "key session"}),
    (
        "counts a key",
        signing(f"credentials.any(c, c.type == '{KEY}')"),
        {"key": ALL, "passkey": "passkey session", "session": "passkey session"},
    ),
    (
        "counts anything but a key",
        signing(f"credentials.any(c, c.type != '{KEY}')"),
        {"key": "key", "passkey": ALL, "session": ALL},
    ),
    (
        "the same, negated",
        signing(f"!credentials.all(c, c.type == '{KEY}')"),
        {"key": "key", "passkey": ALL, "session": ALL},
    ),
    (
        "allows if no key approves",
        signing(f"!credentials.any(c, c.type == '{KEY}')"),
        {"key": "key", "passkey": ALL, "session": ALL},
    ),
    ("counts everybody's", signing("credentials.count() >= 2"), {"key": ALL, "passkey": ALL, "session": ALL}),
    (
        "counts two passkeys",
        signing(f"credentials.filter(c, c.type == '{PASSKEY}').count() >= 2"),
        {"key": "key session", "passkey": ALL, "session": "key session"},
    ),
    (
        "counts passkeys exactly",
        signing(f"credentials.filter(c, c.type == '{PASSKEY}').count() == 2"),
        {"key": "key", "passkey": "passkey", "session": "session"},
    ),
    (
        "counts no more than no key",
        signing(f"1 > credentials.filter(c, c.type == '{KEY}').count()"),
        {"key": "key", "passkey": ALL, "session": ALL},
    ),
    (
        "looks at the first one",
        signing(f"credentials[0].type == '{PASSKEY}'"),
        {"key": "key", "passkey": "passkey", "session": "session"},
    ),
    (
        "counts Ana's alone",
        signing(f"credentials.any(c, c.user_id == 'A' && c.type == '{PASSKEY}')"),
        {"key": "key session", "passkey": ALL, "session": "key session"},
    ),
    (
        "counts Ben's alone",
        signing(f"credentials.any(c, c.user_id == 'B' && c.type == '{PASSKEY}')"),
        {"key": ALL, "passkey": ALL, "session": ALL},
    ),
    (
        "names a credential",
        signing("credentials.any(c, c.id == 'key-A')"),
        {"key": ALL, "passkey": ALL, "session": ALL},
    ),
    (
        "counts a passkey of an approver with a tag",
        signing(
            "approvers.any(u, u.tags.contains('OPS') && credentials.any(c, c.user_id == u.id &&"
            f" c.type == '{PASSKEY}'))",
        ),
        {"key": "key session", "passkey": ALL, "session": "key session"},
    ),
    (
        "counts approvers with a passkey",
        allow(
            "", f"approvers.filter(u, credentials.any(c, c.user_id == u.id && c.type == '{PASSKEY}')).count() > 1"
        ),
        {"key": "key session", "passkey": ALL, "session": "key session"},
    ),
    (
        "counts a key and a passkey",
        signing(f"{A_PASSKEY} && credentials.any(c, c.type == '{KEY}')"),
        {"key": "key session", "passkey": "passkey session", "session": "session"},
    ),
    (
        "counts sessions",
        signing(f"credentials.any(c, c.type == '{LOGIN}')"),
        {"key": "key passkey", "passkey": "key passkey", "session": ALL},
    ),
    (
        "denies without a passkey",
        deny("activity.action == 'SIGN'", f"!{A_PASSKEY}"),
        {"key": "key session", "passkey": ALL, "session": "key session"},
    ),
    (
        "denies exports from sessions",
        deny("activity.action == 'EXPORT'", f"credentials.any(c, c.type == '{LOGIN}')"),
        {"key": ALL, "passkey": ALL, "session": "session"},
    ),
    (
        "denies exports unless by a passkey",
        deny("activity.action == 'EXPORT'", f"credentials.all(c, c.type != '{PASSKEY}')"),
        {"key": "key session", "passkey": ALL, "session": "key session"},
    ),
    (
        "says nothing about credentials",
        signing("approvers.any(u, u.id == 'A')"),
        {"key": ALL, "passkey": ALL, "session": ALL},
    ),
]


def decided(policies: list[Policy], stamp: str, *credentials: Mapping[str, Any], owner: str | None = "A") -> Any:
    """The decision about adding these credentials by a right of Ana's own, with this approval."""
    asked, policy_set = request([Approval("A", STAMPS[stamp])], "CREATE_AUTHENTICATORS", policies, owner=owner)
    return authorize(replace(asked, added=credentials), policy_set)


@pytest.mark.parametrize(("policy", "may_add"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_what_each_credential_may_add(policy: Policy, may_add: dict[str, str]) -> None:
    found = {
        stamp: " ".join(
            what
            for what, credential in ADDED.items()
            if decided([policy], stamp, credential).verdict is Verdict.ALLOW
        )
        for stamp in STAMPS
    }
    assert found == may_add


PASSKEYS = signing(A_PASSKEY)


def test_it_waits_for_a_credential_that_the_submitter_has() -> None:
    waiting = decided([PASSKEYS], "key", ADDED["passkey"])
    assert (waiting.verdict, waiting.rule, waiting.policy_ids) == (
        Verdict.NEEDS_CONSENSUS,
        Rule.ADDED_CREDENTIAL,
        ("P0",),
    )
    asked, policies = request(
        [Approval("A", STAMPS["key"]), Approval("A", STAMPS["passkey"])],
        "CREATE_AUTHENTICATORS",
        [PASSKEYS],
        owner="A",
    )
    assert authorize(replace(asked, added=[ADDED["passkey"]]), policies).verdict is Verdict.ALLOW


def test_it_waits_for_none_that_was_registered_later() -> None:
    asked, policies = request("A", "CREATE_AUTHENTICATORS", [PASSKEYS], owner="A")
    later = replace(asked, added=[ADDED["passkey"]], registered_later=frozenset({"passkey-A"}))
    denied = authorize(later, policies)
    assert (denied.verdict, denied.rule) == (Verdict.DENY_IMPLICIT, Rule.ADDED_CREDENTIAL)


def test_the_first_one_is_added_by_somebody_else() -> None:
    """Ben has no passkey: nothing of Ben's would count."""
    asked, policies = request("B", "CREATE_AUTHENTICATORS", [PASSKEYS], owner="B")
    denied = authorize(replace(asked, added=[added(PASSKEY, "B")]), policies)
    assert (denied.verdict, denied.rule) == (Verdict.DENY_IMPLICIT, Rule.ADDED_CREDENTIAL)
    asked, policies = request("R", "CREATE_AUTHENTICATORS", [PASSKEYS])
    assert authorize(replace(asked, added=[added(PASSKEY, "B")]), policies).rule is Rule.ROOT_QUORUM


@pytest.mark.parametrize("stamp", STAMPS)
def test_a_policy_that_allows_it_changes_nothing(stamp: str) -> None:
    policies = [PASSKEYS, allow("", "approvers.any(u, u.id == 'A')")]
    allowed = stamp == "passkey"
    for holder in ("A", "B", ""):
        decision = decided(policies, stamp, added(PASSKEY, holder), owner=None)
        assert (decision.verdict is Verdict.ALLOW) is allowed, holder
        assert decision.rule is (Rule.ALLOW_POLICY if allowed else Rule.ADDED_CREDENTIAL)


def test_a_new_user_is_among_those_whom_a_consensus_asks_about() -> None:
    of_approver = f"credentials.any(c, c.user_id == u.id && c.type == '{PASSKEY}')"
    consensus = f"approvers.any(u, u.tags.contains('OPS') && {of_approver})"
    policies = [signing(consensus), allow("", "approvers.any(u, u.id == 'A')")]
    asked, policy_set = request([Approval("A", STAMPS["key"])], "CREATE_USERS", policies)
    new_user = {"id": "", "tags": ("OPS",), "email": "", "alias": "Eve"}
    with_user = replace(asked, added=[added(PASSKEY, "")], new_users=[new_user])
    assert authorize(with_user, policy_set).rule is Rule.ADDED_CREDENTIAL


def test_a_credential_of_somebody_unknown_may_be_of_anybody() -> None:
    policies = [signing(f"credentials.any(c, c.user_id == 'B' && c.type == '{PASSKEY}')")]
    unknown = added(PASSKEY, Unreadable("the token says whose"))
    assert decided(policies, "passkey", unknown).rule is Rule.ADDED_CREDENTIAL


def test_every_credential_is_asked_about() -> None:
    assert decided([PASSKEYS], "key", ADDED["key"], ADDED["passkey"]).verdict is Verdict.NEEDS_CONSENSUS
    assert decided([PASSKEYS], "passkey", ADDED["key"], ADDED["passkey"]).verdict is Verdict.ALLOW


def test_every_policy_is_asked() -> None:
    keys = signing(f"credentials.any(c, c.type == '{KEY}')")
    decision = decided([keys, PASSKEYS], "key", ADDED["key"], ADDED["passkey"])
    assert decision.policy_ids == ("P1",)


def test_many_users() -> None:
    """A predicate that is asked about every user costs no more than a decision may."""
    users = {f"U{number}": user(f"U{number}", "OPS") for number in range(5_000)} | {"A": ANA}
    consensus = f"approvers.any(u, credentials.any(c, c.user_id == u.id && c.type == '{PASSKEY}'))"
    asked, policies = request(
        [Approval("A", STAMPS["passkey"])],
        "CREATE_AUTHENTICATORS",
        [signing(consensus)],
        owner="A",
        users=users | USERS,
    )
    assert authorize(replace(asked, added=[ADDED["passkey"]]), policies).verdict is Verdict.ALLOW


def test_many_policies_and_credentials_cost_no_more_than_a_decision() -> None:
    """Beyond its steps, the root quorum alone adds credentials."""
    policies = [
        signing(f"credentials.any(c, c.type == '{PASSKEY}' || c.id == '{number}')") for number in range(500)
    ]
    decision = decided(policies, "passkey", *[added(KEY)] * 1_000)
    assert (decision.verdict, decision.rule) == (Verdict.DENY_IMPLICIT, Rule.ADDED_CREDENTIAL)


TYPES = (KEY, PASSKEY, LOGIN)


def random_consensus(chance: Random, depth: int) -> str:
    """About the types of credentials, in every form that says whether some or all of them are of a type."""
    if depth == 0:
        equals, type_ = chance.choice(["==", "!="]), chance.choice(TYPES)
        if chance.random() < 0.2:
            return f"credentials[0].type {equals} '{type_}'"
        quantifier = chance.choice(["any", "all"])
        of_type = f"c.type {equals} '{type_}'"
        filtered = f"credentials.filter(c, {of_type})"
        return chance.choice(
            [
                f"credentials.{quantifier}(c, {of_type})",
                f"{filtered}.count() {chance.choice(['> 0', '>= 1', '< 1', '<= 0', '== 0', '!= 0'])}",
                f"{filtered}.{quantifier}(d, d.user_id == 'A')",
                f"approvers.{quantifier}(u, credentials.{quantifier}(c, c.user_id == u.id && {of_type}))",
            ]
        )
    one, other = (random_consensus(chance, depth - 1) for _ in range(2))
    return chance.choice([f"!({one})", f"({one}) && ({other})", f"({one}) || ({other})", f"({one}) == ({other})"])


@settings(max_examples=examples(400))
@given(seed=st.integers(0, 2**64), depth=st.integers(0, 3), effect=st.sampled_from(list(Effect)))
def test_what_may_be_added_helps_nobody(seed: int, depth: int, effect: Effect) -> None:
    """A thief with one credential adds another. With both, or with the new one alone, no policy says more than with
    the first."""
    consensus = random_consensus(Random(seed), depth)
    rule = allow("activity.action == 'SIGN'", consensus) if effect is Effect.ALLOW else deny("", consensus)
    stolen, made = STAMPS[Random(seed).choice(list(STAMPS))], Random(seed + 1).choice(list(STAMPS))
    asking = replace(rule, condition="activity.action == 'SIGN'")
    policies = [asking] if effect is Effect.ALLOW else [asking, allow("activity.action == 'SIGN'")]
    asked, policy_set = request([Approval("A", stolen)], "CREATE_AUTHENTICATORS", policies, owner="A")
    if authorize(replace(asked, added=[ADDED[made]]), policy_set).verdict is not Verdict.ALLOW:
        return
    new = replace(STAMPS[made], id="new")

    def allowed(*credentials: CredentialUsed) -> bool:
        by = [Approval("A", each) for each in credentials]
        return authorize(*request(by, "SIGN_RAW_PAYLOAD", policies)).verdict is Verdict.ALLOW

    if allowed(new) or allowed(stolen, new) or allowed(new, stolen):
        assert allowed(stolen), (consensus, stolen, made)
