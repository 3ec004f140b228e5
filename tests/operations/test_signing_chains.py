"""Solana, Bitcoin and Tron through HTTP: a policy allows a user what it says and nothing else."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from btclib.script.script_pub_key import ScriptPubKey
from btclib.tx.tx_out import TxOut
from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.message import Message
from solders.pubkey import Pubkey
from solders.signature import Signature as SoldersSignature
from solders.system_program import TransferParams, transfer
from solders.transaction import VersionedTransaction

from tests.chains.bitcoin.psbts import OTHER_KEY, Spent, key_of, script_for, transaction, unsigned_psbt, verify
from tests.chains.ethereum.test_typed_data import HYPERLIQUID, independent_digest
from tests.chains.signing_vectors import account
from tests.chains.solana.test_solana_interfaces import ROUTE
from tests.chains.test_policy_examples import IDL
from tests.chains.tron.test_tron import WRITTEN
from tests.support import secp256k1
from tests.support.callers import Caller, refusal
from tests.support.known_keys import add_known_wallet
from tests.support.organization_fixtures import policy_params
from tests.support.servers import Server

pytestmark = pytest.mark.one_engine

SOLANA = "HAgk14JpMQLgt6rVgv7cBQFJWFto5Dqxi472uT3DKpqk"
BITCOIN = "bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu"
ETHEREUM = "0x9858EfFD232B4033E47d90003D41EC34EcaEda94"
TRON = "TGrLpry8MNqMuMUTe2VXv5wYkRuFEsbKsE"
SIGNER, FRIEND, STRANGER = Pubkey.from_string(SOLANA), Pubkey(b"\xa0" * 32), Pubkey(b"\xb0" * 32)
PROGRAM = Pubkey(b"\x09" * 32)
BITCOIN_KEY = account(BITCOIN)[0]
THEIRS, MINE = script_for("P2WPKH", key_of(OTHER_KEY)), script_for("P2WPKH", key_of(BITCOIN_KEY))


def solana(*instructions: Instruction) -> str:
    message = Message.new_with_blockhash(instructions, SIGNER, Hash(b"\x01" * 32))
    return bytes(VersionedTransaction.populate(message, [SoldersSignature(bytes(64))])).hex()


def pays(to: Pubkey) -> Instruction:
    return transfer(TransferParams(from_pubkey=SIGNER, to_pubkey=to, lamports=1))


def route(amount: int) -> Instruction:
    return Instruction(PROGRAM, ROUTE + amount.to_bytes(8, "little"), [AccountMeta(SIGNER, True, False)])


SPENT = [Spent("P2WPKH", satoshis=200_000, private=BITCOIN_KEY, extra=[(b"\xfc\x01", b"")])]


def bitcoin(fee: int, script: bytes = THEIRS) -> str:
    return unsigned_psbt(SPENT, [TxOut(200_000 - fee, script)]).hex()


@dataclass
class Row:
    name: str
    condition: str
    allowed: str
    denied: tuple[str, ...]
    sign_with: str
    kind: str


CONTRACT = "tron.tx.contract[0]"
FRIENDLY = f"solana.tx.transfers.count() == 1 && solana.tx.transfers[0].to == '{FRIEND}'"
ROUTED = "solana.tx.instructions.all(i, i.parsed_instruction_data.program_call_args['amount'] < 6)"
PAID = f"bitcoin.tx.fee <= 1000 && bitcoin.tx.outputs.all(o, o.address == '{ScriptPubKey(THEIRS).address}')"

ROWS = [
    Row(
        "a Solana transfer",
        FRIENDLY,
        solana(pays(FRIEND)),
        (solana(pays(STRANGER)), solana(pays(FRIEND), pays(FRIEND)), solana(route(5))),
        SOLANA,
        "TRANSACTION_TYPE_SOLANA",
    ),
    Row(
        "a Solana program by its IDL",
        ROUTED,
        solana(route(5)),
        (solana(route(6)), solana(route(5), pays(FRIEND))),
        SOLANA,
        "TRANSACTION_TYPE_SOLANA",
    ),
    Row(
        "a Bitcoin payment",
        PAID,
        bitcoin(1000),
        (bitcoin(1001), bitcoin(1000, MINE)),
        BITCOIN,
        "TRANSACTION_TYPE_BITCOIN",
    ),
    Row(
        "a Tron transfer",
        f"{CONTRACT}.type == 'TransferContract' && {CONTRACT}.amount < 10000000",
        WRITTEN["TransferContract"]["raw_data_hex"],
        (
            WRITTEN["TriggerSmartContract"]["raw_data_hex"],
            WRITTEN["AccountPermissionUpdateContract"]["raw_data_hex"],
        ),
        TRON,
        "TRANSACTION_TYPE_TRON",
    ),
]


@pytest.fixture(scope="module", autouse=True)
def known(server: Server) -> Iterator[None]:
    """The keys of the vectors, and the interface of the Solana program."""
    add_known_wallet(server.installation)
    interface = {
        "smartContractAddress": str(PROGRAM),
        "smartContractInterface": IDL,
        "type": "SMART_CONTRACT_INTERFACE_TYPE_SOLANA",
        "label": "router",
        "notes": "",
    }
    made = server.caller.result("create_smart_contract_interface", interface)
    yield
    ids = {"smartContractInterfaceId": made["smartContractInterfaceId"]}
    server.caller.submitted("delete_smart_contract_interface", ids)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_user_signs_what_the_policy_allows(row: Row, caller: Caller) -> None:
    user = caller.new_user()
    consensus = f"approvers.any(u, u.id == '{user.user_id}')"
    policy = caller.result("create_policy", policy_params(condition=row.condition, consensus=consensus))

    def params(unsigned: str) -> dict[str, str]:
        return {"signWith": row.sign_with, "unsignedTransaction": unsigned, "type": row.kind}

    signed = bytes.fromhex(user.result("sign_transaction", params(row.allowed))["signedTransaction"])
    _check(row, signed)
    for unsigned in row.denied:
        status, _ = refusal(user.submit("sign_transaction", params(unsigned)))
        assert status == 403
    caller.submitted("delete_policy", {"policyId": policy["policyId"]})
    assert refusal(user.submit("sign_transaction", params(row.allowed)))[0] == 403


def _check(row: Row, signed: bytes) -> None:
    """The chain's own software accepts what was signed."""
    match row.kind:
        case "TRANSACTION_TYPE_SOLANA":
            assert VersionedTransaction.from_bytes(signed).verify_with_results() == [True]
        case "TRANSACTION_TYPE_BITCOIN":
            verify(signed, SPENT, transaction(SPENT, [TxOut(199_000, THEIRS)]))
        case _:
            digest = hashlib.sha256(bytes.fromhex(row.allowed)).digest()
            assert secp256k1.recovered(signed[-65:], digest) == account(TRON)[1].compressed


def test_transactions_are_refused_before_any_policy(caller: Caller) -> None:
    nobody = caller.new_user()
    for kind, sign_with in (("SOLANA", SOLANA), ("BITCOIN", BITCOIN), ("TRON", TRON)):
        params = {"signWith": sign_with, "unsignedTransaction": "00", "type": f"TRANSACTION_TYPE_{kind}"}
        status, message = refusal(nobody.submit("sign_transaction", params))
        assert (status, message.partition(":")[0]) == (400, "failed to parse transaction")


def test_keys_sign_on_their_own_chains_only(caller: Caller) -> None:
    for row, sign_with in ((ROWS[0], TRON), (ROWS[2], SOLANA), (ROWS[2], TRON), (ROWS[3], SOLANA)):
        params = {"signWith": sign_with, "unsignedTransaction": row.allowed, "type": row.kind}
        status, message = refusal(caller.submit("sign_transaction", params))
        assert status == 400
        assert "parameters.signWith" in message


def test_typed_data_whose_names_have_colons(caller: Caller) -> None:
    """Every action of Hyperliquid is of such a type."""
    params = {
        "signWith": ETHEREUM,
        "payload": json.dumps(HYPERLIQUID),
        "encoding": "PAYLOAD_ENCODING_EIP712",
        "hashFunction": "HASH_FUNCTION_NO_OP",
    }
    signed = caller.result("sign_raw_payload", params)
    whole = bytes.fromhex(signed["r"] + signed["s"] + signed["v"])
    assert secp256k1.recovered(whole, independent_digest(HYPERLIQUID)) == account(ETHEREUM)[1].compressed
