"""The transactions of each chain that cost most to read, check or sign, and some that are a little larger.

Here: building them, for an account of the attacker's. Not here: sending them (`worst_requests`). `beyond`: by how
many bytes or items the transaction exceeds the limit of its chain; 0 for the most that is accepted.
"""

from __future__ import annotations

import functools
import json
import threading
from collections.abc import Callable

import rlp
from btclib.script.script_pub_key import ScriptPubKey
from btclib.tx.tx_out import TxOut
from solders.pubkey import Pubkey

from keystead.chains.bounds import (
    ETHEREUM_TRANSACTION_BYTES_MAX,
    PSBT_TRANSACTION_BYTES_MAX,
    SOLANA_PACKET_BYTES_MAX,
    SOLANA_V1_BYTES_MAX,
    SOLANA_V1_INSTRUCTIONS_MAX,
    TRON_RAW_DATA_BYTES_MAX,
)
from keystead.primitives.keccak import keccak256
from tests.chains.bitcoin.psbts import compact, psbt
from tests.chains.tron.test_tron import contract
from tests.support.callers import Caller, unique
from tests.support.organization_fixtures import ETHEREUM_ACCOUNT, SOLANA_ACCOUNT, RecordIds, interface_params

Build = Callable[[Caller, RecordIds], tuple[str, bytes]]
"""What signs, and the transaction."""

_BITCOIN_ACCOUNT = ETHEREUM_ACCOUNT | {"addressFormat": "ADDRESS_FORMAT_BITCOIN_MAINNET_P2TR"}
"""Its inputs are the shortest, because they need no previous transactions."""


def _built_once(build: Callable[[], bytes]) -> Build:
    """Signed by the private key. Built when it is first sent: every process that runs tests loads this module."""
    once = functools.cache(build)
    return lambda _, records: (records.private_key_id, once())


def calldata(beyond: int) -> Build:
    """As many bytes of calldata as fit."""

    def unsigned(size: int) -> bytes:
        return bytes(
            rlp.encode([b"\x01", b"", b"\x01", b"\x01", b"\x52\x08", b"\x11" * 20, b"", b"\x55" * size, []])
        )

    around = len(unsigned(100_000)) - 100_000
    built = b"\x02" + unsigned(ETHEREUM_TRANSACTION_BYTES_MAX - around + beyond)
    return lambda _, records: (records.private_key_id, built)


WORD = 32
_CONTRACT = "0x" + "5c" * 20
_PROGRAM = Pubkey(b"\x07" * 32)


def contract_call(arguments: Callable[[int], bytes], beyond: int) -> Build:
    """A call of `f(uint256[][])` by an uploaded ABI. `arguments` has a number of items of the outer list: as many
    as fit."""
    fits = (ETHEREUM_TRANSACTION_BYTES_MAX - 1_000) // (len(arguments(2)) - len(arguments(1)))
    data = keccak256(b"f(uint256[][])")[:4] + arguments(fits) + bytes(1_000 * beyond)
    fields = [b"\x01", b"", b"\x01", b"\x01", b"\x52\x08", bytes.fromhex(_CONTRACT[2:]), b"", data, []]
    built = b"\x02" + bytes(rlp.encode(fields))
    abi = [{"type": "function", "name": "f", "inputs": [{"name": "x", "type": "uint256[][]"}], "outputs": []}]

    def build(caller: Caller, records: RecordIds) -> tuple[str, bytes]:
        _upload(caller, _CONTRACT, "ETHEREUM", json.dumps(abi))
        return records.private_key_id, built

    return build


def shared_lists(count: int) -> bytes:
    """Pointers to one list of four numbers: as many numbers as may be read of these bytes."""
    return _words(WORD, count, *[count * WORD] * count, 4, *[2**255] * 4)


def separate_lists(count: int) -> bytes:
    """Lists of one number each."""
    pointers = [(count + 2 * number) * WORD for number in range(count)]
    return _words(WORD, count, *pointers, *[1, 2**255] * count)


def _words(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(WORD) for number in numbers)


def program_calls(idl: str) -> Build:
    """As many instructions as fit, without accounts and data, for a program with this IDL."""
    instructions = solana_instructions(0)

    def build(caller: Caller, records: RecordIds) -> tuple[str, bytes]:
        _upload(caller, str(_PROGRAM), "SOLANA", idl)
        return instructions(caller, records)

    return build


def idl_of_members(count: int) -> str:
    """The IDL of an instruction without a discriminator. Its argument is a structure of `count` empty members."""
    empty = {"name": "E", "type": {"kind": "struct", "fields": []}}
    members = [{"name": str(number), "type": {"defined": "E"}} for number in range(count)]
    structure = {"name": "S", "type": {"kind": "struct", "fields": members}}
    arguments = [{"name": "x", "type": {"defined": "S"}}]
    instruction = {"name": "go", "accounts": [], "args": arguments, "discriminator": []}
    return json.dumps({"instructions": [instruction], "types": [empty, structure]}, separators=(",", ":"))


def idl_of_instructions(count: int) -> str:
    """The IDL of `count` instructions whose names each have 16 discriminators."""
    instructions = [{"name": f"a1234{_letters(number)}", "accounts": [], "args": []} for number in range(count)]
    return json.dumps({"instructions": instructions, "types": []}, separators=(",", ":"))


def _letters(number: int) -> str:
    return "".join(chr(ord("a") + number // 26**place % 26) for place in range(3))


_uploaded: set[tuple[str, str]] = set()
_one_at_a_time = threading.Lock()


def _upload(caller: Caller, address: str, kind: str, text: str) -> None:
    """Once for each organization, which may have several callers."""
    parameters = interface_params(
        smartContractAddress=address,
        smartContractInterface=text,
        type=f"SMART_CONTRACT_INTERFACE_TYPE_{kind}",
    )
    with _one_at_a_time:
        if (caller.organization_id, address) not in _uploaded:
            caller.submitted("create_smart_contract_interface", parameters)
            _uploaded.add((caller.organization_id, address))


def tempo_calls(beyond: int) -> Build:
    """As many calls as fit, to addresses, without input."""
    call = [b"\x11" * 20, b"", b""]
    each = len(rlp.encode(call))

    def unsigned(count: int) -> bytes:
        rest = [b"", b"", b"\x01", b"", b"", b"", b"", []]
        return bytes(rlp.encode([b"\x01", b"\x01", b"\x01", b"\x52\x08", [call] * count, [], *rest[1:]]))

    def longest() -> bytes:
        around = len(unsigned(5_000)) - 5_000 * each
        return b"\x76" + unsigned((ETHEREUM_TRANSACTION_BYTES_MAX - 1 - around) // each + beyond)

    return _built_once(longest)


def access_list(beyond: int) -> Build:
    """As many items of RLP as fit: addresses without storage keys."""
    each = len(rlp.encode([b"\x11" * 20, []]))

    def unsigned(count: int) -> bytes:
        accessed = [[b"\x11" * 20, []]] * count
        return bytes(rlp.encode([b"\x01", b"", b"\x01", b"\x01", b"\x52\x08", b"\x11" * 20, b"", b"", accessed]))

    def longest() -> bytes:
        around = len(unsigned(5_000)) - 5_000 * each
        return b"\x02" + unsigned((ETHEREUM_TRANSACTION_BYTES_MAX - around) // each + beyond)

    return _built_once(longest)


def nested_lists() -> Build:
    """Lists in lists, which no transaction has."""
    return lambda _, records: (records.private_key_id, b"\xc1" * ETHEREUM_TRANSACTION_BYTES_MAX)


def tron_memo(beyond: int) -> Build:
    """A transfer with a memo as long as fits."""
    transfer = contract()
    size = TRON_RAW_DATA_BYTES_MAX - len(transfer) - 4 + beyond
    length = bytes([size & 0x7F | 0x80, size >> 7 & 0x7F | 0x80, size >> 14])
    built = b"\x52" + length + b"\x55" * size + transfer
    return lambda _, records: (records.private_key_id, built)


def solana_instructions(beyond: int) -> Build:
    """As many instructions as fit: without accounts and data, of three bytes each."""
    around = 1 + 64 + 3 + 1 + 2 * 32 + 32 + 2
    count = (SOLANA_PACKET_BYTES_MAX - around) // 3 + beyond

    def build(caller: Caller, _: RecordIds) -> tuple[str, bytes]:
        signer = _address(caller, "SOLANA")
        keys = bytes(Pubkey.from_string(signer)) + b"\x07" * 32
        instructions = bytes([count & 0x7F | 0x80, count >> 7]) + b"\x01\x00\x00" * count
        return signer, b"\x01" + bytes(64) + b"\x01\x00\x01\x02" + keys + bytes(32) + instructions

    return build


def solana_version_1(beyond: int) -> Build:
    """The most instructions of version 1, with data as long as fits."""
    count = SOLANA_V1_INSTRUCTIONS_MAX
    around = 1 + 3 + 4 + 32 + 2 + 2 * 32 + 4 * count + 64
    data = bytes(SOLANA_V1_BYTES_MAX - around + beyond)

    def build(caller: Caller, _: RecordIds) -> tuple[str, bytes]:
        signer = _address(caller, "SOLANA")
        keys = bytes(Pubkey.from_string(signer)) + b"\x07" * 32
        headers = b"\x01\0\0\0" * (count - 1) + b"\x01\0" + len(data).to_bytes(2, "little")
        front = b"\x81\x01\0\x01" + bytes(4) + bytes(32) + bytes([count, 2]) + keys
        return signer, front + headers + data + bytes(64)

    return build


def bitcoin_inputs(beyond: int) -> Build:
    """As many inputs of the account's own as fit, each to be signed."""
    each = 36 + 1 + 4
    count = (PSBT_TRANSACTION_BYTES_MAX - 100) // each + beyond

    def build(caller: Caller, _: RecordIds) -> tuple[str, bytes]:
        signer = _address(caller, "BITCOIN")
        own = ScriptPubKey.from_address(signer).script
        inputs = b"".join(number.to_bytes(36, "little") + b"\0" + bytes(4) for number in range(count))
        tx = b"\x02\0\0\0" + compact(count) + inputs + b"\x01" + TxOut(1, own).serialize() + bytes(4)
        return signer, psbt(tx, [[(b"\x01", TxOut(1_000, own).serialize())]] * count, 1)

    return build


_ACCOUNTS = {"SOLANA": SOLANA_ACCOUNT, "BITCOIN": _BITCOIN_ACCOUNT}


@functools.cache
def _address(caller: Caller, chain: str) -> str:
    """The address of a new wallet of the caller."""
    made = caller.result("create_wallet", {"walletName": unique("wallet"), "accounts": [_ACCOUNTS[chain]]})
    address: str = made["addresses"][0]
    return address
