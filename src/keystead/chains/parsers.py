"""Which parser reads transactions of which chain. Each chain, with its libraries, is loaded when first asked for.

Not here: any chain.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from keystead.api.enums import TransactionType
from keystead.chains.transaction import Party, UnsignedTransaction

Parse = Callable[[bytes, Party], UnsignedTransaction]


def parse_transaction(kind: TransactionType, unsigned: bytes, party: Party) -> UnsignedTransaction:
    """Read an unsigned transaction of this chain. Raises InvalidRequest as the chain's parser does."""
    return _parser(kind)(unsigned, party)


def _parser(kind: TransactionType) -> Parse:
    match kind:
        case TransactionType.ETHEREUM:
            from keystead.chains.ethereum.transaction import parse_ethereum

            return parse_ethereum
        case TransactionType.SOLANA:
            from keystead.chains.solana.transaction import parse_solana

            return parse_solana
        case TransactionType.TRON:
            from keystead.chains.tron.transaction import parse_tron

            return parse_tron
        case TransactionType.BITCOIN:
            from keystead.chains.bitcoin.transaction import parse_bitcoin

            return parse_bitcoin
        case TransactionType.TEMPO:
            from keystead.chains.ethereum.tempo import parse_tempo

            return parse_tempo
        case _:
            assert_never(kind)
