"""Which parser reads transactions of which chain. Each chain, with its libraries, is loaded when first asked for.

Not here: any chain.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Final

from keystead.api.enums import TransactionType
from keystead.keys.transactions.transaction import Party, UnsignedTransaction

Parse = Callable[[bytes, Party], UnsignedTransaction]

_MODULES: Final[Mapping[TransactionType, str]] = {
    TransactionType.ETHEREUM: "ethereum",
    TransactionType.SOLANA: "solana",
    TransactionType.TRON: "tron",
    TransactionType.BITCOIN: "bitcoin",
    TransactionType.TEMPO: "tempo",
}


def parse_transaction(kind: TransactionType, unsigned: bytes, party: Party) -> UnsignedTransaction:
    """Read an unsigned transaction of this chain. Raises InvalidRequest as the chain's parser does."""
    chain = _MODULES[kind]
    parse: Parse = getattr(import_module(f"keystead.keys.transactions.{chain}"), f"parse_{chain}")
    return parse(unsigned, party)
