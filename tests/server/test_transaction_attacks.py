"""Attacks with transactions and contract interfaces: to sign against the policies, or to stop the service.

Here: the attacks themselves, over HTTP. Not here: each rule of a chain (`tests/chains`), calls that do not decode
(`tests/operations/test_unread_calls`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import pytest
import rlp
from btclib.script.script_pub_key import ScriptPubKey
from btclib.tx.tx_out import TxOut
from eth_hash.auto import keccak
from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.message import Message
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.system_program import transfer as system_transfer
from solders.transaction import VersionedTransaction

from keystead.chains.solana.movements import OWNER_AT
from tests.chains.bitcoin.psbts import OTHER_KEY, Spent, key_of, script_for, unsigned_psbt
from tests.chains.signing_vectors import SIGNING
from tests.chains.solana import movers
from tests.conftest import MakeDatabase
from tests.support.callers import SDK_FORM, Caller, answered, refusal, unique
from tests.support.known_keys import add_known_wallet
from tests.support.organization_fixtures import ETHEREUM_ACCOUNT, SOLANA_ACCOUNT, policy_params
from tests.support.servers import Server, bootstrap_installation, running

TOKEN = Pubkey.from_string("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA")
FRIEND, STRANGER, FROM = Pubkey(b"\xa0" * 32), Pubkey(b"\xb0" * 32), Pubkey(b"\xc0" * 32)
CONTRACT = "0x" + "5c" * 20
WORD = 32


def words(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(WORD) for number in numbers)


def account_of(root: Caller, template: dict[str, str]) -> str:
    wallet = root.result("create_wallet", {"walletName": unique("wallet"), "accounts": [template]})
    return str(wallet["addresses"][0])


@contextmanager
def policies(root: Caller, user: Caller, *written: str) -> Iterator[None]:
    """Policies whose consensus is this user alone. Each text is an effect and a condition."""
    made = []
    for one in written:
        effect, _, condition = one.partition(" ")
        params = policy_params(
            effect=f"EFFECT_{effect}",
            condition=condition,
            consensus=f"approvers.any(u, u.id == '{user.user_id}')",
        )
        made.append(root.result("create_policy", params)["policyId"])
    yield
    root.submitted("delete_policies", {"policyIds": made})


def sign(caller: Caller, sign_with: str, kind: str, unsigned: bytes) -> httpx.Response:
    params = {
        "signWith": sign_with,
        "unsignedTransaction": unsigned.hex(),
        "type": f"TRANSACTION_TYPE_{kind}",
    }
    return caller.submit("sign_transaction", params, SDK_FORM)


def outcome(response: httpx.Response) -> str:
    """SIGNED; DENIED by a policy; NOT ALLOWED by any; or REFUSED before policies."""
    if response.status_code == 200:
        assert response.json()["activity"]["status"] == "ACTIVITY_STATUS_COMPLETED"
        return "SIGNED"
    status, _ = refusal(response)
    if status == 400:
        assert response.json()["details"][0]["turnkeyErrorCode"] == "INVALID_TRANSACTION"
        return "REFUSED"
    assert status == 403
    (detail,) = response.json()["details"]
    return "DENIED" if detail["message"].startswith("The following policies denied") else "NOT ALLOWED"


# Solana: transfers inside a batch of the token program


def token(data: bytes, *accounts: Pubkey) -> Instruction:
    return Instruction(TOKEN, data, [AccountMeta(key, False, True) for key in accounts])


def transfer(amount: int) -> bytes:
    return b"\x03" + amount.to_bytes(8, "little")


def batch(*instructions: tuple[int, bytes]) -> bytes:
    return b"\xff" + b"".join(bytes([count, len(data)]) + data for count, data in instructions)


GOOD = (token(transfer(1), FROM, FRIEND, FROM),)
BATCHES = [
    ("a good transfer", GOOD, "SIGNED", "SIGNED"),
    ("a good transfer in a batch", (token(batch((3, transfer(1))), FROM, FRIEND, FROM),), "SIGNED", "SIGNED"),
    (
        "a batch to a stranger",
        (token(batch((3, transfer(10**15))), FROM, STRANGER, FROM),),
        "NOT ALLOWED",
        "DENIED",
    ),
    (
        "a batch to a stranger behind a good transfer",
        (*GOOD, token(batch((3, transfer(1)), (3, transfer(10**15))), FROM, FRIEND, FROM, FROM, STRANGER, FROM)),
        "NOT ALLOWED",
        "DENIED",
    ),
    ("unwrapping to a stranger", (token(b"\x2d\x01" + bytes(8), FROM, STRANGER, FROM),), "NOT ALLOWED", "SIGNED"),
    ("unwrapping everything", (token(b"\x2d\x00", FROM, STRANGER, FROM),), "REFUSED", "REFUSED"),
    ("excess lamports to a stranger", (token(b"\x26", FROM, STRANGER, FROM),), "REFUSED", "REFUSED"),
    (
        "a batch in a batch",
        (token(batch((3, batch((3, transfer(10**15))))), FROM, STRANGER, FROM),),
        "REFUSED",
        "REFUSED",
    ),
]


@pytest.mark.parametrize(
    ("instructions", "friends_only", "small_only"), [row[1:] for row in BATCHES], ids=[row[0] for row in BATCHES]
)
def test_token_transfers_in_a_batch(
    instructions: tuple[Instruction, ...], friends_only: str, small_only: str, sqlite_server: Server
) -> None:
    root = sqlite_server.caller
    user, signer = root.new_user(), account_of(root, SOLANA_ACCOUNT)
    message = Message.new_with_blockhash(instructions, Pubkey.from_string(signer), Hash(b"\1" * 32))
    unsigned = bytes(VersionedTransaction.populate(message, [Signature.default()]))
    with policies(root, user, f"ALLOW solana.tx.spl_transfers.all(t, t.to == '{FRIEND}')"):
        assert outcome(sign(user, signer, "SOLANA", unsigned)) == friends_only
    anything, large = "ALLOW activity.action == 'SIGN'", "DENY solana.tx.spl_transfers.any(t, t.amount > 1000)"
    with policies(root, user, anything, large):
        assert outcome(sign(user, signer, "SOLANA", unsigned)) == small_only


# Solana: other ways to move value than a transfer

ONLY_TO_A_FRIEND = [
    f"solana.tx.transfers.count() > 0 && solana.tx.transfers.all(t, t.to == '{FRIEND}')",
    f"solana.tx.movements.count() > 0 && solana.tx.movements.all(m, m.to == '{FRIEND}')",
]


def signed_by(signer: Pubkey, instruction: Instruction) -> Instruction:
    """An instruction of the table, with this key in the place of its signer."""
    return Instruction(
        instruction.program_id,
        instruction.data.replace(bytes(movers.ME), bytes(signer)),
        [
            AccountMeta(signer if meta.pubkey == movers.ME else meta.pubkey, meta.is_signer, meta.is_writable)
            for meta in instruction.accounts
        ],
    )


@pytest.mark.parametrize("condition", ONLY_TO_A_FRIEND, ids=["transfers", "movements"])
def test_no_other_way_to_move_value_passes_a_rule_about_transfers(condition: str, sqlite_server: Server) -> None:
    """Every instruction of the table, behind a good transfer."""
    root = sqlite_server.caller
    user, named = root.new_user(), account_of(root, SOLANA_ACCOUNT)
    signer = Pubkey.from_string(named)
    good = system_transfer({"from_pubkey": signer, "to_pubkey": FRIEND, "lamports": 1})
    token_transfers = {f"Token: {name}" for name in OWNER_AT} if "transfers" in condition else set()
    tried = [
        *(mover.instruction for name, mover in movers.MOVERS.items() if name not in token_transfers),
        Instruction(STRANGER, b"", [AccountMeta(signer, True, True)]),
    ]
    with policies(root, user, f"ALLOW {condition}"):
        for instruction in (None, *tried):
            added = [] if instruction is None else [signed_by(signer, instruction)]
            message = Message.new_with_blockhash([good, *added], signer, Hash(b"\1" * 32))
            slots = [Signature.default()] * message.header.num_required_signatures
            unsigned = bytes(VersionedTransaction.populate(message, slots))
            expected = "SIGNED" if instruction is None else "NOT ALLOWED"
            assert outcome(sign(user, named, "SOLANA", unsigned)) == expected, instruction


IDL = {
    "instructions": [{"name": "route", "accounts": [], "args": [{"name": "amount", "type": "u64"}]}],
    "types": [],
}


def test_a_program_with_an_idl_is_allowed_by_its_instructions(sqlite_server: Server) -> None:
    """It gets the signer, so it may move anything. A policy that allows it says so."""
    root = sqlite_server.caller
    user, named = root.new_user(), account_of(root, SOLANA_ACCOUNT)
    signer, program = Pubkey.from_string(named), Pubkey.from_bytes(sha256(named.encode()).digest())
    root.submitted(
        "create_smart_contract_interface",
        {
            "smartContractAddress": str(program),
            "smartContractInterface": json.dumps(IDL),
            "type": "SMART_CONTRACT_INTERFACE_TYPE_SOLANA",
            "label": unique("program"),
            "notes": "",
        },
    )
    data = sha256(b"global:route").digest()[:8] + (5).to_bytes(8, "little")
    call = Instruction(program, data, [AccountMeta(signer, True, True)])
    message = Message.new_with_blockhash([call], signer, Hash(b"\1" * 32))
    unsigned = bytes(VersionedTransaction.populate(message, [Signature.default()]))
    named_route = "i.parsed_instruction_data.instruction_name == 'route'"
    allowed = f"ALLOW solana.tx.instructions.all(i, i.program_key == '{program}' && {named_route})"
    with policies(root, user, allowed):
        assert outcome(sign(user, named, "SOLANA", unsigned)) == "SIGNED"
    with policies(root, user, f"ALLOW solana.tx.movements.all(m, m.contract == '{program}')"):
        assert outcome(sign(user, named, "SOLANA", unsigned)) == "SIGNED"
    with policies(root, user, allowed, f"DENY solana.tx.transfers.any(t, t.to == '{STRANGER}')"):
        assert outcome(sign(user, named, "SOLANA", unsigned)) == "DENIED"


# Ethereum: what no node takes, and what holds on every chain


def test_an_authorization_for_every_chain_passes_no_rule_about_a_chain(sqlite_server: Server) -> None:
    root = sqlite_server.caller
    user, named = root.new_user(), account_of(root, ETHEREUM_ACCOUNT)

    def authorize(chain_id: int) -> str:
        payload = json.dumps({"address": CONTRACT, "chainId": chain_id, "nonce": 0})
        parameters = {
            "signWith": named,
            "payload": payload,
            "encoding": "PAYLOAD_ENCODING_EIP7702_AUTHORIZATION",
            "hashFunction": "HASH_FUNCTION_NO_OP",
        }
        return outcome(user.submit("sign_raw_payload", parameters, SDK_FORM))

    anything, chain = "ALLOW activity.action == 'SIGN'", "eth.eip_7702_authorization.chain_id"
    with policies(root, user, anything, f"DENY {chain} == 1"):
        assert [authorize(chain_id) for chain_id in (1, 5, 0)] == ["DENIED", "SIGNED", "DENIED"]
    with policies(root, user, f"ALLOW {chain} != 1"):
        assert [authorize(chain_id) for chain_id in (1, 5, 0)] == ["NOT ALLOWED", "SIGNED", "NOT ALLOWED"]


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        (2, {0: b""}),
        (2, {4: b""}),
        (3, {10: []}),
        (3, {10: [b"\2" * 32]}),
        (4, {9: []}),
    ],
    ids=["chain 0", "no gas", "no blob hash", "a blob hash of version 2", "no authorization"],
)
def test_what_no_node_takes_is_refused(kind: int, changes: dict[int, Any], sqlite_server: Server) -> None:
    root = sqlite_server.caller
    market: list[Any] = [b"\x01", b"", b"\x01", b"\x02", b"\x52\x08", b"\x5c" * 20, b"", b"", []]
    blobs: list[Any] = [b"\x01", [b"\1" * 32]]
    authorization = [b"\x01", b"\x5c" * 20, b"", b"", b"\x01", b"\x01"]
    further: dict[int, list[Any]] = {2: [], 3: blobs, 4: [[authorization]]}
    items = market + further[kind]
    changed = [changes.get(index, item) for index, item in enumerate(items)]
    named = account_of(root, ETHEREUM_ACCOUNT)
    good, bad = (bytes([kind]) + bytes(rlp.encode(one, infer_serializer=False)) for one in (items, changed))
    assert outcome(sign(root, named, "ETHEREUM", good)) == "SIGNED"
    assert outcome(sign(root, named, "ETHEREUM", bad)) == "REFUSED"


# Ethereum: a legacy transaction without chain id

(NO_CHAIN,) = (row for row in SIGNING["ethereumTransactions"] if row["id"] == "legacy-no-chain-id")


def test_a_legacy_transaction_without_chain_id_is_refused(sqlite_server: Server) -> None:
    root = sqlite_server.caller
    response = sign(
        root, account_of(root, ETHEREUM_ACCOUNT), "ETHEREUM", bytes.fromhex(NO_CHAIN["unsignedTransaction"])
    )
    assert outcome(response) == "REFUSED"
    assert "KEYSTEAD_SIGN_LEGACY_WITHOUT_CHAIN_ID" in refusal(response)[1]


@pytest.fixture(scope="module")
def configured(make_sqlite: MakeDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with the keys of the vectors, that signs without chain id and keeps few interfaces."""
    installation = bootstrap_installation(make_sqlite())
    add_known_wallet(installation)
    settings = {
        "sign_legacy_without_chain_id": "true",
        "limit_contract_interface_bytes": 500,
        "signing_bytes_cached": 0,
    }
    with running(installation, tmp_path_factory.mktemp("configured") / "log", settings) as server:
        yield server
    installation.database.close()


def test_a_setting_allows_legacy_transactions_without_chain_id(configured: Server) -> None:
    unsigned = bytes.fromhex(NO_CHAIN["unsignedTransaction"])
    response = sign(configured.caller, "0x9858EfFD232B4033E47d90003D41EC34EcaEda94", "ETHEREUM", unsigned)
    signed = answered(response)["activity"]["result"]["signTransactionResult"]["signedTransaction"]
    assert signed == NO_CHAIN["signedTransaction"]


# Bitcoin: the same key under its testnet address

MAINNET, TESTNET = (f"ADDRESS_FORMAT_BITCOIN_{network}_P2WPKH" for network in ("MAINNET", "TESTNET"))


def test_one_script_under_the_address_of_another_network(sqlite_server: Server) -> None:
    root = sqlite_server.caller
    user = root.new_user()
    templates = [{**ETHEREUM_ACCOUNT, "addressFormat": form} for form in (MAINNET, TESTNET)]
    wallet = root.result("create_wallet", {"walletName": unique("wallet"), "accounts": templates})
    mainnet, testnet = wallet["addresses"]
    accounts = root.asked("list_wallet_accounts", walletId=wallet["walletId"])["accounts"]
    (public_key,) = {one["publicKey"] for one in accounts}
    script = script_for("P2WPKH", bytes.fromhex(public_key))
    spent = Spent("P2WPKH")
    spent.funding.vout[1] = TxOut(100_000, script)
    payee = script_for("P2WPKH", key_of(OTHER_KEY))
    unsigned = unsigned_psbt([spent], [TxOut(1_000, payee)])
    anything = "ALLOW activity.action == 'SIGN'"
    with policies(root, user, anything, f"DENY wallet_account.address == '{mainnet}'"):
        assert outcome(sign(user, mainnet, "BITCOIN", unsigned)) == "DENIED"
        assert outcome(sign(user, testnet, "BITCOIN", unsigned)) == "DENIED"
    for network in ("mainnet", "testnet"):
        written = ScriptPubKey(payee, network=network).address
        with policies(root, user, anything, f"DENY bitcoin.tx.outputs.any(o, o.address == '{written}')"):
            assert outcome(sign(user, mainnet, "BITCOIN", unsigned)) == "DENIED"
            assert outcome(sign(user, testnet, "BITCOIN", unsigned)) == "DENIED"


# Ethereum: an ABI that does not tell which function is called, and calldata that costs too much


def function(name: str, *kinds: tuple[str, str]) -> dict[str, Any]:
    return {"type": "function", "name": name, "inputs": [{"name": one, "type": kind} for one, kind in kinds]}


def params_of(functions: Sequence[dict[str, Any]]) -> dict[str, str]:
    return {
        "smartContractAddress": CONTRACT,
        "smartContractInterface": json.dumps(functions),
        "type": "SMART_CONTRACT_INTERFACE_TYPE_ETHEREUM",
        "label": unique("contract"),
    }


@contextmanager
def interface(root: Caller, *functions: dict[str, Any]) -> Iterator[None]:
    made = root.result("create_smart_contract_interface", params_of(functions))
    yield
    ids = {"smartContractInterfaceId": made["smartContractInterfaceId"]}
    root.submitted("delete_smart_contract_interface", ids)


def recorded_interface(root: Caller) -> dict[str, str]:
    listed = root.asked("list_smart_contract_interfaces")["smartContractInterfaces"]
    return next(one for one in listed if one["smartContractAddress"] == CONTRACT)


def call(data: bytes) -> bytes:
    return b"\2" + bytes(
        rlp.encode([b"\1", b"", b"\1", b"\2", b"\x52\x08", bytes.fromhex(CONTRACT[2:]), b"", data, []])
    )


MOVE = function("transferFrom", ("from", "address"), ("to", "address"), ("amount", "uint256"))
TWIN = function("gasprice_bit_ether", ("x", "int128"))
REFUSED_NOW = [
    ("two functions of one selector", [MOVE, TWIN]),
    ("a member that is not understood", [MOVE | {"layout": "packed"}]),
    ("two arguments of one name", [MOVE | {"inputs": [MOVE["inputs"][2], *MOVE["inputs"][1:]]}]),
]


@pytest.mark.parametrize("functions", [row[1] for row in REFUSED_NOW], ids=[row[0] for row in REFUSED_NOW])
def test_an_interface_on_record_that_is_refused_now(functions: list[Any], sqlite_server: Server) -> None:
    """An earlier version took it. By a reading that may be wrong, the amount would be small, or absent."""
    root = sqlite_server.caller
    user, signer = root.new_user(), account_of(root, ETHEREUM_ACCOUNT)
    small, large = (call(bytes.fromhex("23b872dd") + words(1, 2, amount)) for amount in (1, 10**30))
    written = ("ALLOW activity.action == 'SIGN'", "DENY eth.tx.contract_call_args['amount'] > 1000")
    with policies(root, user, *written):
        with interface(root, MOVE):
            assert [outcome(sign(user, signer, "ETHEREUM", one)) for one in (small, large)] == ["SIGNED", "DENIED"]
        with interface(root, MOVE):
            recorded = recorded_interface(root)
            text = json.dumps(functions).encode().hex()
            id_ = recorded["smartContractInterfaceId"]
            sqlite_server.installation.database.rows(
                f"UPDATE interface_text SET text = x'{text}' WHERE id = '{id_}'"
            )
            assert [outcome(sign(user, signer, "ETHEREUM", one)) for one in (small, large)] == ["DENIED"] * 2
            assert json.loads(recorded_interface(root)["smartContractInterface"]) == functions
        status, message = refusal(root.submit("create_smart_contract_interface", params_of(functions)))
        assert (status, "not an Ethereum ABI" in message) == (400, True)


def peak_memory(server: Server) -> int:
    """Bytes, of the server's own process."""
    status = Path(f"/proc/{server.pid}/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:"))) * 1024


def test_pointers_that_share_one_value(sqlite_server: Server) -> None:
    """The attack: 0.73 MB of calldata took 1.8 GB of memory for every sender."""
    root = sqlite_server.caller
    nobody, signer = root.new_user(), account_of(root, ETHEREUM_ACCOUNT)
    selector = keccak(b"f(uint256[][])")[:4]
    with interface(root, function("f", ("x", "uint256[][]"))):
        assert outcome(sign(nobody, signer, "ETHEREUM", call(selector + words(32, 0)))) == "NOT ALLOWED"
        before = peak_memory(sqlite_server)
        for count, expected in ((1_900, "NOT ALLOWED"), (7_000, "REFUSED")):
            arguments = words(32, count, *[count * WORD] * count, count, *[2**200] * count)
            assert outcome(sign(nobody, signer, "ETHEREUM", call(selector + arguments))) == expected
        assert peak_memory(sqlite_server) - before < 20_000_000


ABSURD: list[tuple[str, Any]] = [
    ("5,000 digits", f"uint8[{'9' * 5_000}]"),
    ("a million bytes and more", "uint8[1000][1000]"),
]


@pytest.mark.parametrize("kind", [row[1] for row in ABSURD], ids=[row[0] for row in ABSURD])
def test_a_type_of_absurd_size(kind: str, sqlite_server: Server) -> None:
    """It was once accepted, and every call to the contract answered 500."""
    params = params_of([function("f", ("x", kind))])
    status, message = refusal(sqlite_server.caller.submit("create_smart_contract_interface", params))
    assert status == 400
    assert "field `parameters.smartContractInterface`: not an Ethereum ABI: entry 0 (f): " in message


def test_one_query_that_lists_every_interface(configured: Server) -> None:
    """The list has no pages: the bytes of all texts are limited. It once read up to 400 MB on the event loop."""
    root, texts = configured.caller, []
    for number in range(100):
        params = params_of([function("f" * 100)]) | {"smartContractAddress": f"0x{number:040x}"}
        response = root.submit("create_smart_contract_interface", params)
        if response.status_code != 200:
            assert "bytes of smart contract interfaces" in refusal(response)[1]
            break
        texts.append(params["smartContractInterface"])
    listed = root.asked("list_smart_contract_interfaces")["smartContractInterfaces"]
    assert 0 < sum(map(len, texts)) <= 500
    assert [one["smartContractInterface"] for one in listed] == texts
    for one in listed:
        ids = {"smartContractInterfaceId": one["smartContractInterfaceId"]}
        root.submitted("delete_smart_contract_interface", ids)


def test_signing_where_nothing_is_kept(configured: Server) -> None:
    root = configured.caller
    user, signer = root.new_user(), account_of(root, ETHEREUM_ACCOUNT)
    data = keccak(b"pay(uint256)")[:4]
    with (
        interface(root, function("pay", ("amount", "uint256"))),
        policies(root, user, "ALLOW eth.tx.contract_call_args['amount'] < 100"),
    ):
        for amount, expected in ((5, "SIGNED"), (500, "NOT ALLOWED"), (5, "SIGNED")):
            assert outcome(sign(user, signer, "ETHEREUM", call(data + words(amount)))) == expected


# Limits of each chain, below the body's

LONGEST: list[tuple[str, Callable[[int], bytes], int, int]] = [
    ("ETHEREUM", lambda size: call(bytes(size)), 131_000, 131_072),
    ("TEMPO", lambda size: b"\x76" + bytes(rlp.encode([bytes(size)])), 0, 131_072),
    ("BITCOIN", lambda size: b"psbt\xff" + bytes(size), 0, 500_000),
    ("TRON", bytes, 0, 511_930),
    ("SOLANA", bytes, 0, 1_233),
]


@pytest.mark.parametrize(("kind", "make", "taken", "too_long"), LONGEST, ids=[row[0] for row in LONGEST])
def test_no_transaction_is_as_long_as_a_body(
    kind: str, make: Callable[[int], bytes], taken: int, too_long: int, sqlite_server: Server
) -> None:
    root = sqlite_server.caller
    templates = {"SOLANA": SOLANA_ACCOUNT, "BITCOIN": {**ETHEREUM_ACCOUNT, "addressFormat": MAINNET}}
    signer = account_of(root, templates.get(kind, ETHEREUM_ACCOUNT))
    response = sign(root, signer, kind, make(too_long))
    assert outcome(response) == "REFUSED"
    assert " bytes; " in refusal(response)[1]
    if taken:
        assert outcome(sign(root, signer, kind, make(taken))) == "SIGNED"
