"""Every type of contract that is signed, as one example each: what it moves when the signer signs it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from keystead.chains.addresses.text import base58check as base58check
from tests.chains.ethereum import movers as ethereum
from tests.chains.tron.independent import write as write


def of_ethereum(address: str) -> bytes:
    """The bytes of an account whose Ethereum address this is."""
    return b"\x41" + bytes.fromhex(address[2:])


def tron(address: str) -> str:
    return base58check(of_ethereum(address))


def written(text: str) -> str:
    """An address of Ethereum's tables as Tron writes it; another word as it is."""
    return tron(text) if text.startswith("0x") else text


ME, THIEF, TOKEN = map(of_ethereum, (ethereum.ME, ethereum.THIEF, ethereum.TOKEN))


@dataclass
class Mover:
    """`moves`: what it moves, each as kind, asset, from, to and amount."""

    unsigned: bytes
    moves: list[tuple[str, str, str, str, Any]]


NUMBERS: Final = {
    "TransferContract": 1,
    "TriggerSmartContract": 31,
    "AccountPermissionUpdateContract": 46,
    "FreezeBalanceV2Contract": 54,
    "UnfreezeBalanceV2Contract": 55,
    "DelegateResourceContract": 57,
    "UnDelegateResourceContract": 58,
}


def varint(number: int) -> bytes:
    written = bytearray()
    while number > 0x7F:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*written, number])


def sized(field: int, data: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(data)) + data


def raw(name: str, *messages: tuple[int, bytes], fee_limit: int = 0, **fields: Any) -> bytes:
    """`raw_data` with this contract. `messages`: its fields that are messages, by number."""
    value = write(name, owner_address=ME, **fields) + b"".join(sized(*message) for message in messages)
    parameter = write("Parameter", type_url=f"type.googleapis.com/protocol.{name}", value=value)
    written = write("Contract", type=NUMBERS[name]) + sized(2, parameter)
    return sized(11, written) + write("raw", fee_limit=fee_limit)


def call(data: bytes, value: int = 0, fee_limit: int = 0) -> bytes:
    return raw("TriggerSmartContract", contract_address=TOKEN, call_value=value, data=data, fee_limit=fee_limit)


def permission(kind: int, *keys: bytes) -> bytes:
    numbered = write("Permission", type=kind, threshold=1)
    return numbered + b"".join(sized(7, write("Key", address=key, weight=1)) for key in keys)


def own(kind: str, to: bytes = ME) -> list[tuple[str, str, str, str, Any]]:
    return [(kind, "NATIVE", base58check(ME), base58check(to), 5)]


MOVERS: Final = {
    "TransferContract": Mover(raw("TransferContract", to_address=THIEF, amount=5), own("TRANSFER", THIEF)),
    "FreezeBalanceV2Contract": Mover(raw("FreezeBalanceV2Contract", frozen_balance=5), own("STAKE")),
    "UnfreezeBalanceV2Contract": Mover(raw("UnfreezeBalanceV2Contract", unfreeze_balance=5), own("STAKE")),
    "DelegateResourceContract": Mover(
        raw("DelegateResourceContract", balance=5, receiver_address=THIEF), own("STAKE", THIEF)
    ),
    "UnDelegateResourceContract": Mover(
        raw("UnDelegateResourceContract", balance=5, receiver_address=THIEF), own("STAKE")
    ),
    "AccountPermissionUpdateContract": Mover(
        raw(
            "AccountPermissionUpdateContract",
            (2, permission(0, THIEF, ME)),
            (4, permission(2, THIEF)),
        ),
        [
            ("AUTHORITY", ethereum.ANY, base58check(ME), base58check(key), ethereum.UNLIMITED)
            for key in (THIEF, ME)
        ],
    ),
    "TriggerSmartContract with a token of TRC-10": Mover(
        raw(
            "TriggerSmartContract",
            contract_address=THIEF,
            call_token_value=5,
            token_id=1_000_001,
        ),
        [("TRANSFER", "1000001", base58check(ME), base58check(THIEF), 5)],
    ),
    **{
        f"TriggerSmartContract, {mover.signature}": Mover(
            call(mover.data, mover.value),
            [
                (kind, written(asset), written(from_), written(to), amount)
                for kind, asset, from_, to, amount in mover.moves
            ],
        )
        for mover in ethereum.FUNCTIONS
    },
    **{
        f"TriggerSmartContract, {name}": Mover(
            call(data), [("UNKNOWN", base58check(TOKEN), base58check(ME), ethereum.ANY, ethereum.ANY)]
        )
        for name, data in ethereum.OTHER_DATA.items()
    },
}  # fmt: skip
