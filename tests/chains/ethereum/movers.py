"""Every function and structure of the table of movements, as one example each, encoded by an independent library:
what it moves when the signer calls or signs it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from eth_abi.abi import encode
from eth_hash.auto import keccak

ME: Final = "0x9858effd232b4033e47d90003d41ec34ecaeda94"
OWNER, THIEF, TOKEN, OTHER_TOKEN = (f"0x{digit * 40}" for digit in ("1", "e", "a", "b"))
"""Whose tokens may be moved; who should get nothing; the contract that is called; a token that it moves."""

UNLIMITED: Final = 2**256 - 1
ANY: Final = "unknown"
NOBODY: Final = ""


@dataclass
class Mover:
    """A call of TOKEN. `moves`: what it moves, each as kind, asset, from, to and amount."""

    signature: str
    arguments: list[Any]
    moves: list[tuple[str, str, str, str, Any]]
    value: int = 0

    @property
    def data(self) -> bytes:
        types = split(self.signature[self.signature.index("(") + 1 : -1])
        return bytes(keccak(self.signature.encode()))[:4] + encode(types, self.arguments)


def of(signature: str, *arguments: Any, moves: list[tuple[str, str, str, str, Any]], value: int = 0) -> Mover:
    return Mover(signature, list(arguments), moves, value)


def split(types: str) -> list[str]:
    """The types between the outermost commas."""
    parts, depth = [""], 0
    for letter in types:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part for part in parts if part]


def transfer(from_: str, amount: Any = 5, asset: str = TOKEN) -> list[tuple[str, str, str, str, Any]]:
    return [("TRANSFER", asset, from_, THIEF, amount)]


def allowance(from_: str, amount: Any = 5, asset: str = TOKEN) -> list[tuple[str, str, str, str, Any]]:
    return [("ALLOWANCE", asset, from_, THIEF, amount)]


def burn(from_: str) -> list[tuple[str, str, str, str, Any]]:
    return [("BURN", TOKEN, from_, NOBODY, 5)]


HASH = b"\x01" * 32
PARTS = (27, HASH, HASH)
BYTES = b"\x05" * 65
TIMES = (0, 2**40, HASH)
DETAILS = (OTHER_TOKEN, 5, 2**40, 0)
PERMITTED = (OTHER_TOKEN, 9)
TRANSFERS = "((address,uint256),uint256,uint256)"
BATCH_TRANSFERS = "((address,uint256)[],uint256,uint256)"

FUNCTIONS: Final = [
    of("transfer(address,uint256)", THIEF, 5, moves=transfer(ME)),
    of("transferFrom(address,address,uint256)", OWNER, THIEF, 5, moves=transfer(OWNER)),
    of("approve(address,uint256)", THIEF, 5, moves=allowance(ME)),
    of("increaseAllowance(address,uint256)", THIEF, 5, moves=allowance(ME)),
    of("increaseApproval(address,uint256)", THIEF, 5, moves=allowance(ME)),
    of("burn(uint256)", 5, moves=burn(ME)),
    of("burn(address,uint256)", OWNER, 5, moves=burn(OWNER)),
    of("burnFrom(address,uint256)", OWNER, 5, moves=burn(OWNER)),
    of("mint(address,uint256)", THIEF, 5, moves=[("MINT", TOKEN, NOBODY, THIEF, 5)]),
    of(
        "deposit()",
        moves=[("TRANSFER", "NATIVE", ME, TOKEN, 7), ("MINT", TOKEN, NOBODY, ME, 7)],
        value=7,
    ),
    of("withdraw(uint256)", 5, moves=burn(ME)),
    of("transfer(address,uint256,bytes)", THIEF, 5, b"x", moves=transfer(ME)),
    of("transferAndCall(address,uint256)", THIEF, 5, moves=transfer(ME)),
    of("transferAndCall(address,uint256,bytes)", THIEF, 5, b"x", moves=transfer(ME)),
    of("transferFromAndCall(address,address,uint256)", OWNER, THIEF, 5, moves=transfer(OWNER)),
    of("transferFromAndCall(address,address,uint256,bytes)", OWNER, THIEF, 5, b"x", moves=transfer(OWNER)),
    of("approveAndCall(address,uint256)", THIEF, 5, moves=allowance(ME)),
    of("approveAndCall(address,uint256,bytes)", THIEF, 5, b"x", moves=allowance(ME)),
    of("transferWithMemo(address,uint256,bytes32)", THIEF, 5, HASH, moves=transfer(ME)),
    of("transferFromWithMemo(address,address,uint256,bytes32)", OWNER, THIEF, 5, HASH, moves=transfer(OWNER)),
    of(
        "permit(address,address,uint256,uint256,uint8,bytes32,bytes32)",
        *(OWNER, THIEF, UNLIMITED, 2**40, *PARTS),
        moves=allowance(OWNER, UNLIMITED),
    ),
    of("permit(address,address,uint256,uint256,bytes)", OWNER, THIEF, 5, 2**40, BYTES, moves=allowance(OWNER)),
    of(
        "permit(address,address,uint256,uint256,bool,uint8,bytes32,bytes32)",
        *(OWNER, THIEF, 0, 2**40, True, *PARTS),
        moves=allowance(OWNER, UNLIMITED),
    ),
    *(
        of(
            f"{name}(address,address,uint256,uint256,uint256,bytes32,{signature})",
            *(OWNER, THIEF, 5, *TIMES, *parts),
            moves=transfer(OWNER),
        )
        for name in ("transferWithAuthorization", "receiveWithAuthorization")
        for signature, parts in (("uint8,bytes32,bytes32", PARTS), ("bytes", (BYTES,)))
    ),
    of("safeTransferFrom(address,address,uint256)", OWNER, THIEF, 77, moves=transfer(OWNER, 1)),
    of("safeTransferFrom(address,address,uint256,bytes)", OWNER, THIEF, 77, b"x", moves=transfer(OWNER, 1)),
    of("safeTransferFrom(address,address,uint256,uint256,bytes)", OWNER, THIEF, 77, 5, b"x", moves=transfer(OWNER)),
    of(
        "safeBatchTransferFrom(address,address,uint256[],uint256[],bytes)",
        *(OWNER, THIEF, [77, 78], [5, 6], b"x"),
        moves=transfer(OWNER) + transfer(OWNER, 6),
    ),
    of("setApprovalForAll(address,bool)", THIEF, True, moves=allowance(ME, UNLIMITED)),
    of("send(address,uint256,bytes)", THIEF, 5, b"x", moves=transfer(ME)),
    of("operatorSend(address,address,uint256,bytes,bytes)", OWNER, THIEF, 5, b"x", b"y", moves=transfer(OWNER)),
    of("burn(uint256,bytes)", 5, b"x", moves=burn(ME)),
    of("operatorBurn(address,uint256,bytes,bytes)", OWNER, 5, b"x", b"y", moves=burn(OWNER)),
    of("authorizeOperator(address)", THIEF, moves=allowance(ME, UNLIMITED)),
    of("revokeOperator(address)", THIEF, moves=allowance(ME, 0)),
    of(
        "approve(address,address,uint160,uint48)",
        *(OTHER_TOKEN, THIEF, 5, 2**40),
        moves=allowance(ME, asset=OTHER_TOKEN),
    ),
    of(
        "permit(address,((address,uint160,uint48,uint48),address,uint256),bytes)",
        *(OWNER, (DETAILS, THIEF, 2**40), BYTES),
        moves=allowance(OWNER, asset=OTHER_TOKEN),
    ),
    of(
        "permit(address,((address,uint160,uint48,uint48)[],address,uint256),bytes)",
        *(OWNER, ([DETAILS, (TOKEN, 6, 2**40, 1)], THIEF, 2**40), BYTES),
        moves=allowance(OWNER, asset=OTHER_TOKEN) + allowance(OWNER, 6),
    ),
    of(
        "transferFrom(address,address,uint160,address)",
        *(OWNER, THIEF, 5, OTHER_TOKEN),
        moves=transfer(OWNER, asset=OTHER_TOKEN),
    ),
    of(
        "transferFrom((address,address,uint160,address)[])",
        [(OWNER, THIEF, 5, OTHER_TOKEN), (ME, THIEF, 6, TOKEN)],
        moves=transfer(OWNER, asset=OTHER_TOKEN) + transfer(ME, 6),
    ),
    *(
        of(
            f"{name}({TRANSFERS},(address,uint256),address,{further}bytes)",
            *((PERMITTED, 0, 2**40), (THIEF, 5), OWNER, *extra, BYTES),
            moves=transfer(OWNER, asset=OTHER_TOKEN),
        )
        for name, further, extra in (
            ("permitTransferFrom", "", ()),
            ("permitWitnessTransferFrom", "bytes32,string,", (HASH, "Witness witness)")),
        )
    ),
    *(
        of(
            f"{name}({BATCH_TRANSFERS},(address,uint256)[],address,{further}bytes)",
            *(([PERMITTED, (TOKEN, 9)], 0, 2**40), [(THIEF, 5), (THIEF, 6)], OWNER, *extra, BYTES),
            moves=transfer(OWNER, asset=OTHER_TOKEN) + transfer(OWNER, 6),
        )
        for name, further, extra in (
            ("permitTransferFrom", "", ()),
            ("permitWitnessTransferFrom", "bytes32,string,", (HASH, "Witness witness)")),
        )
    ),
    of("lockdown((address,address)[])", [(OTHER_TOKEN, THIEF)], moves=allowance(ME, 0, OTHER_TOKEN)),
]

UNKNOWN: Final = [("UNKNOWN", TOKEN, ME, ANY, ANY)]
OTHER_DATA: Final = {
    "a function of no standard": bytes.fromhex("deadbeef") + bytes(64),
    "fewer bytes than a selector": b"\x01",
    "arguments that are cut short": bytes.fromhex("a9059cbb") + bytes(31),
    "an address with bits in front of it": bytes.fromhex("a9059cbb") + b"\x01" + bytes(63),
}


@dataclass
class Structure:
    """Typed data for TOKEN."""

    primary_type: str
    types: dict[str, str]
    message: dict[str, Any]
    moves: list[tuple[str, str, str, str, Any]]

    def text(self, domain: dict[str, Any] | None = None) -> str:
        return json.dumps(
            {
                "types": {
                    name: [
                        dict(zip(("type", "name"), member.split(), strict=True)) for member in members.split(",")
                    ]
                    for name, members in self.types.items()
                },
                "primaryType": self.primary_type,
                "domain": {"chainId": 1, "verifyingContract": TOKEN} if domain is None else domain,
                "message": self.message,
            }
        )


AUTHORIZATION = "address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce"
AUTHORIZED = {
    "from": ME,
    "to": THIEF,
    "value": 5,
    "validAfter": 0,
    "validBefore": 2**40,
    "nonce": "0x" + HASH.hex(),
}
PERMIT_DETAILS = {"PermitDetails": "address token,uint160 amount,uint48 expiration,uint48 nonce"}
DETAIL = {"token": OTHER_TOKEN, "amount": 5, "expiration": 2**40, "nonce": 0}
TOKEN_PERMISSIONS = {"TokenPermissions": "address token,uint256 amount"}
PERMISSION = {"token": OTHER_TOKEN, "amount": 5}
SPENDING = "address spender,uint256 nonce,uint256 deadline"
SPENT = {"spender": THIEF, "nonce": 0, "deadline": 2**40}
WITNESS = {"Order": "address who,uint256 what"}
ORDER = {"who": THIEF, "what": 1}

STRUCTURES: Final = {
    "EIP-2612": Structure(
        "Permit",
        {"Permit": "address owner,address spender,uint256 value,uint256 nonce,uint256 deadline"},
        {"owner": ME, "spender": THIEF, "value": UNLIMITED, "nonce": 0, "deadline": 2**40},
        allowance(ME, UNLIMITED),
    ),
    "DAI": Structure(
        "Permit",
        {"Permit": "address holder,address spender,uint256 nonce,uint256 expiry,bool allowed"},
        {"holder": ME, "spender": THIEF, "nonce": 0, "expiry": 0, "allowed": True},
        allowance(ME, UNLIMITED),
    ),
    "DAI, ended": Structure(
        "Permit",
        {"Permit": "address holder,address spender,uint256 nonce,uint256 expiry,bool allowed"},
        {"holder": ME, "spender": THIEF, "nonce": 0, "expiry": 0, "allowed": False},
        allowance(ME, 0),
    ),
    **{
        f"EIP-3009, {name}": Structure(name, {name: AUTHORIZATION}, AUTHORIZED, transfer(ME))
        for name in ("TransferWithAuthorization", "ReceiveWithAuthorization")
    },
    "Permit2, one allowance": Structure(
        "PermitSingle",
        {"PermitSingle": "PermitDetails details,address spender,uint256 sigDeadline", **PERMIT_DETAILS},
        {"details": DETAIL, "spender": THIEF, "sigDeadline": 2**40},
        allowance(ANY, asset=OTHER_TOKEN),
    ),
    "Permit2, several allowances": Structure(
        "PermitBatch",
        {"PermitBatch": "PermitDetails[] details,address spender,uint256 sigDeadline", **PERMIT_DETAILS},
        {"details": [DETAIL, {**DETAIL, "token": TOKEN}], "spender": THIEF, "sigDeadline": 2**40},
        allowance(ANY, asset=OTHER_TOKEN) + allowance(ANY),
    ),
    "Permit2, one transfer": Structure(
        "PermitTransferFrom",
        {"PermitTransferFrom": f"TokenPermissions permitted,{SPENDING}", **TOKEN_PERMISSIONS},
        {"permitted": PERMISSION, **SPENT},
        allowance(ANY, asset=OTHER_TOKEN),
    ),
    "Permit2, several transfers": Structure(
        "PermitBatchTransferFrom",
        {"PermitBatchTransferFrom": f"TokenPermissions[] permitted,{SPENDING}", **TOKEN_PERMISSIONS},
        {"permitted": [PERMISSION, {"token": TOKEN, "amount": 6}], **SPENT},
        allowance(ANY, asset=OTHER_TOKEN) + allowance(ANY, 6),
    ),
    "Permit2, one transfer with a witness": Structure(
        "PermitWitnessTransferFrom",
        {
            "PermitWitnessTransferFrom": f"TokenPermissions permitted,{SPENDING},Order order",
            **TOKEN_PERMISSIONS,
            **WITNESS,
        },
        {"permitted": PERMISSION, **SPENT, "order": ORDER},
        allowance(ANY, asset=OTHER_TOKEN),
    ),
    "Permit2, several transfers with a witness": Structure(
        "PermitBatchWitnessTransferFrom",
        {
            "PermitBatchWitnessTransferFrom": f"TokenPermissions[] permitted,{SPENDING},Order order",
            **TOKEN_PERMISSIONS,
            **WITNESS,
        },
        {"permitted": [PERMISSION], **SPENT, "order": ORDER},
        allowance(ANY, asset=OTHER_TOKEN),
    ),
    "a structure of nobody's table": Structure("Order", WITNESS, ORDER, [("UNKNOWN", ANY, ANY, ANY, ANY)]),
    "a permit with another type": Structure(
        "Permit",
        {"Permit": "address owner,address spender,uint128 value,uint256 nonce,uint256 deadline"},
        {"owner": ME, "spender": THIEF, "value": 5, "nonce": 0, "deadline": 2**40},
        [("UNKNOWN", ANY, ANY, ANY, ANY)],
    ),
}


def shown(movement: Any) -> tuple[str, str, str, str, Any]:
    """A movement, or what policies see of it, as the tables above write it."""
    seen = movement if isinstance(movement, dict) else None
    values = (
        [seen[name] for name in ("asset", "from", "to", "amount")]
        if seen is not None
        else [movement.asset, movement.from_, movement.to, movement.amount]
    )
    kind = seen["kind"] if seen is not None else movement.kind.value
    asset, from_, to, amount = (value if isinstance(value, str | int) else ANY for value in values)
    return kind, str(asset), str(from_), str(to), amount
