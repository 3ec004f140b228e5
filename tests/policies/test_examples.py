"""The documented examples over users, keys and time, row by row, each with its outcomes."""

from __future__ import annotations

from typing import Any

import pytest

from keystead.api.enums import Effect
from keystead.api.errors import InvalidRequest
from keystead.policies.policy import check_policy
from keystead.policies.policy_evaluation import EvaluationOutcome
from keystead.policies.request import Approval
from tests.policies.examples import ALLOW_SIGN, CN, ERROR, EXPLICIT, IMPLICIT, INACTIVE, OK, SIGN, SIGN_V1, Case
from tests.support.policy_fixtures import TWO_OF_THREE, allow, deny, is_user, passkey, policy


def secret(kind: str) -> dict[str, Any]:
    return {"secret": {"static_properties": {"kind": kind}}}


OPS2 = "approvers.filter(u, u.tags.contains('OPS')).count() >= 2"
SEC1 = "approvers.filter(u, u.tags.contains('SEC')).count() >= 1"

R1 = [allow("activity.resource == 'WALLET' && activity.action == 'CREATE'", is_user("A"))]
R2 = [
    allow(
        "activity.resource == 'USER' && activity.action == 'CREATE'",
        "approvers.any(u, u.tags.contains('OPS'))",
    )
]
R3 = [allow("activity.resource == 'POLICY' && activity.action == 'CREATE'", OPS2)]
R4 = [allow("activity.resource == 'POLICY'", f"{SEC1} && {OPS2}")]
R5 = [allow("activity.kind == 'CREATE_POLICY'", "approvers.count() >= 2")]
R6 = [deny("activity.action == 'DELETE'", "approvers.any(u, u.tags.contains('OPS'))")]
R7 = [deny()]
R8 = [allow("activity.kind == 'SIGN_TRANSACTION'", is_user("A"))]
R8_TYPE = [allow("activity.type == 'ACTIVITY_TYPE_SIGN_TRANSACTION_V2'", is_user("A"))]
R9 = [
    allow(
        "activity.kind == 'SIGN_TRANSACTION'",
        "credentials.any(c, c.type == 'CREDENTIAL_TYPE_WEBAUTHN_AUTHENTICATOR')",
    )
]
R10 = [allow("activity.action == 'SIGN' && wallet.id == 'W1'", is_user("A"))]
R11 = [allow("wallet.id == 'W1' || private_key.id == 'P1'")]
R11_SPLIT = [allow("wallet.id == 'W1'"), allow("private_key.id == 'P1'")]
R12 = [allow("activity.action == 'EXPORT' && wallet_account.address == 'X'", is_user("A"))]
R27 = [
    allow(
        "activity.kind == 'DELETE_USERS' && activity.params.user_ids.all(x, x == 'A')",
        is_user("A"),
    )
]
R28 = [
    allow(
        "activity.kind == 'SIGN_TRANSACTION'",
        is_user("A"),
        "Timestamp('2026-09-01T06:00:00Z') <= time.now && time.now < Timestamp('2026-09-15T06:00:00+00:00')",
    )
]
R29 = [allow("activity.action == 'SIGN'", is_user("A"), "CronSpan('30 8 * * 1-5', '9h', 'Europe/Berlin')")]
R30 = [allow("activity.action == 'SIGN'", is_user("A"), "CronSpan('0 23 * * *', '7h', 'Europe/Berlin')")]
R31 = [allow("activity.action == 'SIGN'", is_user("A"), "CronSpan('0 6 15 * 5', '2h', 'UTC')")]
R32 = [deny("activity.action == 'SIGN'", time="CronSpan('0 22 * * *', '8h', 'UTC')"), ALLOW_SIGN]
R34 = [allow("activity.action == 'SIGN'", is_user("R1"))]
R36 = [allow("activity.resource == 'ORGANIZATION' && activity.action == 'CREATE'", is_user("A"))]
R37 = [allow("activity.resource in ['AUTH', 'OTP'] && activity.action in ['CREATE', 'VERIFY']", is_user("A"))]
R38 = [allow("activity.action == 'SIGN'", f"{is_user('A')} && {is_user('B')}")]
R39 = [
    allow(
        "secret.static_properties['kind'] == 'card' && activity.type == 'ACTIVITY_TYPE_EXPORT_SECRETS'",
        is_user("A"),
    )
]

CASES = [
    Case(1, R1, "A", "CREATE_WALLET", OK),
    Case(1, R1, "A", "CREATE_WALLET_ACCOUNTS", OK),
    Case(1, R1, "A", "EXPORT_WALLET", IMPLICIT),
    Case(1, R1, "B", "CREATE_WALLET", IMPLICIT),
    Case(1, R1, "R", "CREATE_WALLET", OK),
    Case(1, R1, "R", "EXPORT_WALLET", OK),
    Case(1, R1, "R", "UPDATE_ROOT_QUORUM", OK),
    Case(2, R2, "B", "CREATE_USERS_V4", OK),
    Case(2, R2, "B", "CREATE_USER_TAG", OK),
    Case(2, R2, "C", "CREATE_USERS_V4", IMPLICIT),
    Case(3, R3, "A", "CREATE_POLICY_V3", CN, EvaluationOutcome.REQUIRES_CONSENSUS),
    Case(3, R3, ("A", "A"), "CREATE_POLICY_V3", CN),
    Case(3, R3, ("A", "B"), "CREATE_POLICY_V3", OK),
    Case(3, R3, "C", "CREATE_POLICY_V3", IMPLICIT, EvaluationOutcome.DENY_IMPLICIT),
    Case(4, R4, "A", "CREATE_POLICY_V3", CN),
    Case(4, R4, ("A", "B"), "CREATE_POLICY_V3", OK),
    Case(5, R5, "C", "CREATE_POLICY_V3", CN),
    Case(5, R5, ("C", "A"), "CREATE_POLICY_V3", OK),
    Case(6, R6, "A", "DELETE_API_KEYS", EXPLICIT, owner="A"),
    Case(6, R6, "C", "DELETE_API_KEYS", OK, owner="C"),
    Case(6, R6, "R", "DELETE_API_KEYS", OK, owner="C"),
    *(
        Case(7, R7, by, activity, verdict)
        for by, verdict in (("A", EXPLICIT), ("C", EXPLICIT), ("R", OK))
        for activity in ("CREATE_WALLET", "DELETE_USERS")
    ),
    Case(8, R8, "A", SIGN, OK),
    Case(8, R8, "A", SIGN_V1, OK),
    Case(8, R8_TYPE, "A", SIGN, OK, note="by type"),
    Case(8, R8_TYPE, "A", SIGN_V1, IMPLICIT, note="by type"),
    Case(9, R9, [Approval("A", passkey("A"))], SIGN, OK),
    Case(9, R9, "A", SIGN, CN, note="her passkey could still approve"),
    Case(9, R9, "C", SIGN, IMPLICIT, note="he has no passkey"),
    Case(10, R10, "A", SIGN, OK, resources={"wallet": {"id": "W1"}}),
    Case(10, R10, "A", SIGN, IMPLICIT, EvaluationOutcome.DENY_IMPLICIT, resources={"wallet": {"id": "W2"}}),
    Case(10, R10, "A", SIGN, IMPLICIT, ERROR, resources={"private_key": {"id": "P1"}}),
    Case(11, R11, "A", SIGN, IMPLICIT, ERROR, resources={"wallet": {"id": "W1"}}),
    Case(11, R11, "A", SIGN, IMPLICIT, ERROR, resources={"private_key": {"id": "P1"}}),
    Case(11, R11_SPLIT, "A", SIGN, OK, resources={"wallet": {"id": "W1"}}),
    Case(11, R11_SPLIT, "A", SIGN, OK, ERROR, resources={"private_key": {"id": "P1"}}),
    Case(12, R12, "A", "EXPORT_WALLET_ACCOUNT", OK, resources={"wallet_account": {"address": "X"}}),
    Case(12, R12, "A", "EXPORT_WALLET_ACCOUNT", IMPLICIT, resources={"wallet_account": {"address": "Y"}}),
    Case(12, R12, "A", "EXPORT_WALLET", IMPLICIT, ERROR, resources={"wallet": {"id": "W1"}}),
    Case(27, R27, "A", "DELETE_USERS", OK, params={"user_ids": ["A"]}),
    Case(27, R27, "A", "DELETE_USERS", IMPLICIT, params={"user_ids": ["A", "B"]}, note="A and B"),
    Case(27, R27, "A", "DELETE_USERS", IMPLICIT, params={"user_ids": ["B"]}, note="B"),
    Case(27, R27, "A", "CREATE_WALLET", IMPLICIT, ERROR),
    Case(28, R28, "A", SIGN, OK, now="2026-09-01T06:00:00+00:00"),
    Case(28, R28, "A", SIGN, IMPLICIT, INACTIVE, now="2026-09-01T05:59:59.999+00:00"),
    Case(28, R28, "A", SIGN, IMPLICIT, INACTIVE, now="2026-09-15T06:00:00+00:00"),
    Case(29, R29, "A", SIGN, OK, now="2026-09-07T08:30:00+02:00"),
    Case(29, R29, "A", SIGN, OK, now="2026-09-07T17:29:59+02:00"),
    Case(29, R29, "A", SIGN, IMPLICIT, INACTIVE, now="2026-09-07T17:30:00+02:00"),
    Case(29, R29, "A", SIGN, IMPLICIT, INACTIVE, now="2026-09-12T12:00:00+02:00"),
    Case(30, R30, "A", SIGN, OK, now="2026-09-07T05:59:00+02:00"),
    Case(30, R30, "A", SIGN, IMPLICIT, INACTIVE, now="2026-09-07T06:00:00+02:00"),
    Case(30, R30, "A", SIGN, OK, now="2026-03-29T06:59:00+02:00", note="the clock goes forward"),
    Case(30, R30, "A", SIGN, IMPLICIT, INACTIVE, now="2026-03-29T07:00:00+02:00"),
    Case(30, R30, "A", SIGN, OK, now="2026-10-25T04:59:00+01:00", note="the clock goes back"),
    Case(30, R30, "A", SIGN, IMPLICIT, INACTIVE, now="2026-10-25T05:00:00+01:00"),
    Case(31, R31, "A", SIGN, OK, now="2026-09-11T07:00:00+00:00", note="Friday"),
    Case(31, R31, "A", SIGN, OK, now="2026-09-15T07:00:00+00:00", note="the 15th"),
    Case(31, R31, "A", SIGN, IMPLICIT, INACTIVE, now="2026-09-16T07:00:00+00:00"),
    Case(32, R32, "A", SIGN, EXPLICIT, now="2026-09-09T23:00:00+00:00"),
    Case(32, R32, "A", SIGN, OK, INACTIVE, now="2026-09-09T12:00:00+00:00"),
    Case(33, [], "R1", SIGN, CN, quorum=TWO_OF_THREE),
    Case(33, [], ("R1", "R2"), SIGN, OK, quorum=TWO_OF_THREE),
    Case(33, [], "A", SIGN, IMPLICIT, quorum=TWO_OF_THREE),
    Case(34, R34, "R1", SIGN, OK, quorum=TWO_OF_THREE),
    Case(34, R34, "R2", SIGN, CN, quorum=TWO_OF_THREE),
    Case(35, R7, "R1", SIGN, CN, EvaluationOutcome.DENY_EXPLICIT, quorum=TWO_OF_THREE),
    Case(35, R7, ("R1", "R2"), SIGN, OK, quorum=TWO_OF_THREE),
    Case(36, R36, "A", "CREATE_SUB_ORGANIZATION_V8", OK),
    Case(36, R36, "A", "UPDATE_ORGANIZATION_NAME", IMPLICIT),
    *(
        Case(37, R37, "A", activity, OK)
        for activity in ("INIT_OTP_V3", "VERIFY_OTP_V2", "OTP_LOGIN_V2", "EMAIL_AUTH_V3")
    ),
    Case(37, R37, "A", "CREATE_API_KEYS_V2", IMPLICIT, owner="B"),
    Case(38, R38, "A", SIGN, CN),
    Case(38, R38, ("A", "B"), SIGN, OK),
    Case(38, R38, "C", SIGN, IMPLICIT),
    Case(39, R39, "A", "EXPORT_SECRETS", OK, resources=secret("card")),
    Case(39, R39, "A", "EXPORT_SECRETS", IMPLICIT, resources=secret("note"), note="one of a batch"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_example(case: Case) -> None:
    case.check()


def test_no_row_is_missing() -> None:
    assert {case.row for case in CASES} == {*range(1, 13), *range(27, 40)}


@pytest.mark.parametrize(
    ("row", "consensus", "condition", "time", "clause", "reason"),
    [
        (40, "", "eth.tx.foo == 1", "", "condition", "field does not exist: eth.tx.foo (line 1, column 8)"),
        (40, "", "1 == 'a'", "", "condition", "cannot compare an integer with a string"),
        (40, "", 'activity.type == "X"', "", "condition", "single quotes"),
        (40, "", "activity.type", "", "condition", "expected a boolean"),
        (40, "activity.type == 'X'", "", "", "consensus", "activity is known to condition expressions only"),
        (28, "", "", "time.now < Timestamp('2026-09-15T06:00:00+02:00')", "time", "in UTC"),
    ],
)
def test_refused_at_creation(row: int, consensus: str, condition: str, time: str, clause: str, reason: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        check_policy(policy(Effect.ALLOW, condition, consensus, time), None)
    assert refused.value.message.startswith(f"invalid policy {clause}: ")
    assert reason in refused.value.message


def test_the_documented_text_of_an_unknown_field() -> None:
    with pytest.raises(InvalidRequest) as refused:
        check_policy(policy(Effect.ALLOW, "eth.tx.foo == 1"), None)
    assert refused.value.message.startswith(
        "invalid policy condition: Expression cannot be evaluated: field does not exist: eth.tx.foo"
    )
