"""What contract calls and typed data move: the functions and structures of the token standards.

Here: the table of functions, for every network whose contracts use Solidity's ABI; the table of EIP-712 structures.
A selector says which function of a standard is called, not what the contract does: another contract's own tokens
are at stake, or what it was allowed to take before. Not here: native value and fees (`transaction`, `tempo`).

Sources: ERC-20, 223, 677, 721, 777, 1155, 1363, EIP-2612, EIP-3009, TIP-20, Permit2, WETH9, and the code of the
tokens DAI and USDC.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

import msgspec

from keystead.chains.ethereum import rlp
from keystead.chains.ethereum.abi import AbiType, NotDecodable, Tuple, array_of, decode, elementary_type, tuple_of
from keystead.chains.ethereum.interfaces import SELECTOR_BYTES
from keystead.chains.ethereum.typed_data import TypedData
from keystead.chains.movements import NATIVE, NOBODY, UNLIMITED, Movement, MovementKind
from keystead.primitives.keccak import keccak256
from keystead.primitives.unreadable import Unreadable

_DECIDED_BY_CODE: Final = Unreadable("the code of the contract decides")


class _Call(msgspec.Struct, frozen=True):
    """A call of a function, or a structure that a contract takes.

    `token`: the asset that the contract itself is. `sender`: who calls, or who signs. `value`: what the call
    carries of the native coin. `address`: from an address as 0x and hex digits to the text of the network.
    """

    name: str
    contract: str
    token: str | Unreadable
    sender: str | Unreadable
    value: int = 0
    address: Callable[[str], str] = str

    def movement(
        self,
        kind: MovementKind,
        to: str,
        amount: int,
        *,
        of: str | None = None,
        asset: str | None = None,
        item: int | None = None,
    ) -> Movement:
        """A movement out of the account `of`, the sender's if it is None, of the contract's own token unless
        another asset is given. Addresses are as arguments have them."""
        return Movement(
            kind=kind,
            name=self.name,
            contract=self.contract,
            asset=self.token if asset is None else self.address(asset),
            from_=self.sender if of is None else self.address(of) if of else NOBODY,
            to=self.address(to) if to else NOBODY,
            amount=amount,
            item=item,
        )

    def unknown(self) -> Movement:
        return Movement(
            kind=MovementKind.UNKNOWN,
            name=self.name,
            contract=self.contract,
            asset=self.token,
            from_=self.sender,
            to=_DECIDED_BY_CODE,
            amount=_DECIDED_BY_CODE,
        )


_Movements = Callable[..., Sequence[Movement]]
"""From a call and its arguments to what it moves."""


def _transfer(call: _Call, to: str, amount: int, *_: Any) -> Sequence[Movement]:
    return (call.movement(MovementKind.TRANSFER, to, amount),)


def _transfer_from(call: _Call, of: str, to: str, amount: int, *_: Any) -> Sequence[Movement]:
    return (call.movement(MovementKind.TRANSFER, to, amount, of=of),)


def _transfer_of_one(call: _Call, of: str, to: str, item: int, *_: Any) -> Sequence[Movement]:
    return (call.movement(MovementKind.TRANSFER, to, 1, of=of, item=item),)


def _transfer_of_item(call: _Call, of: str, to: str, item: int, amount: int, *_: Any) -> Sequence[Movement]:
    return (call.movement(MovementKind.TRANSFER, to, amount, of=of, item=item),)


def _transfer_of_items(
    call: _Call, of: str, to: str, items: list[int], amounts: list[int], *_: Any
) -> Sequence[Movement]:
    if len(items) != len(amounts):  # contracts refuse it
        raise NotDecodable("an amount for each item")
    return [
        call.movement(MovementKind.TRANSFER, to, amount, of=of, item=item)
        for item, amount in zip(items, amounts, strict=True)
    ]


def _approve(call: _Call, spender: str, amount: int, *_: Any) -> Sequence[Movement]:
    return (call.movement(MovementKind.ALLOWANCE, spender, amount),)


def _approve_all(call: _Call, spender: str, approved: bool) -> Sequence[Movement]:
    return (call.movement(MovementKind.ALLOWANCE, spender, UNLIMITED if approved else 0),)


def _permit(call: _Call, owner: str, spender: str, amount: int, *_: Any) -> Sequence[Movement]:
    return (call.movement(MovementKind.ALLOWANCE, spender, amount, of=owner),)


def _permit_all(
    call: _Call, owner: str, spender: str, _: int, __: int, allowed: bool, *___: Any
) -> Sequence[Movement]:
    return (call.movement(MovementKind.ALLOWANCE, spender, UNLIMITED if allowed else 0, of=owner),)


def _burn(call: _Call, amount: int, *_: Any) -> Sequence[Movement]:
    return (call.movement(MovementKind.BURN, NOBODY, amount),)


def _burn_from(call: _Call, of: str, amount: int, *_: Any) -> Sequence[Movement]:
    return (call.movement(MovementKind.BURN, NOBODY, amount, of=of),)


def _mint(call: _Call, to: str, amount: int) -> Sequence[Movement]:
    return (call.movement(MovementKind.MINT, to, amount, of=NOBODY),)


def _permit2_approve(call: _Call, token: str, spender: str, amount: int, _: int) -> Sequence[Movement]:
    return (call.movement(MovementKind.ALLOWANCE, spender, amount, asset=token),)


def _permit2_permit(call: _Call, owner: str, permit: list[Any], _: str) -> Sequence[Movement]:
    (token, amount, *_details), spender, _deadline = permit
    return (call.movement(MovementKind.ALLOWANCE, spender, amount, of=owner, asset=token),)


def _permit2_permits(call: _Call, owner: str, permit: list[Any], _: str) -> Sequence[Movement]:
    details, spender, _deadline = permit
    return [
        call.movement(MovementKind.ALLOWANCE, spender, amount, of=owner, asset=token)
        for token, amount, *_details in details
    ]


def _permit2_transfer(call: _Call, of: str, to: str, amount: int, token: str) -> Sequence[Movement]:
    return (call.movement(MovementKind.TRANSFER, to, amount, of=of, asset=token),)


def _permit2_transfers(call: _Call, transfers: list[Any]) -> Sequence[Movement]:
    return [movement for transfer in transfers for movement in _permit2_transfer(call, *transfer)]


def _permit2_signed_transfer(
    call: _Call, permit: list[Any], transfer: list[Any], owner: str, *_: Any
) -> Sequence[Movement]:
    (token, _permitted), *_nonce = permit
    to, amount = transfer
    return (call.movement(MovementKind.TRANSFER, to, amount, of=owner, asset=token),)


def _permit2_signed_transfers(
    call: _Call, permit: list[Any], transfers: list[Any], owner: str, *_: Any
) -> Sequence[Movement]:
    permitted, *_nonce = permit
    if len(permitted) != len(transfers):  # contracts refuse it
        raise NotDecodable("a permission for each transfer")
    return [
        call.movement(MovementKind.TRANSFER, to, amount, of=owner, asset=token)
        for (token, _), (to, amount) in zip(permitted, transfers, strict=True)
    ]


def _permit2_lockdown(call: _Call, approvals: list[Any]) -> Sequence[Movement]:
    return [call.movement(MovementKind.ALLOWANCE, spender, 0, asset=token) for token, spender in approvals]


def _wrap(call: _Call) -> Sequence[Movement]:
    minted = call.movement(MovementKind.MINT, NOBODY, call.value, of=NOBODY)
    return (msgspec.structs.replace(minted, to=call.sender),)


_Shape: TypeAlias = "str | tuple[_Shape, ...] | list[_Shape]"
"""A type of the ABI: its name, the members of a tuple, or in a list the type of an array's items."""

_DETAILS: _Shape = ("address", "uint160", "uint48", "uint48")
_PERMITTED: _Shape = ("address", "uint256")
_SIGNATURE: tuple[_Shape, ...] = ("uint8", "bytes32", "bytes32")
_AUTHORIZATION: tuple[_Shape, ...] = ("address", "address", "uint256", "uint256", "uint256", "bytes32")

_FUNCTIONS: Final[Sequence[tuple[str, tuple[_Shape, ...], _Movements]]] = (
    # ERC-20, and what the tokens of OpenZeppelin add
    ("transfer", ("address", "uint256"), _transfer),
    ("transferFrom", ("address", "address", "uint256"), _transfer_from),
    ("approve", ("address", "uint256"), _approve),
    ("increaseAllowance", ("address", "uint256"), _approve),
    ("increaseApproval", ("address", "uint256"), _approve),
    ("burn", ("uint256",), _burn),
    ("burn", ("address", "uint256"), _burn_from),
    ("burnFrom", ("address", "uint256"), _burn_from),
    ("mint", ("address", "uint256"), _mint),
    # Wrapped coins
    ("deposit", (), _wrap),
    ("withdraw", ("uint256",), _burn),
    # ERC-223, ERC-677, ERC-1363
    ("transfer", ("address", "uint256", "bytes"), _transfer),
    ("transferAndCall", ("address", "uint256"), _transfer),
    ("transferAndCall", ("address", "uint256", "bytes"), _transfer),
    ("transferFromAndCall", ("address", "address", "uint256"), _transfer_from),
    ("transferFromAndCall", ("address", "address", "uint256", "bytes"), _transfer_from),
    ("approveAndCall", ("address", "uint256"), _approve),
    ("approveAndCall", ("address", "uint256", "bytes"), _approve),
    # TIP-20, on Tempo
    ("transferWithMemo", ("address", "uint256", "bytes32"), _transfer),
    ("transferFromWithMemo", ("address", "address", "uint256", "bytes32"), _transfer_from),
    # EIP-2612, with the signature in parts or as bytes; DAI
    ("permit", ("address", "address", "uint256", "uint256", *_SIGNATURE), _permit),
    ("permit", ("address", "address", "uint256", "uint256", "bytes"), _permit),
    ("permit", ("address", "address", "uint256", "uint256", "bool", *_SIGNATURE), _permit_all),
    # EIP-3009
    ("transferWithAuthorization", (*_AUTHORIZATION, *_SIGNATURE), _transfer_from),
    ("transferWithAuthorization", (*_AUTHORIZATION, "bytes"), _transfer_from),
    ("receiveWithAuthorization", (*_AUTHORIZATION, *_SIGNATURE), _transfer_from),
    ("receiveWithAuthorization", (*_AUTHORIZATION, "bytes"), _transfer_from),
    # ERC-721, ERC-1155
    ("safeTransferFrom", ("address", "address", "uint256"), _transfer_of_one),
    ("safeTransferFrom", ("address", "address", "uint256", "bytes"), _transfer_of_one),
    ("safeTransferFrom", ("address", "address", "uint256", "uint256", "bytes"), _transfer_of_item),
    ("safeBatchTransferFrom", ("address", "address", ["uint256"], ["uint256"], "bytes"), _transfer_of_items),
    ("setApprovalForAll", ("address", "bool"), _approve_all),
    # ERC-777
    ("send", ("address", "uint256", "bytes"), _transfer),
    ("operatorSend", ("address", "address", "uint256", "bytes", "bytes"), _transfer_from),
    ("burn", ("uint256", "bytes"), _burn),
    ("operatorBurn", ("address", "uint256", "bytes", "bytes"), _burn_from),
    ("authorizeOperator", ("address",), partial(_approve_all, approved=True)),
    ("revokeOperator", ("address",), partial(_approve_all, approved=False)),
    # Permit2
    ("approve", ("address", "address", "uint160", "uint48"), _permit2_approve),
    ("permit", ("address", (_DETAILS, "address", "uint256"), "bytes"), _permit2_permit),
    ("permit", ("address", ([_DETAILS], "address", "uint256"), "bytes"), _permit2_permits),
    ("transferFrom", ("address", "address", "uint160", "address"), _permit2_transfer),
    ("transferFrom", ([("address", "address", "uint160", "address")],), _permit2_transfers),
    (
        "permitTransferFrom",
        ((_PERMITTED, "uint256", "uint256"), _PERMITTED, "address", "bytes"),
        _permit2_signed_transfer,
    ),
    (
        "permitTransferFrom",
        (([_PERMITTED], "uint256", "uint256"), [_PERMITTED], "address", "bytes"),
        _permit2_signed_transfers,
    ),
    (
        "permitWitnessTransferFrom",
        ((_PERMITTED, "uint256", "uint256"), _PERMITTED, "address", "bytes32", "string", "bytes"),
        _permit2_signed_transfer,
    ),
    (
        "permitWitnessTransferFrom",
        (([_PERMITTED], "uint256", "uint256"), [_PERMITTED], "address", "bytes32", "string", "bytes"),
        _permit2_signed_transfers,
    ),
    ("lockdown", ([("address", "address")],), _permit2_lockdown),
)


def _type(shape: _Shape) -> AbiType:
    match shape:
        case str():
            kind = elementary_type(shape)
            assert kind is not None, shape
            return kind
        case [item] if isinstance(shape, list):
            return array_of(_type(item), None)
        case _:
            return tuple_of([_type(member) for member in shape])


def _type_text(shape: _Shape) -> str:
    match shape:
        case str():
            return shape
        case [item] if isinstance(shape, list):
            return f"{_type_text(item)}[]"
        case _:
            return f"({','.join(map(_type_text, shape))})"


class _KnownFunction(msgspec.Struct, frozen=True):
    name: str
    arguments: Tuple
    movements: _Movements


_BY_SELECTOR: Final[Mapping[bytes, _KnownFunction]] = {
    keccak256(f"{name}{_type_text(shapes)}".encode())[:SELECTOR_BYTES]: _KnownFunction(
        name, tuple_of([_type(shape) for shape in shapes]), movements
    )
    for name, shapes, movements in _FUNCTIONS
}


def call_movements(
    to: str, sender: str, value: int, data: bytes, address: Callable[[str], str] = str
) -> Sequence[Movement]:
    """What a call moves: the value that it carries, and what its data says.

    `to`, `sender`: as the network writes them. `value`: of the native coin. `address`: from an address as 0x and
    hex digits to the text of the network.
    """
    moved = _data_movements(to, sender, value, data, address) if data else ()
    return (*_value_movements(to, sender, value), *moved)


def creation_movements(created: str | Unreadable, sender: str, value: int) -> Sequence[Movement]:
    """What the creation of a contract moves. `created`: its address."""
    return (*_value_movements(created, sender, value), _Call("create", "", created, sender).unknown())


def created_address(sender: str, nonce: int) -> str | Unreadable:
    """The address of the contract that a transaction of this sender creates."""
    if not sender.startswith("0x"):
        return Unreadable("the contract that the transaction creates")
    return f"0x{keccak256(rlp.encode([bytes.fromhex(sender[2:]), rlp.integer(nonce)]))[-20:].hex()}"


def _value_movements(to: str | Unreadable, sender: str, value: int) -> Sequence[Movement]:
    if not value:
        return ()
    return (Movement(kind=MovementKind.TRANSFER, name="value", asset=NATIVE, from_=sender, to=to, amount=value),)


def _data_movements(
    to: str, sender: str, value: int, data: bytes, address: Callable[[str], str]
) -> Sequence[Movement]:
    selector = data[:SELECTOR_BYTES]
    if to == sender:
        # An account has code if its key signed an authorization (EIP-7702), and that code acts as the account.
        own_code = Unreadable("the code of the account decides")
        return (_Call(f"0x{selector.hex()}", to, own_code, sender).unknown(),)
    function = _BY_SELECTOR.get(selector)
    if function is None:
        return (_Call(f"0x{selector.hex()}", to, to, sender).unknown(),)
    call = _Call(function.name, to, to, sender, value, address)
    try:
        return function.movements(call, *decode(function.arguments, data[SELECTOR_BYTES:]))
    except NotDecodable:
        return (call.unknown(),)


# EIP-712

_Structure = Callable[[_Call, Mapping[str, Any]], Sequence[Movement]]
"""From a structure and its members to what it moves."""


def _typed_permit(call: _Call, message: Mapping[str, Any]) -> Sequence[Movement]:
    return _permit(call, message["owner"], message["spender"], message["value"])


def _typed_permit_all(call: _Call, message: Mapping[str, Any]) -> Sequence[Movement]:
    return _permit_all(call, message["holder"], message["spender"], 0, 0, message["allowed"])


def _typed_transfer(call: _Call, message: Mapping[str, Any]) -> Sequence[Movement]:
    return _transfer_from(call, message["from"], message["to"], message["value"])


def _typed_permit2(member: str) -> _Structure:
    """What the spender of a message of Permit2 may take. `member`: has a token and an amount, or a list of them."""

    def movements(call: _Call, message: Mapping[str, Any]) -> Sequence[Movement]:
        permitted = message[member]
        return [
            call.movement(MovementKind.ALLOWANCE, message["spender"], each["amount"], asset=each["token"])
            for each in (permitted if isinstance(permitted, list) else [permitted])
        ]

    return movements


_PERMIT2_ALLOWANCE, _PERMIT2_TRANSFER = _typed_permit2("details"), _typed_permit2("permitted")

_DETAILS_TEXT = "PermitDetails(address token,uint160 amount,uint48 expiration,uint48 nonce)"
_AUTHORIZATION_TEXT = "(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
_PERMISSIONS_TEXT = "TokenPermissions(address token,uint256 amount)"
_SPENDING_TEXT = "address spender,uint256 nonce,uint256 deadline"

_STRUCTURES: Final[Mapping[str, _Structure]] = {
    "Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)": _typed_permit,
    "Permit(address holder,address spender,uint256 nonce,uint256 expiry,bool allowed)": _typed_permit_all,
    f"TransferWithAuthorization{_AUTHORIZATION_TEXT}": _typed_transfer,
    f"ReceiveWithAuthorization{_AUTHORIZATION_TEXT}": _typed_transfer,
    f"PermitSingle(PermitDetails details,address spender,uint256 sigDeadline){_DETAILS_TEXT}": _PERMIT2_ALLOWANCE,
    f"PermitBatch(PermitDetails[] details,address spender,uint256 sigDeadline){_DETAILS_TEXT}": _PERMIT2_ALLOWANCE,
    f"PermitTransferFrom(TokenPermissions permitted,{_SPENDING_TEXT}){_PERMISSIONS_TEXT}": _PERMIT2_TRANSFER,
    f"PermitBatchTransferFrom(TokenPermissions[] permitted,{_SPENDING_TEXT}){_PERMISSIONS_TEXT}": _PERMIT2_TRANSFER,
}
"""The structures by their types as they are hashed: a contract accepts no other structure for one of these."""

_WITH_WITNESS: Final = re.compile(
    r"Permit(?:Batch)?WitnessTransferFrom\(TokenPermissions(?:\[\])? permitted,"
    + re.escape(_SPENDING_TEXT)
    + r",[^()]*\).*"
    + re.escape(_PERMISSIONS_TEXT)
    + r".*"
)
"""Messages of Permit2 to which an application adds a member of its own."""


def typed_data_movements(data: TypedData) -> Sequence[Movement]:
    """What whoever has the signature can move."""
    contract = str(data.domain.get("verifyingContract", ""))
    call = _Call(
        data.primary_type,
        contract,
        contract or Unreadable("the domain names no contract: the signature holds for every contract"),
        Unreadable("the account for which the contract takes the signature"),
    )
    known = _STRUCTURES.get(data.type_text)
    if known is None and _WITH_WITNESS.fullmatch(data.type_text):
        known = _PERMIT2_TRANSFER
    return (call.unknown(),) if known is None else known(call, data.message)
