"""What contract calls move: the table of the functions of the token standards.

For every network whose contracts use Solidity's ABI. A selector says which function of a standard is called, not
what the contract does: its own tokens are at stake, and what it was allowed to take before. Not here: typed data
(`typed_movements`), fees (`transaction`, `tempo`).

Sources: ERC-20, 223, 677, 721, 777, 1155, 1363, EIP-2612, EIP-3009, TIP-20, Permit2, WETH9, and the code of the
tokens DAI and USDC.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

import msgspec

from keystead.chains.ethereum import rlp
from keystead.chains.ethereum.abi import AbiType, NotDecodable, Tuple, array_of, decode, elementary_type, tuple_of
from keystead.chains.ethereum.interfaces import SELECTOR_BYTES
from keystead.chains.movements import NATIVE, NOBODY, UNLIMITED, Movement, MovementKind
from keystead.primitives.keccak import keccak256
from keystead.primitives.unreadable import Unreadable

_DECIDED_BY_CODE: Final = Unreadable("the code of the contract decides")


class Action(msgspec.Struct, frozen=True):
    """A call of a function, or a structure that a contract takes.

    `own_asset`: the asset that the contract itself is. `sender`: who calls, or who signs. `value`: what the call
    carries of the native coin. `address`: from an address as 0x and hex digits to the text of the network.
    """

    name: str
    contract: str
    own_asset: str | Unreadable
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
            asset=self.own_asset if asset is None else self.address(asset),
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
            asset=self.own_asset,
            from_=self.sender,
            to=_DECIDED_BY_CODE,
            amount=_DECIDED_BY_CODE,
        )


_FunctionMovements = Callable[..., Sequence[Movement]]
"""From an action and the arguments of the function to what it moves."""


def _transfer(action: Action, to: str, amount: int, *_: Any) -> Sequence[Movement]:
    return (action.movement(MovementKind.TRANSFER, to, amount),)


def _transfer_from(action: Action, of: str, to: str, amount: int, *_: Any) -> Sequence[Movement]:
    return (action.movement(MovementKind.TRANSFER, to, amount, of=of),)


def _transfer_of_one(action: Action, of: str, to: str, item: int, *_: Any) -> Sequence[Movement]:
    return (action.movement(MovementKind.TRANSFER, to, 1, of=of, item=item),)


def _transfer_of_item(action: Action, of: str, to: str, item: int, amount: int, *_: Any) -> Sequence[Movement]:
    return (action.movement(MovementKind.TRANSFER, to, amount, of=of, item=item),)


def _transfer_of_items(
    action: Action, of: str, to: str, items: list[int], amounts: list[int], *_: Any
) -> Sequence[Movement]:
    if len(items) != len(amounts):  # contracts refuse it
        raise NotDecodable("an amount for each item")
    return [
        action.movement(MovementKind.TRANSFER, to, amount, of=of, item=item)
        for item, amount in zip(items, amounts, strict=True)
    ]


def _approve(action: Action, spender: str, amount: int, *_: Any) -> Sequence[Movement]:
    return (action.movement(MovementKind.ALLOWANCE, spender, amount),)


def _approve_all(action: Action, spender: str, approved: bool) -> Sequence[Movement]:
    return (action.movement(MovementKind.ALLOWANCE, spender, UNLIMITED if approved else 0),)


def _permit(action: Action, owner: str, spender: str, amount: int, *_: Any) -> Sequence[Movement]:
    return (action.movement(MovementKind.ALLOWANCE, spender, amount, of=owner),)


def _permit_all(
    action: Action, owner: str, spender: str, _: int, __: int, allowed: bool, *___: Any
) -> Sequence[Movement]:
    return (action.movement(MovementKind.ALLOWANCE, spender, UNLIMITED if allowed else 0, of=owner),)


def _burn(action: Action, amount: int, *_: Any) -> Sequence[Movement]:
    return (action.movement(MovementKind.BURN, NOBODY, amount),)


def _burn_from(action: Action, of: str, amount: int, *_: Any) -> Sequence[Movement]:
    return (action.movement(MovementKind.BURN, NOBODY, amount, of=of),)


def _mint(action: Action, to: str, amount: int) -> Sequence[Movement]:
    return (action.movement(MovementKind.MINT, to, amount, of=NOBODY),)


def _permit2_approve(action: Action, token: str, spender: str, amount: int, _: int) -> Sequence[Movement]:
    return (action.movement(MovementKind.ALLOWANCE, spender, amount, asset=token),)


def _permit2_permit(action: Action, owner: str, permit: list[Any], _: str) -> Sequence[Movement]:
    (token, amount, *_details), spender, _deadline = permit
    return (action.movement(MovementKind.ALLOWANCE, spender, amount, of=owner, asset=token),)


def _permit2_permits(action: Action, owner: str, permit: list[Any], _: str) -> Sequence[Movement]:
    details, spender, _deadline = permit
    return [
        action.movement(MovementKind.ALLOWANCE, spender, amount, of=owner, asset=token)
        for token, amount, *_details in details
    ]


def _permit2_transfer(action: Action, of: str, to: str, amount: int, token: str) -> Sequence[Movement]:
    return (action.movement(MovementKind.TRANSFER, to, amount, of=of, asset=token),)


def _permit2_transfers(action: Action, transfers: list[Any]) -> Sequence[Movement]:
    return [movement for transfer in transfers for movement in _permit2_transfer(action, *transfer)]


def _permit2_signed_transfer(
    action: Action, permit: list[Any], transfer: list[Any], owner: str, *_: Any
) -> Sequence[Movement]:
    (token, _permitted), *_nonce = permit
    to, amount = transfer
    return (action.movement(MovementKind.TRANSFER, to, amount, of=owner, asset=token),)


def _permit2_signed_transfers(
    action: Action, permit: list[Any], transfers: list[Any], owner: str, *_: Any
) -> Sequence[Movement]:
    permitted, *_nonce = permit
    if len(permitted) != len(transfers):  # contracts refuse it
        raise NotDecodable("a permission for each transfer")
    return [
        action.movement(MovementKind.TRANSFER, to, amount, of=owner, asset=token)
        for (token, _), (to, amount) in zip(permitted, transfers, strict=True)
    ]


def _permit2_lockdown(action: Action, approvals: list[Any]) -> Sequence[Movement]:
    return [action.movement(MovementKind.ALLOWANCE, spender, 0, asset=token) for token, spender in approvals]


def _wrap(action: Action) -> Sequence[Movement]:
    minted = action.movement(MovementKind.MINT, NOBODY, action.value, of=NOBODY)
    return (msgspec.structs.replace(minted, to=action.sender),)


_TypeShape: TypeAlias = "str | tuple[_TypeShape, ...] | list[_TypeShape]"
"""A type of the ABI: its name, the members of a tuple, or in a list the type of an array's items."""

_DETAILS: _TypeShape = ("address", "uint160", "uint48", "uint48")
_PERMITTED: _TypeShape = ("address", "uint256")
_SIGNATURE: tuple[_TypeShape, ...] = ("uint8", "bytes32", "bytes32")
_AUTHORIZATION: tuple[_TypeShape, ...] = ("address", "address", "uint256", "uint256", "uint256", "bytes32")

_FUNCTIONS: Final[Sequence[tuple[str, tuple[_TypeShape, ...], _FunctionMovements]]] = (
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


def _type(shape: _TypeShape) -> AbiType:
    if isinstance(shape, str):
        kind = elementary_type(shape)
        assert kind is not None, shape
        return kind
    if isinstance(shape, list):
        return array_of(_type(shape[0]), None)
    return tuple_of([_type(member) for member in shape])


def _type_text(shape: _TypeShape) -> str:
    if isinstance(shape, str):
        return shape
    if isinstance(shape, list):
        return f"{_type_text(shape[0])}[]"
    return f"({','.join(map(_type_text, shape))})"


class _KnownFunction(msgspec.Struct, frozen=True):
    name: str
    arguments: Tuple
    movements: _FunctionMovements


_BY_SELECTOR: Final[Mapping[bytes, _KnownFunction]] = {
    keccak256(f"{name}{_type_text(shapes)}".encode())[:SELECTOR_BYTES]: _KnownFunction(
        name, tuple_of([_type(shape) for shape in shapes]), movements
    )
    for name, shapes, movements in _FUNCTIONS
}


_FIRST_ADDRESSES: Final = "0x" + "0" * 32
_OF_THE_NETWORK: Final = Unreadable("a contract of the network itself may move the native coin as well")
"""The asset of the contracts that networks put at their first addresses."""


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
    return (*_value_movements(created, sender, value), Action("create", "", created, sender).unknown())


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
        return (Action(f"0x{selector.hex()}", to, own_code, sender).unknown(),)
    function, token = _BY_SELECTOR.get(selector), _OF_THE_NETWORK if to.startswith(_FIRST_ADDRESSES) else to
    if function is None:
        return (Action(f"0x{selector.hex()}", to, token, sender).unknown(),)
    action = Action(function.name, to, token, sender, value, address)
    try:
        return function.movements(action, *decode(function.arguments, data[SELECTOR_BYTES:]))
    except NotDecodable:
        return (action.unknown(),)
