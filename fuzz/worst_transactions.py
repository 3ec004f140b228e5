"""The transactions of each chain that cost most to read, check or sign, and some that are a little larger.

Here: building them, for an account of the attacker's. Not here: sending them (`worst_requests`). `beyond`: by how
many bytes or items the transaction exceeds the limit of its chain; 0 for the most that is accepted.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import rlp
from btclib.script.script_pub_key import ScriptPubKey
from btclib.tx.tx_out import TxOut
from solders.pubkey import Pubkey

from keystead.chains.bitcoin.psbt import TRANSACTION_BYTES_MAX as BITCOIN_BYTES_MAX
from keystead.chains.ethereum.envelope import TRANSACTION_BYTES_MAX as ETHEREUM_BYTES_MAX
from keystead.chains.solana.message import TRANSACTION_BYTES_MAX as SOLANA_BYTES_MAX
from keystead.chains.tron.transaction import RAW_DATA_BYTES_MAX as TRON_BYTES_MAX
from tests.chains.bitcoin.psbts import compact, psbt
from tests.chains.tron.test_tron import contract
from tests.support.callers import Caller, unique
from tests.support.organization_fixtures import ETHEREUM_ACCOUNT, SOLANA_ACCOUNT, RecordIds

Build = Callable[[Caller, RecordIds], tuple[str, bytes]]
"""What signs, and the transaction."""

_BITCOIN_ACCOUNT = ETHEREUM_ACCOUNT | {"addressFormat": "ADDRESS_FORMAT_BITCOIN_MAINNET_P2WPKH"}


def calldata(beyond: int) -> Build:
    """As many bytes of calldata as fit."""

    def unsigned(size: int) -> bytes:
        return bytes(
            rlp.encode([b"\x01", b"", b"\x01", b"\x01", b"\x52\x08", b"\x11" * 20, b"", b"\x55" * size, []])
        )

    around = len(unsigned(100_000)) - 100_000
    built = b"\x02" + unsigned(ETHEREUM_BYTES_MAX - around + beyond)
    return lambda _, records: (records.private_key_id, built)


def access_list(beyond: int) -> Build:
    """As many items of RLP as fit: addresses without storage keys."""
    each = len(rlp.encode([b"\x11" * 20, []]))

    def unsigned(count: int) -> bytes:
        accessed = [[b"\x11" * 20, []]] * count
        return bytes(rlp.encode([b"\x01", b"", b"\x01", b"\x01", b"\x52\x08", b"\x11" * 20, b"", b"", accessed]))

    around = len(unsigned(5_000)) - 5_000 * each
    built = b"\x02" + unsigned((ETHEREUM_BYTES_MAX - around) // each + beyond)
    return lambda _, records: (records.private_key_id, built)


def nested_lists() -> Build:
    """Lists in lists, which no transaction has."""
    return lambda _, records: (records.private_key_id, b"\xc1" * ETHEREUM_BYTES_MAX)


def tron_memo(beyond: int) -> Build:
    """A transfer with a memo as long as fits."""
    transfer = contract()
    size = TRON_BYTES_MAX - len(transfer) - 4 + beyond
    length = bytes([size & 0x7F | 0x80, size >> 7 & 0x7F | 0x80, size >> 14])
    built = b"\x52" + length + b"\x55" * size + transfer
    return lambda _, records: (records.private_key_id, built)


def solana_instructions(beyond: int) -> Build:
    """As many instructions as fit: without accounts and data, of three bytes each."""
    around = 1 + 64 + 3 + 1 + 2 * 32 + 32 + 2
    count = (SOLANA_BYTES_MAX - around) // 3 + beyond

    def build(caller: Caller, _: RecordIds) -> tuple[str, bytes]:
        signer = _address(caller, "SOLANA")
        keys = bytes(Pubkey.from_string(signer)) + b"\x07" * 32
        instructions = bytes([count & 0x7F | 0x80, count >> 7]) + b"\x01\x00\x00" * count
        return signer, b"\x01" + bytes(64) + b"\x01\x00\x01\x02" + keys + bytes(32) + instructions

    return build


def bitcoin_inputs(beyond: int) -> Build:
    """As many inputs of the account's own as fit, each to be signed."""
    each = 36 + 1 + 4
    count = (BITCOIN_BYTES_MAX - 100) // each + beyond

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
    """Of a new wallet of the caller's."""
    made = caller.result("create_wallet", {"walletName": unique("wallet"), "accounts": [_ACCOUNTS[chain]]})
    address: str = made["addresses"][0]
    return address
