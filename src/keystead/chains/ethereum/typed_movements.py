"""What typed data (EIP-712) moves: the table of the structures that permit somebody to take tokens.

Not here: the functions that take such signatures (`movements`).

Sources: EIP-2612, EIP-3009, Permit2, and the code of DAI.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from keystead.chains.ethereum.movements import Action
from keystead.chains.ethereum.typed_data import TypedData
from keystead.chains.movements import UNLIMITED, Movement, MovementKind
from keystead.primitives.unreadable import Unreadable

_StructureMovements = Callable[[Action, Mapping[str, Any]], Sequence[Movement]]
"""From a signature for a contract and the members of the structure to what it moves."""


def _transfer(action: Action, message: Mapping[str, Any]) -> Sequence[Movement]:
    return (action.movement(MovementKind.TRANSFER, message["to"], message["value"], of=message["from"]),)


def _permit(action: Action, message: Mapping[str, Any]) -> Sequence[Movement]:
    amount = message["value"]
    return (action.movement(MovementKind.ALLOWANCE, message["spender"], amount, of=message["owner"]),)


def _permit_all(action: Action, message: Mapping[str, Any]) -> Sequence[Movement]:
    amount = UNLIMITED if message["allowed"] else 0
    return (action.movement(MovementKind.ALLOWANCE, message["spender"], amount, of=message["holder"]),)


def _permit2(member: str) -> _StructureMovements:
    """What the spender of a message of Permit2 may take. `member`: has a token and an amount, or a list of them."""

    def movements(action: Action, message: Mapping[str, Any]) -> Sequence[Movement]:
        permitted = message[member]
        return [
            action.movement(MovementKind.ALLOWANCE, message["spender"], each["amount"], asset=each["token"])
            for each in (permitted if isinstance(permitted, list) else [permitted])
        ]

    return movements


_AUTHORIZATION = "(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
_DETAILS = "PermitDetails(address token,uint160 amount,uint48 expiration,uint48 nonce)"
_PERMISSIONS = "TokenPermissions(address token,uint256 amount)"
_SPENDING = "address spender,uint256 nonce,uint256 deadline"
_ALLOWANCE_OF_PERMIT2, _TRANSFER_OF_PERMIT2 = _permit2("details"), _permit2("permitted")

_STRUCTURES: Final[Mapping[str, _StructureMovements]] = {
    "Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)": _permit,
    "Permit(address holder,address spender,uint256 nonce,uint256 expiry,bool allowed)": _permit_all,
    f"TransferWithAuthorization{_AUTHORIZATION}": _transfer,
    f"ReceiveWithAuthorization{_AUTHORIZATION}": _transfer,
    f"PermitSingle(PermitDetails details,address spender,uint256 sigDeadline){_DETAILS}": _ALLOWANCE_OF_PERMIT2,
    f"PermitBatch(PermitDetails[] details,address spender,uint256 sigDeadline){_DETAILS}": _ALLOWANCE_OF_PERMIT2,
    f"PermitTransferFrom(TokenPermissions permitted,{_SPENDING}){_PERMISSIONS}": _TRANSFER_OF_PERMIT2,
    f"PermitBatchTransferFrom(TokenPermissions[] permitted,{_SPENDING}){_PERMISSIONS}": _TRANSFER_OF_PERMIT2,
}
"""The structures by their types as they are hashed: a contract accepts no other structure for one of these."""

_WITH_WITNESS: Final = re.compile(
    r"Permit(?:Batch)?WitnessTransferFrom\(TokenPermissions(?:\[\])? permitted,"
    + re.escape(_SPENDING)
    + r",[^()]*\)(?:.*\))?"
    + re.escape(_PERMISSIONS)
    + r".*"
)
"""Messages of Permit2 to which an application adds a member of its own."""


_EVERY_CONTRACT: Final = Unreadable("the domain names no contract: the signature holds for every contract")


def typed_data_movements(data: TypedData) -> Sequence[Movement]:
    """What anybody who has the signature can move."""
    token = data.domain.get("verifyingContract", _EVERY_CONTRACT)
    contract = "" if isinstance(token, Unreadable) else str(token)
    signer = Unreadable("the account for which the contract takes the signature")
    known = _STRUCTURES.get(data.type_text)
    if known is None and _WITH_WITNESS.fullmatch(data.type_text):
        known = _TRANSFER_OF_PERMIT2
    if known is None:
        taken = Unreadable("whatever a contract does for this signature")
        return (Action(data.primary_type, contract, taken, signer).unknown(),)
    return known(Action(data.primary_type, contract, token, signer), data.message)
