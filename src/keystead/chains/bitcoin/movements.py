"""What a Bitcoin transaction moves: its outputs without the change, and its fee."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from keystead.chains.addresses.bitcoin import AddressPrefixes
from keystead.chains.bitcoin.encoding import Output
from keystead.chains.bitcoin.psbt import Psbt
from keystead.chains.bitcoin.scripts import address_of
from keystead.chains.movements import NATIVE, NOBODY, Movement, MovementKind
from keystead.primitives.unreadable import Unreadable


def movements(psbt: Psbt, own: Collection[bytes], network: AddressPrefixes, fee: int) -> Sequence[Movement]:
    """`own`: the scripts of the inputs that the account signs; what pays back to one of them is change."""
    foreign = any(spent.script not in own for spent in psbt.spent)
    sender = Unreadable("several accounts spend inputs") if foreign else _sender(own, network)
    paid = [output for output in psbt.transaction.outputs if output.satoshis and output.script not in own]
    return (
        *(
            Movement(
                kind=MovementKind.TRANSFER,
                name="output",
                asset=NATIVE,
                from_=sender,
                to=recipient(output, network),
                amount=output.satoshis,
            )
            for output in paid
        ),
        Movement(kind=MovementKind.FEE, name="fee", asset=NATIVE, from_=sender, to=NOBODY, amount=fee),
    )


def recipient(output: Output, network: AddressPrefixes) -> str:
    """The address that an output pays to; its script in hex if no address is paid."""
    return address_of(output.script, network) or output.script.hex()


def _sender(own: Collection[bytes], network: AddressPrefixes) -> str | Unreadable:
    if len(own) != 1:
        return Unreadable("several scripts are spent")
    (script,) = own
    return address_of(script, network)
