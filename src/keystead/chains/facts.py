"""The words in which a chain declares what policies read of its transactions: its facts.

Each chain declares its facts in one module, as typed dictionaries with every field. A field may be Unreadable only
where its type says so. Here: the forms of values that compare in their own way. Not here: the facts of a chain
(`ethereum.facts`, `solana.facts`, …), the types of the policy language (`policies.language.namespaces`).
"""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any, TypedDict

from keystead.primitives.unreadable import Unreadable


class FactForm(Enum):
    """How a value compares, if not as its Python type does."""

    HEX = "hexadecimal digits, in either letter case"
    ADDRESS = "an address, by the destination that it names"
    NUMERAL = "an integer, which a literal may quote"
    ARGUMENT = "a value whose type the request decides: a string, integer, boolean, list or map"


Hex = Annotated[str, FactForm.HEX]
AddressText = Annotated[str, FactForm.ADDRESS]
Numeral = Annotated[int, FactForm.NUMERAL]
Argument = Annotated[Any, FactForm.ARGUMENT]
"""An argument of a contract call, or a member of typed data. It may be or contain an Unreadable."""


HexMovement = TypedDict(
    "HexMovement",
    {
        "kind": str,
        "name": str,
        "contract": Hex,
        "asset": Hex | Unreadable,
        "from": Hex | Unreadable,
        "to": Hex | Unreadable,
        "amount": int | Unreadable,
    },
)
TextMovement = TypedDict(
    "TextMovement",
    {
        "kind": str,
        "name": str,
        "contract": str,
        "asset": str | Unreadable,
        "from": str | Unreadable,
        "to": str | Unreadable,
        "amount": int | Unreadable,
    },
)
AddressMovement = TypedDict(
    "AddressMovement",
    {
        "kind": str,
        "name": str,
        "contract": str,
        "asset": str | Unreadable,
        "from": AddressText | Unreadable,
        "to": AddressText | Unreadable,
        "amount": int | Unreadable,
    },
)
"""What moves value, or gives power over it (`movements.Movement`), by how the addresses of the chain compare."""
