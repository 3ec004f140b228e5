"""The parser of each chain's transactions, to sign them or only to read them. Not here: the parsers."""

from __future__ import annotations

from typing import assert_never

from keystead.api.enums import TransactionType
from keystead.chains.bitcoin.transaction import parse_bitcoin, view_bitcoin
from keystead.chains.ethereum.tempo import parse_tempo, view_tempo
from keystead.chains.ethereum.transaction import parse_ethereum, view_ethereum
from keystead.chains.solana.transaction import parse_solana, view_solana
from keystead.chains.transaction import Party, TransactionView, UnsignedTransaction
from keystead.chains.tron.transaction import parse_tron, view_tron


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


def view_transaction(kind: TransactionType, unsigned: bytes, sign_with: str) -> TransactionView:
    """What an unsigned transaction of this chain says, for people. Raises InvalidRequest as the chain's parser
    does.

    `sign_with`: the address or the id that the request names. Whether its key may sign these bytes is not checked.
    Bitcoin addresses are written for the network of this address; for the main network if it is not an address.
    """
    match kind:
        case TransactionType.ETHEREUM:
            return view_ethereum(unsigned, sign_with)
        case TransactionType.SOLANA:
            return view_solana(unsigned)
        case TransactionType.TRON:
            return view_tron(unsigned)
        case TransactionType.BITCOIN:
            return view_bitcoin(unsigned, sign_with)
        case TransactionType.TEMPO:
            return view_tempo(unsigned, sign_with)
        case _:
            assert_never(kind)
