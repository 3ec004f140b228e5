"""A judgement that holds of all activities alike is found once, and no activity is judged otherwise for it."""

from __future__ import annotations

from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from keystead.api.enums import CredentialType, Effect, HashFunction, PayloadEncoding
from keystead.api.records import Policy, Timestamp
from keystead.operations import CATALOGUE
from keystead.operations.signing import SignRawPayloadIntentV2
from keystead.organizations.kinds.data_key import DataKey, Sealed
from keystead.organizations.kinds.profile import Profile, RootQuorum
from keystead.organizations.organization import Organization, Put, Record, Version, apply, from_records
from keystead.pipeline import deciding
from keystead.pipeline.activity import ActivityOperation, Proof
from keystead.pipeline.deciding import Case, facts, judged
from keystead.policies.judgement import judge
from tests.support.policy_fixtures import ANA, BEN, CY, ROOTS, is_user, user

BORN = Timestamp.from_ms(0)
NOW_MS, LATER_MS = 1_800_000_000_000, 1_800_000_061_000
EVE = user("E", expires=str(NOW_MS // 1000 + 30 - 1_700_000_000))
PEOPLE = (ANA, BEN, CY, EVE, *ROOTS)
OTHER_ANAS = [
    ANA,
    replace(ANA, user_tags=("SEC",)),
    replace(ANA, user_email="ana@example.com"),
    replace(ANA, user_name="Annie"),
]
QUORUMS = [RootQuorum(2, ("R1", "R2")), RootQuorum(1, ("R1", "R2")), RootQuorum(2, ("R3", "A"))]
CONDITIONS = [
    "",
    "",
    "activity.action == 'SIGN'",
    "activity.action == 'DELETE'",
    "activity.params.encoding == 'PAYLOAD_ENCODING_EIP712'",
    "wallet.id == 'W'",
    "wallet_account.path_indexes.count() == 1",
    "private_key.tags.contains('hot')",
    "wallet.label == 'desk' || private_key.id != 'K'",
    "eth.eip_712.primary_type == 'Mail'",
    "this no longer compiles",
]
CONSENSUSES = [
    "",
    "",
    is_user("A"),
    "approvers.any(u, u.tags.contains('OPS'))",
    "approvers.any(u, u.email == 'ana@example.com')",
    "approvers.any(u, u.alias == 'Annie')",
    "approvers.count() >= 2",
    "approvers.any(u, u.id == 'A') && credentials.any(c, c.id == 'key-E')",  # until that expires
    "approvers[7].id == 'A'",
    "credentials.all(c, c.id == 'key-A')",
    "credentials.any(c, c.type == 'CREDENTIAL_TYPE_WEBAUTHN_AUTHENTICATOR')",
]
BY_CRON = "CronSpan('0 8 15 1 *', '1m', 'UTC')"
"""Now, and not later."""
TIMES = ["", "", "", "CronSpan('* * * * *', '1m', 'UTC')", BY_CRON]
WALLET = {"id": "W", "label": "desk", "imported": False, "exported": False}
ACCOUNT = {"address": "0xA", "path_indexes": (44, 60), "path_hardened": (True, False)}
KEY = {"id": "K", "label": "desk", "tags": ("hot",), "imported": False, "exported": False}
KEYWORDS: list[dict[str, Any]] = [
    {"wallet": WALLET, "wallet_account": ACCOUNT},
    {"wallet": WALLET | {"id": "V"}, "wallet_account": ACCOUNT},
    {"wallet": WALLET | {"label": "K"}, "wallet_account": ACCOUNT | {"path_indexes": (44,)}},
    {"private_key": KEY},
    {"private_key": KEY | {"tags": ()}},
    {"wallet": WALLET, "wallet_account": ACCOUNT, "eth": {"eip_712": {"primary_type": "Mail"}}},
    {"wallet": WALLET, "wallet_account": ACCOUNT, "eth": {"eip_712": {"primary_type": "Order"}}},
]
OPERATION = CATALOGUE.of_type("ACTIVITY_TYPE_SIGN_RAW_PAYLOAD_V2")
assert isinstance(OPERATION, ActivityOperation)


def policy(number: int, effect: Effect, condition: str = "", consensus: str = "", time: str = "") -> Policy:
    return Policy(
        policy_id=f"{number:02}",
        policy_name=f"policy {number}",
        effect=effect,
        created_at=BORN,
        updated_at=BORN,
        notes="",
        consensus=consensus,
        condition=condition,
        time=time or None,
    )


def ruled_by(*policies: Policy) -> Organization:
    profile = Profile(name="Keystead", root_quorum=QUORUMS[0], created_at=BORN)
    records: list[Record] = [profile, DataKey(Sealed("master", b"")), *PEOPLE, *policies]
    return from_records("organization", Version(1, "evaluation"), records)


def proof(user_id: str, credential: str = "key", at_ms: int = NOW_MS) -> Proof:
    kind = CredentialType.API_KEY_P256 if credential == "key" else CredentialType.WEBAUTHN_AUTHENTICATOR
    return Proof(
        user_id=user_id,
        record_id=f"{credential}-{user_id}",
        type=kind,
        public_key=f"02{user_id}",
        credential_id="" if credential == "key" else f"credential-{user_id}",
        at_ms=at_ms,
        fingerprint="sha256:00",
    )


def signing(
    *proofs: Proof, keywords: dict[str, Any] = KEYWORDS[0], encoding: str = "HEXADECIMAL", now_ms: int = NOW_MS
) -> Case:
    """The case of a payload to sign that these approve, the submitter first."""
    assert isinstance(OPERATION, ActivityOperation)
    return Case(
        activity_type="ACTIVITY_TYPE_SIGN_RAW_PAYLOAD_V2",
        operation=OPERATION,
        intent=SignRawPayloadIntentV2(
            sign_with="0xA",
            payload="00",
            encoding=PayloadEncoding(f"PAYLOAD_ENCODING_{encoding}"),
            hash_function=HashFunction.NO_OP,
        ),
        submitter_id=proofs[0].user_id,
        identities={},
        proofs=proofs,
        now_ms=now_ms,
        gathered=SimpleNamespace(keywords=keywords),
    )


def random_case(chance: Random) -> Case:
    people = chance.sample([user.user_id for user in PEOPLE], 1 if chance.random() < 0.8 else 2)
    return signing(
        *[proof(user_id, chance.choice(["key", "passkey"])) for user_id in people],
        keywords=chance.choice(KEYWORDS),
        encoding=chance.choice(["HEXADECIMAL", "EIP712"]),
    )


@settings(max_examples=300, deadline=None)
@given(seed=st.integers(0, 2**64))
def test_as_if_judged_for_the_first_time(seed: int) -> None:
    chance = Random(seed)
    policies = [
        policy(number, chance.choice(list(Effect)), *map(chance.choice, (CONDITIONS, CONSENSUSES, TIMES)))
        for number in range(chance.randint(0, 6))
    ]
    organization = ruled_by(*policies)
    cases = [random_case(chance) for _ in range(6)]
    for _ in range(20):
        # Users and the root quorum change, and the policies do not.
        quorum = replace(organization.profile, root_quorum=chance.choice(QUORUMS))
        changes = [Put(chance.choice(OTHER_ANAS)), Put(quorum)]
        organization = apply(organization, changes, organization.version)
        case, fail_closed = chance.choice(cases), chance.random() < 0.5
        case = replace(case, now_ms=chance.choice([NOW_MS, LATER_MS]))
        first = judge(facts(case, organization, fail_closed=fail_closed))
        assert judged(case, organization, fail_closed=fail_closed) == first
        assert judged(case, organization, fail_closed=fail_closed) == first


def heard(
    monkeypatch: pytest.MonkeyPatch,
    *asked: tuple[Organization, Case],
    fail_closed: bool = False,
) -> list[int]:
    """Which of these cases, judged in this order, had the policies heard."""
    heard: list[Case] = []

    def counted(case: Case, organization: Organization, *, fail_closed: bool) -> Any:
        heard.append(case)
        return facts(case, organization, fail_closed=fail_closed)

    monkeypatch.setattr(deciding, "facts", counted)
    for organization, case in asked:
        judged(case, organization, fail_closed=fail_closed)
    return [number for number, (_, case) in enumerate(asked) if any(case is one for one in heard)]


LASTING = {
    "allowed": [policy(0, Effect.ALLOW, "activity.action == 'SIGN'", is_user("A"))],
    "denied": [policy(0, Effect.ALLOW), policy(1, Effect.DENY, "wallet.id == 'W'")],
    "by its key": [policy(0, Effect.ALLOW, "wallet_account.address == '0xA'")],
    "others fail": [policy(0, Effect.ALLOW, "private_key.id == 'K'"), policy(1, Effect.ALLOW)],
    "others are not asked for the time": [policy(0, Effect.DENY, "wallet.id == 'V'", time=BY_CRON)],
}
FLEETING = {
    "its parameters": [policy(0, Effect.ALLOW, "activity.params.encoding == 'PAYLOAD_ENCODING_HEXADECIMAL'")],
    "the moment": [policy(0, Effect.ALLOW, time=BY_CRON)],
    "the moment of a denial": [policy(0, Effect.DENY, time=BY_CRON)],
    "the moment of a denial that fails": [policy(0, Effect.DENY, "private_key.id == 'K'", time=BY_CRON)],
    "who may still approve": [policy(0, Effect.ALLOW, consensus="approvers.count() >= 2")],
    "whose key expires": [
        policy(0, Effect.ALLOW, consensus=f"{is_user('A')} && credentials.any(c, c.id == 'key-E')")
    ],
}
FIRST, LATER = signing(proof("A")), signing(proof("A", at_ms=LATER_MS), encoding="EIP712", now_ms=LATER_MS)


@pytest.mark.parametrize("policies", LASTING.values(), ids=LASTING)
def test_heard_once(policies: list[Policy], monkeypatch: pytest.MonkeyPatch) -> None:
    organization = ruled_by(*policies)
    assert heard(monkeypatch, (organization, FIRST), (organization, LATER)) == [0]


@pytest.mark.parametrize("policies", FLEETING.values(), ids=FLEETING)
def test_heard_each_time(policies: list[Policy], monkeypatch: pytest.MonkeyPatch) -> None:
    organization = ruled_by(*policies)
    asked = [(organization, case) for case in (FIRST, LATER)]
    assert heard(monkeypatch, *asked, fail_closed=True) == [0, 1]
    asked.reverse()
    assert heard(monkeypatch, *asked, fail_closed=True) == [0, 1]


def test_heard_for_what_is_different(monkeypatch: pytest.MonkeyPatch) -> None:
    """And for typed data, which differs each time, and for two who approve, each time."""
    organization = ruled_by(*LASTING["allowed"])
    others = [
        signing(proof("B")),
        signing(proof("A", "passkey")),
        signing(proof("A"), keywords=KEYWORDS[1]),
        signing(proof("A"), keywords=KEYWORDS[3]),
        *[signing(proof("A"), keywords=KEYWORDS[5]) for _ in range(2)],
        *[signing(proof("A"), proof("B")) for _ in range(2)],
    ]
    asked = [(organization, case) for case in (FIRST, *others)]
    profile = replace(organization.profile, root_quorum=QUORUMS[2])
    changed = [apply(organization, [Put(one)], organization.version) for one in (*OTHER_ANAS[1:], profile)]
    asked += [(one, signing(proof("A"))) for one in changed]
    assert heard(monkeypatch, *asked) == list(range(len(asked)))
