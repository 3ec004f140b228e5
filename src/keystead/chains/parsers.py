"""Which parser reads the transactions of which chain. Not here: the parsers."""

from __future__ import annotations

from typing import assert_never

from keystead.api.enums import TransactionType
from keystead.chains.bitcoin.transaction import parse_bitcoin
from keystead.chains.ethereum.tempo import parse_tempo
from keystead.chains.ethereum.transaction import parse_ethereum
from keystead.chains.solana.transaction import parse_solana
from keystead.chains.transaction import Party, UnsignedTransaction
from keystead.chains.tron.transaction import parse_tron


def parse_transaction(kind: TransactionType, unsigned: bytes, party: Party) -> UnsignedTransaction:
    """Read an unsigned transaction of this chain. Raises InvalidRequest as the chain's parser does."""
    match kind:
        case TransactionType.ETHEREUM:
            return parse_ethereum(unsigned, party)
        case TransactionType.SOLANA:
            return parse_solana(unsigned, party)
        case TransactionType.TRON:
            return parse_tron(unsigned, party)
        case TransactionType.BITCOIN:
            return parse_bitcoin(unsigned, party)
        case TransactionType.TEMPO:
            return parse_tempo(unsigned, party)
        case _:
            assert_never(kind)
