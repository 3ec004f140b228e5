"""The documented examples over transactions, row by row, each with its outcomes. The values are made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from keystead.policies.policy_evaluation import EvaluationOutcome
from keystead.primitives.unreadable import Unreadable
from tests.policies.examples import ALLOW_SIGN, ERROR, EXPLICIT, IMPLICIT, OK, RAW, RAW_V1, SIGN, Case
from tests.support.policy_fixtures import allow, deny


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


FALSE = EvaluationOutcome.DENY_IMPLICIT
NO_IDL, NO_MINT = Unreadable("no interface is uploaded"), Unreadable("a Transfer does not name it")

TYPE_ETHEREUM = {"type": "TRANSACTION_TYPE_ETHEREUM"}

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
    allow("eth.eip_712.domain.name == 'Permit2' && eth.eip_712.message['permitted'].all(p, p['token'] == '0x70C0')")
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
R26 = [allow(f"tempo.tx.calls.all(c, c.to == '0xabc0') && tempo.tx.calls[0].input[98..138] == '{ARGUMENT}'")]

HEX, EIP712 = "PAYLOAD_ENCODING_HEXADECIMAL", "PAYLOAD_ENCODING_EIP712"
NO_OP = {"encoding": HEX, "hash_function": "HASH_FUNCTION_NO_OP"}
BATCH = ("0xABC0", 0)

CASES = [
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
    Case(15, R15, "A", SIGN, IMPLICIT, FALSE, resources=eth(function_name="deposit", contract_call_args={})),
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
            (R16, [BATCH, BATCH, BATCH], IMPLICIT, EvaluationOutcome.DENY_IMPLICIT),
            (R16, [BATCH, ("0xabc0", 1)], IMPLICIT, EvaluationOutcome.DENY_IMPLICIT),
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
    Case(18, R18, "A", RAW_V1, EXPLICIT, params=NO_OP, note="the older type"),
    Case(18, R18, "A", SIGN, OK, ERROR, params=TYPE_ETHEREUM),
    Case(19, R19, "A", SIGN, OK, resources=solana([{"to": "R"}])),
    Case(19, R19, "A", SIGN, IMPLICIT, resources=solana([{"to": "R"}, {"to": "R"}]), note="two"),
    Case(19, R19, "A", SIGN, IMPLICIT, FALSE, resources=solana(), note="none"),
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
        for instructions, mints, expected in ((1, ["M"], OK), (1, [NO_MINT], IMPLICIT), (2, ["M"], IMPLICIT))
    ),
    *(
        Case(23, R23, "A", SIGN, expected, says, resources=solana(instructions=instructions))
        for instructions, expected, says in (
            ([{"program_key": "J", "parsed_instruction_data": {"instruction_name": "route"}}], OK, None),
            (
                [
                    {"program_key": "J", "parsed_instruction_data": {"instruction_name": "route"}},
                    {"program_key": "K", "parsed_instruction_data": NO_IDL},
                ],
                OK,
                None,
            ),
            ([{"program_key": "J", "parsed_instruction_data": NO_IDL}], IMPLICIT, ERROR),
            ([{"program_key": "K", "parsed_instruction_data": NO_IDL}], IMPLICIT, FALSE),
        )
    ),
    Case(24, R24, "A", SIGN, OK, resources=tron(type="TransferContract", amount=9_000_000)),
    Case(24, R24, "A", SIGN, IMPLICIT, resources=tron(type="TransferContract", amount=10_000_000)),
    Case(24, R24, "A", SIGN, IMPLICIT, FALSE, resources=tron(type="TriggerSmartContract", call_value=0)),
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
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_example(case: Case) -> None:
    case.check()


def test_no_row_is_missing() -> None:
    assert {case.row for case in CASES} == set(range(13, 27))
