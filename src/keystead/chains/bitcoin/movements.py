"""What a Bitcoin transaction moves: its outputs without the change, and its fee."""

from __future__ import annotations

from collections.abc import Sequence

from keystead.chains.addresses.bitcoin import AddressPrefixes
from keystead.chains.bitcoin.encoding import TxOutput
from keystead.chains.bitcoin.psbt import Psbt
from keystead.chains.bitcoin.scripts import address_of
from keystead.chains.movements import NATIVE, NOBODY, Movement, MovementKind
from keystead.primitives.unreadable import Unreadable


def movements(psbt: Psbt, own: bytes, network: AddressPrefixes, fee: int | Unreadable) -> Sequence[Movement]:
    """`own`: the script that the address of the account pays to. What pays back to it is change.

    What pays to another script that the account can spend is a payment, also where an input spends that script:
    somebody else may have made it, and be able to spend from it as well.
    """
    foreign = any(spent.script != own for spent in psbt.spent)
    sender = Unreadable("inputs of other scripts are spent, too") if foreign else address_of(own, network)
    paid = [output for output in psbt.transaction.outputs if output.satoshis and output.script != own]
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


def recipient(output: TxOutput, network: AddressPrefixes) -> str:
    """The address that an output pays to; its script in hex if no address is paid."""
    return address_of(output.script, network) or output.script.hex()
