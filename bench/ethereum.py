"""A token: its ABI, and unsigned EIP-1559 transactions that transfer it, each with its own nonce.

Here: bytes. Not here: the keys that sign them (`organizations`), the requests (`cases`).
"""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Mapping

import msgspec

CHAIN_ID = 1
TOKEN = "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48"
VALUE_MAX = 10**12
"""Transfers are of less than this."""

ABI_BYTES = 5_000


def _abi(size: int) -> str:
    """An ABI of about this many bytes: `transfer`, and functions like those of other tokens."""
    sender, recipient = ({"name": name, "type": "address", "internalType": "address"} for name in ("_from", "_to"))
    value = {"name": "_value", "type": "uint256", "internalType": "uint256"}
    functions = [_function("transfer", recipient, value)]
    while len(text := msgspec.json.encode(functions)) < size:
        functions.append(_function(f"transferFrom{len(functions)}", sender, recipient, value))
    return text.decode()


def _function(name: str, *inputs: Mapping[str, str]) -> Mapping[str, object]:
    return {
        "type": "function",
        "name": name,
        "stateMutability": "nonpayable",
        "inputs": inputs,
        "outputs": [{"name": "", "type": "bool", "internalType": "bool"}],
    }


ABI = _abi(ABI_BYTES)

_TRANSFER = bytes.fromhex("a9059cbb")
_FEE_MARKET = b"\x02"
_GWEI = 10**9
_TEXT, _LIST, _LONG = 0x80, 0xC0, 56
_nonces = itertools.count()


def token_transfer() -> bytes:
    """An unsigned transaction that transfers a random amount of the token to a random address."""
    call = _TRANSFER + secrets.token_bytes(20).rjust(32, b"\0") + secrets.randbelow(VALUE_MAX).to_bytes(32)
    fields = (
        *map(_integer, (CHAIN_ID, next(_nonces), 2 * _GWEI, 40 * _GWEI, 60_000)),
        bytes.fromhex(TOKEN.removeprefix("0x")),
        _integer(0),
        call,
    )
    access_list = _framed(b"", _LIST)
    return _FEE_MARKET + _framed(b"".join(map(_text, fields)) + access_list, _LIST)


# RLP


def _integer(value: int) -> bytes:
    return value.to_bytes((value.bit_length() + 7) // 8)


def _text(data: bytes) -> bytes:
    return data if len(data) == 1 and data[0] < _TEXT else _framed(data, _TEXT)


def _framed(data: bytes, offset: int) -> bytes:
    if len(data) < _LONG:
        return bytes([offset + len(data)]) + data
    size = _integer(len(data))
    return bytes([offset + _LONG - 1 + len(size)]) + size + data
