"""Transactions of Solana, Bitcoin and Tron in words, from what policies see of them."""

from __future__ import annotations

from typing import Any

import pytest

from keystead.chains.tron.facts import ContractFields
from keystead.describe.transactions import describe_bitcoin, describe_solana, describe_tron
from keystead.primitives.unreadable import Unreadable

SYSTEM = "11111111111111111111111111111111"
TOKEN = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
BUDGET = "ComputeBudget111111111111111111111111111111"
ACCOUNTS = "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL"
TRON_TOKEN, TRON_TO = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", "TY1jfzP3s94oSzYECC89EFn17iA8S4imVZ"
OWN, OTHER = "bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu", "1LqBGSKuX5yYUonjxT5qGfpUsXKYYWeabA"


ABSENT = Unreadable("it has none")


def solana(*programs: str, moved: Any = (), parsed: Any = ABSENT, lookups: Any = ()) -> Any:
    instructions: list[Any] = [
        {"program_key": each, "instruction_data_hex": "0102", "parsed_instruction_data": parsed}
        for each in programs
    ]
    return {
        "account_keys": ["payer"],
        "movements": moved,
        "fee": 5_000,
        "instructions": instructions,
        "address_table_lookups": lookups,
    }


def moves(
    to: Any, amount: Any, asset: Any = "NATIVE", contract: str = SYSTEM, kind: str = "TRANSFER"
) -> dict[str, Any]:
    return {
        "kind": kind,
        "name": "Call",
        "contract": contract,
        "asset": asset,
        "from": "a",
        "to": to,
        "amount": amount,
    }


ONE, TWO = moves("Bob", 1_500_000_000), moves("Cy", 1)
SPL, PLAIN = moves("Bob", 25, "Mint", TOKEN), moves("Bob", 25, Unreadable("no mint"), TOKEN)
RENT = moves("Bob", 2_039_280, contract=ACCOUNTS)
CLOSED = moves("Bob", Unreadable("the whole balance"), contract=TOKEN)
DECIDED_BY_CODE = moves(ABSENT, ABSENT, ABSENT, "Prog", "UNKNOWN")
APPROVED, GIVEN = moves("Eve", 7, "Mint", TOKEN, "ALLOWANCE"), moves("Eve", 2**256 - 1, kind="AUTHORITY")
RUN_TWO = "Run 2 instructions of the System program, program Prog, with 1 transfer"
RUN_TOKEN = "Run 1 instruction of the Token program"


@pytest.mark.parametrize(
    ("tx", "headline", "recipient", "amount", "cautions"),
    [
        (solana(SYSTEM, moved=[ONE]), "Send 1.5 SOL to Bob", "Bob", "1.5 SOL", []),
        (solana(BUDGET, SYSTEM, moved=[ONE]), "Send 1.5 SOL to Bob", "Bob", "1.5 SOL", []),
        (solana(TOKEN, moved=[SPL]), "Send 25 units of Mint to Bob", "Bob", "25 units of Mint", []),
        (solana(TOKEN, moved=[PLAIN]), "Send 25 units of a token to Bob", "Bob", "25 units of a token", []),
        (
            solana(ACCOUNTS, TOKEN, moved=[RENT, SPL]),
            "Send 25 units of Mint to Bob",
            "Bob",
            "25 units of Mint",
            [],
        ),
        (
            solana(TOKEN, moved=[CLOSED]),
            "Send unknown: the whole balance to Bob",
            "Bob",
            "unknown: the whole balance",
            [],
        ),
        (solana(SYSTEM, SYSTEM, moved=[ONE, TWO]), "Make 2 transfers", "", "", []),
        (solana(SYSTEM, "Prog", moved=[ONE, DECIDED_BY_CODE]), RUN_TWO, "", "", ["beyond the transfers"]),
        (solana(SYSTEM, "Prog", moved=[ONE]), RUN_TWO, "", "", []),
        (
            solana("Prog", moved=[DECIDED_BY_CODE], lookups=[{}]),
            "Run 1 instruction of program Prog",
            "",
            "",
            ["beyond the transfers", "lookup tables"],
        ),
        (solana(TOKEN, moved=[APPROVED]), RUN_TOKEN, "", "", ["Call: Eve may take tokens of a"]),
        (
            solana(SYSTEM, moved=[GIVEN]),
            "Run 1 instruction of the System program",
            "",
            "",
            ["Call: Eve gets power over a"],
        ),
    ],
)
def test_solana(tx: Any, headline: str, recipient: str, amount: str, cautions: list[str]) -> None:
    found = describe_solana(tx)
    assert (found.headline, found.recipient, found.amount) == (f"{headline}, on Solana", recipient, amount)
    assert len(found.cautions) == len(cautions)
    assert all(expected in caution for expected, caution in zip(cautions, found.cautions, strict=True))


def test_solana_by_an_uploaded_interface() -> None:
    call = {"instruction_name": "deposit", "program_call_args": {"amount": 7}}
    facts = {fact.label: fact.text for fact in describe_solana(solana("Prog", parsed=call)).facts}
    assert facts["instruction 1"] == "deposit of program Prog"
    assert facts["instruction 1: amount"] == "7"


def bitcoin(*outputs: tuple[str | Unreadable, int], locktime: int = 0) -> Any:
    return {
        "outputs": [{"value": value, "address": address, "script_pubkey": "6a00"} for address, value in outputs],
        "inputs": [{}],
        "fee": 1_000,
        "locktime": {"amount": locktime, "type": "Blocks"},
    }


@pytest.mark.parametrize(
    ("tx", "headline", "recipient", "amount"),
    [
        (bitcoin((OTHER, 50_000_000), (OWN, 7)), f"Send 0.5 BTC to {OTHER}", OTHER, "0.5 BTC"),
        (bitcoin((OTHER, 1), (TRON_TO, 2)), "Send 0.00000003 BTC to 2 addresses", "", "0.00000003 BTC"),
        (bitcoin((OWN, 7)), "Send coins back to the address itself", OWN, ""),
        (bitcoin((ABSENT, 0)), "Send 0 BTC to the script 6a00", "the script 6a00", "0 BTC"),
    ],
)
def test_bitcoin(tx: Any, headline: str, recipient: str, amount: str) -> None:
    found = describe_bitcoin(tx, OWN)
    assert (found.headline, found.recipient, found.amount) == (f"{headline}, on Bitcoin", recipient, amount)


def test_bitcoin_details() -> None:
    facts = {fact.label: fact.text for fact in describe_bitcoin(bitcoin((OWN, 7), locktime=900_000), OWN).facts}
    assert facts["output 1"] == f"0.00000007 BTC to {OWN} (comes back)"
    assert (facts["fee"], facts["not before"]) == ("0.00001 BTC", "block 900000")


def test_bitcoin_of_a_test_network() -> None:
    found = describe_bitcoin(bitcoin((OTHER, 1)), "bcrt1qcr8te4kr609gcawutmrza0j4xv80jy8zeqchgx")
    assert found.headline.endswith(", on Bitcoin, regtest")


def tron(kind: str, **members: Any) -> Any:
    contract = dict.fromkeys(ContractFields.__annotations__, ABSENT) | members
    contract |= {"type": f"{kind}Contract", "permission_id": 0, "owner_address": OWN}
    return {"contract": [contract], "fee_limit": 1_000_000}


ERC20 = "a9059cbb" + "0" * 24 + "ab" * 20 + f"{5:064x}"


@pytest.mark.parametrize(
    ("tx", "headline", "amount", "cautions"),
    [
        (tron("Transfer", to_address=TRON_TO, amount=2_500_000), f"Send 2.5 TRX to {TRON_TO}", "2.5 TRX", 0),
        (
            tron("TriggerSmart", contract_address=TRON_TOKEN, call_value=0, data=ERC20),
            f"Send 5 smallest units of the token {TRON_TOKEN} to T",
            "5 units",
            0,
        ),
        (
            tron("TriggerSmart", contract_address=TRON_TOKEN, call_value=1_000_000, data="deadbeef"),
            f"Call the contract {TRON_TOKEN}, and send it 1 TRX",
            "",
            1,
        ),
        (tron("FreezeBalanceV2", frozen_balance=10**6, resource="ENERGY"), "Freeze balance V2: 1 TRX", "1 TRX", 0),
        (
            tron("DelegateResource", balance=10**6, receiver_address=TRON_TO, resource="ENERGY"),
            f"Delegate resource: 1 TRX, for {TRON_TO}",
            "1 TRX",
            0,
        ),
        (tron("AccountPermissionUpdate", actives=[]), f"Change who may sign for the account {OWN}", "", 1),
    ],
)
def test_tron(tx: Any, headline: str, amount: str, cautions: int) -> None:
    found = describe_tron(tx)
    assert found.headline.startswith(headline)
    assert found.headline.endswith(", on Tron")
    assert found.amount == amount
    assert len(found.cautions) == cautions
