"""The documented examples, row by row, each with its outcomes. Transactions are values made by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.policies.cast import ONE_ROOT, TWO_OF_THREE, allow, deny, facts, is_user, passkey

from keystead.api.errors import InvalidRequest
from keystead.organizations.organization import RootQuorum
from keystead.policies.facts import Approval
from keystead.policies.hearing import Outcome
from keystead.policies.judgement import Verdict, judge
from keystead.policies.policy import CompiledPolicy, Effect, compile_policy

OK, CN = Verdict.ALLOW, Verdict.NEEDS_CONSENSUS
IMPLICIT, EXPLICIT = Verdict.DENY_IMPLICIT, Verdict.DENY_EXPLICIT
ERROR, INACTIVE = Outcome.ERROR, Outcome.TIME_INACTIVE


@dataclass
class Case:
    """`says`: what the first policy said, where the row tells."""

    row: int
    policies: Sequence[CompiledPolicy]
    by: str | Sequence[str | Approval]
    activity: str
    expected: Verdict
    says: Outcome | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    resources: Mapping[str, Any] = field(default_factory=dict)
    owner: str | None = None
    quorum: RootQuorum = ONE_ROOT
    now: str = "2026-09-09T12:00:00+00:00"
    note: str = ""

    def __str__(self) -> str:
        by = "+".join(each if isinstance(each, str) else f"{each.user_id}*" for each in self.by)
        return f"{self.row}-{by}-{self.activity}-{self.note or self.expected.name}"


def eth(**tx: Any) -> dict[str, Any]:
    return {"eth": {"tx": tx}}


def typed_data(name: str, **message: Any) -> dict[str, Any]:
    return {"eth": {"eip_712": {"domain": {"name": name}, "message": message}}}


def solana(transfers: Sequence[Any] = (), **tx: Any) -> dict[str, Any]:
    return {"solana": {"tx": {"transfers": transfers, **tx}}}


def bitcoin(fee: int, *addresses: str) -> dict[str, Any]:
    return {"bitcoin": {"tx": {"fee": fee, "outputs": [{"address": address} for address in addresses]}}}


def tron(**contract: Any) -> dict[str, Any]:
    return {"tron": {"tx": {"contract": [contract]}}}


def tempo(*calls: tuple[str, str]) -> dict[str, Any]:
    return {"tempo": {"tx": {"calls": [{"to": to, "input": data} for to, data in calls]}}}


def secret(kind: str) -> dict[str, Any]:
    return {"secret": {"static_properties": {"kind": kind}}}


SIGN, SIGN_V1 = "SIGN_TRANSACTION_V2", "SIGN_TRANSACTION"
RAW, RAW_V1 = "SIGN_RAW_PAYLOAD_V2", "SIGN_RAW_PAYLOAD"
ALLOW_SIGN = allow("activity.action == 'SIGN'")
OPS2 = "approvers.filter(u, u.tags.contains('OPS')).count() >= 2"
SEC1 = "approvers.filter(u, u.tags.contains('SEC')).count() >= 1"
TYPE_ETHEREUM = {"type": "TRANSACTION_TYPE_ETHEREUM"}

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
R13 = [allow("eth.tx.to == '0xabc0' && eth.tx.chain_id in [1, 8453] && eth.tx.value <= 10")]
R14 = [allow("eth.tx.data[0..10] in ['0x095ea7b3', '0xa9059cbb'] && eth.tx.to == '0x70ce'")]
R15 = [allow("eth.tx.function_name == 'transfer' && eth.tx.contract_call_args['wad'] < 5")]
R16_TEXT = (
    "eth.tx.function_name == 'executeBatch' && eth.tx.contract_call_args['calls'].count() <= 2"
    " && eth.tx.contract_call_args['calls'].all(c, c[0] == '0xabc0' && c[1] == 0)"
)
R16 = [allow(R16_TEXT)]
R16_NAMES = [allow(R16_TEXT.replace("c[0]", "c['target']"))]
R17 = [
    allow(
        "eth.eip_712.domain.name == 'Permit2'"
        " && eth.eip_712.message['permitted'].all(p, p['token'] == '0x70C0')"
    )
]
R18 = [
    deny(
        "activity.params.encoding == 'PAYLOAD_ENCODING_HEXADECIMAL'"
        " && activity.params.hash_function == 'HASH_FUNCTION_NO_OP'"
        " && activity.type == 'ACTIVITY_TYPE_SIGN_RAW_PAYLOAD_V2'"
    ),
    ALLOW_SIGN,
]
R19 = [allow("solana.tx.transfers.count() == 1 && solana.tx.transfers[0].to == 'R'")]
R20 = [allow("solana.tx.transfers.all(t, t.to == 'R')")]
R21 = [deny("solana.tx.address_table_lookups.count() > 0"), ALLOW_SIGN]
R22 = [
    allow(
        "solana.tx.instructions.count() == solana.tx.spl_transfers.count()"
        " && solana.tx.spl_transfers.all(t, t.token_mint == 'M')"
    )
]
R23 = [
    allow(
        "solana.tx.instructions.any(i, i.program_key == 'J'"
        " && i.parsed_instruction_data.instruction_name == 'route')"
    )
]
R24 = [allow("tron.tx.contract[0].type == 'TransferContract' && tron.tx.contract[0].amount < 10000000")]
R25 = [allow("bitcoin.tx.outputs.all(o, o.address == 'bc1q')"), deny("bitcoin.tx.fee > 50000")]
ARGUMENT = "ab" * 20
R26 = [
    allow(
        "tempo.tx.calls.all(c, c.to == '0xabc0')"
        f" && tempo.tx.calls[0].input[98..138] == '{ARGUMENT}'"
    )
]
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
        "Timestamp('2026-09-01T06:00:00Z') <= time.now"
        " && time.now < Timestamp('2026-09-15T06:00:00+00:00')",
    )
]
R29 = [allow("activity.action == 'SIGN'", is_user("A"), "CronSpan('30 8 * * 1-5', '9h', 'Europe/Berlin')")]
R30 = [allow("activity.action == 'SIGN'", is_user("A"), "CronSpan('0 23 * * *', '7h', 'Europe/Berlin')")]
R31 = [allow("activity.action == 'SIGN'", is_user("A"), "CronSpan('0 6 15 * 5', '2h', 'UTC')")]
R32 = [deny("activity.action == 'SIGN'", time="CronSpan('0 22 * * *', '8h', 'UTC')"), ALLOW_SIGN]
R34 = [allow("activity.action == 'SIGN'", is_user("R1"))]
R36 = [allow("activity.resource == 'ORGANIZATION' && activity.action == 'CREATE'", is_user("A"))]
R37 = [
    allow(
        "activity.resource in ['AUTH', 'OTP'] && activity.action in ['CREATE', 'VERIFY']", is_user("A")
    )
]
R38 = [allow("activity.action == 'SIGN'", f"{is_user('A')} && {is_user('B')}")]
R39 = [
    allow(
        "secret.static_properties['kind'] == 'card' && activity.type == 'ACTIVITY_TYPE_EXPORT_SECRETS'",
        is_user("A"),
    )
]

HEX, EIP712 = "PAYLOAD_ENCODING_HEXADECIMAL", "PAYLOAD_ENCODING_EIP712"
NO_OP = {"encoding": HEX, "hash_function": "HASH_FUNCTION_NO_OP"}
BATCH = ("0xABC0", 0)

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
    Case(3, R3, "A", "CREATE_POLICY_V3", CN, Outcome.REQUIRES_CONSENSUS),
    Case(3, R3, ("A", "A"), "CREATE_POLICY_V3", CN),
    Case(3, R3, ("A", "B"), "CREATE_POLICY_V3", OK),
    Case(3, R3, "C", "CREATE_POLICY_V3", IMPLICIT, Outcome.DENY_IMPLICIT),
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
    Case(10, R10, "A", SIGN, IMPLICIT, Outcome.DENY_IMPLICIT, resources={"wallet": {"id": "W2"}}),
    Case(10, R10, "A", SIGN, IMPLICIT, ERROR, resources={"private_key": {"id": "P1"}}),
    Case(11, R11, "A", SIGN, IMPLICIT, ERROR, resources={"wallet": {"id": "W1"}}),
    Case(11, R11, "A", SIGN, IMPLICIT, ERROR, resources={"private_key": {"id": "P1"}}),
    Case(11, R11_SPLIT, "A", SIGN, OK, resources={"wallet": {"id": "W1"}}),
    Case(11, R11_SPLIT, "A", SIGN, OK, ERROR, resources={"private_key": {"id": "P1"}}),
    Case(12, R12, "A", "EXPORT_WALLET_ACCOUNT", OK, resources={"wallet_account": {"address": "X"}}),
    Case(12, R12, "A", "EXPORT_WALLET_ACCOUNT", IMPLICIT, resources={"wallet_account": {"address": "Y"}}),
    Case(12, R12, "A", "EXPORT_WALLET", IMPLICIT, ERROR, resources={"wallet": {"id": "W1"}}),
    Case(13, R13, "A", SIGN, OK, resources=eth(to="0xABC0", chain_id=8453, value=10)),
    Case(13, R13, "C", SIGN, OK, resources=eth(to="0xabc0", chain_id=1, value=0)),
    Case(13, R13, "A", SIGN, IMPLICIT, resources=eth(to="0xabc0", chain_id=10, value=10), note="chain"),
    Case(13, R13, "A", SIGN, IMPLICIT, resources=eth(to="0xabc0", chain_id=1, value=11), note="value"),
    Case(13, R13, "A", "CREATE_WALLET", IMPLICIT, ERROR),
    Case(14, R14, "A", SIGN, OK, resources=eth(to="0x70CE", data="0x095ea7b3" + "00" * 64), note="approve"),
    Case(14, R14, "A", SIGN, OK, resources=eth(to="0x70CE", data="0xa9059cbb" + "00" * 64), note="transfer"),
    Case(14, R14, "A", SIGN, IMPLICIT, resources=eth(to="0x70ce", data="0x23b872dd" + "00" * 96)),
    Case(14, R14, "A", SIGN, IMPLICIT, ERROR, resources=eth(to="0x70ce", data="0x"), note="no calldata"),
    Case(15, R15, "A", SIGN, OK, resources=eth(function_name="transfer", contract_call_args={"wad": 4})),
    Case(15, R15, "A", SIGN, IMPLICIT, resources=eth(function_name="transfer", contract_call_args={"wad": 5})),
    Case(15, R15, "A", SIGN, IMPLICIT, ERROR, resources=eth(to="0x70ce"), note="no ABI"),
    Case(15, R15, "A", SIGN, IMPLICIT, ERROR, resources=eth(function_name="deposit", contract_call_args={})),
    *(
        Case(
            16,
            policies,
            "A",
            SIGN,
            expected,
            says,
            resources=eth(function_name="executeBatch", contract_call_args={"calls": calls}),
            note=f"{len(calls)} calls",
        )
        for policies, calls, expected, says in (
            (R16, [BATCH, BATCH], OK, None),
            (R16, [BATCH, BATCH, BATCH], IMPLICIT, Outcome.DENY_IMPLICIT),
            (R16, [BATCH, ("0xabc0", 1)], IMPLICIT, Outcome.DENY_IMPLICIT),
            (R16_NAMES, [BATCH, BATCH], IMPLICIT, ERROR),
        )
    ),
    Case(17, R17, "A", RAW, OK, resources=typed_data("Permit2", permitted=[{"token": "0x70c0"}])),
    Case(
        17,
        R17,
        "A",
        RAW,
        IMPLICIT,
        resources=typed_data("Permit2", permitted=[{"token": "0x70c0"}, {"token": "0x0bad"}]),
    ),
    Case(17, R17, "A", RAW, IMPLICIT, ERROR, note="hex payload"),
    Case(18, R18, "A", RAW, EXPLICIT, params=NO_OP),
    Case(18, R18, "A", RAW, OK, params={**NO_OP, "encoding": EIP712}, note="typed data"),
    Case(18, R18, "A", RAW, OK, params={**NO_OP, "hash_function": "HASH_FUNCTION_SHA256"}, note="hashed"),
    Case(18, R18, "A", RAW_V1, OK, params=NO_OP, note="the older type is a hole"),
    Case(18, R18, "A", SIGN, OK, ERROR, params=TYPE_ETHEREUM),
    Case(19, R19, "A", SIGN, OK, resources=solana([{"to": "R"}])),
    Case(19, R19, "A", SIGN, IMPLICIT, resources=solana([{"to": "R"}, {"to": "R"}]), note="two"),
    Case(19, R19, "A", SIGN, IMPLICIT, ERROR, resources=solana(), note="none"),
    Case(20, R20, "A", SIGN, OK, resources=solana([{"to": "R"}])),
    Case(20, R20, "A", SIGN, IMPLICIT, resources=solana([{"to": "R"}, {"to": "S"}])),
    Case(20, R20, "A", SIGN, OK, resources=solana(), note="all of none"),
    Case(21, R21, "A", SIGN, EXPLICIT, resources=solana(address_table_lookups=[{"address_table_key": "T"}])),
    Case(21, R21, "A", SIGN, OK, resources=solana(address_table_lookups=[])),
    *(
        Case(
            22,
            R22,
            "A",
            SIGN,
            expected,
            resources=solana(
                instructions=[{}] * instructions, spl_transfers=[{"token_mint": mint} for mint in mints]
            ),
            note=f"{instructions} instructions, {len(mints)} transfers",
        )
        for instructions, mints, expected in ((1, ["M"], OK), (1, [""], IMPLICIT), (2, ["M"], IMPLICIT))
    ),
    *(
        Case(23, R23, "A", SIGN, expected, says, resources=solana(instructions=instructions))
        for instructions, expected, says in (
            ([{"program_key": "J", "parsed_instruction_data": {"instruction_name": "route"}}], OK, None),
            (
                [
                    {"program_key": "J", "parsed_instruction_data": {"instruction_name": "route"}},
                    {"program_key": "K", "parsed_instruction_data": None},
                ],
                IMPLICIT,
                ERROR,
            ),
        )
    ),
    Case(24, R24, "A", SIGN, OK, resources=tron(type="TransferContract", amount=9_000_000)),
    Case(24, R24, "A", SIGN, IMPLICIT, resources=tron(type="TransferContract", amount=10_000_000)),
    Case(24, R24, "A", SIGN, IMPLICIT, ERROR, resources=tron(type="TriggerSmartContract", call_value=0)),
    Case(25, R25, "A", SIGN, OK, resources=bitcoin(10_000, "bc1q", "bc1q")),
    Case(25, R25, "A", SIGN, IMPLICIT, resources=bitcoin(10_000, "bc1q", "bc1p"), note="change elsewhere"),
    Case(25, R25, "A", SIGN, EXPLICIT, resources=bitcoin(60_000, "bc1q")),
    Case(26, R26, "A", SIGN, OK, resources=tempo(("0xABC0", "0x" + "0" * 96 + ARGUMENT.upper()))),
    Case(
        26,
        R26,
        "A",
        SIGN,
        IMPLICIT,
        resources=tempo(("0xabc0", "0x" + "0" * 96 + ARGUMENT), ("0x0bad", "0x")),
    ),
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
    Case(35, R7, "R1", SIGN, CN, Outcome.DENY_EXPLICIT, quorum=TWO_OF_THREE),
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
    judgement = judge(
        facts(
            case.by,
            case.activity,
            case.policies,
            params=case.params,
            resources=case.resources,
            owner=case.owner,
            quorum=case.quorum,
            now=case.now,
        )
    )
    assert judgement.verdict is case.expected, judgement
    if case.says is not None:
        assert judgement.evaluations[0].outcome is case.says


def test_no_row_is_missing() -> None:
    assert {case.row for case in CASES} == set(range(1, 40))


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
def test_refused_at_creation(
    row: int, consensus: str, condition: str, time: str, clause: str, reason: str
) -> None:
    with pytest.raises(InvalidRequest) as refused:
        compile_policy(Effect.ALLOW, consensus, condition, time)
    assert refused.value.message.startswith(f"invalid policy {clause}: ")
    assert reason in refused.value.message


def test_the_documented_text_of_an_unknown_field() -> None:
    with pytest.raises(InvalidRequest) as refused:
        compile_policy(Effect.ALLOW, condition="eth.tx.foo == 1")
    assert refused.value.message.startswith(
        "invalid policy condition: Expression cannot be evaluated: field does not exist: eth.tx.foo"
    )
