"""Transactions in words: read strictly by their chain's parser, then described by their chain's module."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_never

from msgspec.structs import replace

from keystead.api.enums import TransactionType
from keystead.api.errors import ServiceError
from keystead.chains.parsers import view_transaction
from keystead.chains.payloads import hex_bytes
from keystead.chains.transaction import TransactionView
from keystead.describe.bitcoin import describe_bitcoin
from keystead.describe.description import ActivityDescription, Names
from keystead.describe.ethereum import describe_ethereum, describe_tempo
from keystead.describe.payloads import unreadable
from keystead.describe.solana import describe_solana
from keystead.describe.tron import describe_tron

_EVERY_CHAIN = "it names no chain: anybody can send it on every chain of Ethereum's kind"


def view_of_request(unsigned: str, kind: str, sign_with: str) -> TransactionView:
    """The transaction of a request. `unsigned`: hex. `kind`: a value of TransactionType. Raises InvalidRequest if
    the transaction cannot be read, ValueError for an unknown kind."""
    return view_transaction(TransactionType(kind), hex_bytes(unsigned) or b"", sign_with)


def describe_transaction(unsigned: str, kind: str, sign_with: str, names: Names) -> ActivityDescription:
    """The description of a transaction, also of one that cannot be read.

    `unsigned`: hex. `kind`: a value of TransactionType. `sign_with`: the address or id that the request names.
    """
    try:
        view = view_of_request(unsigned, kind, sign_with)
    except ServiceError as refused:
        return unreadable("a transaction", unsigned, refused)
    seen = view.describe(names.interfaces)
    described = _by_chain(TransactionType(kind), seen.keywords, sign_with)
    cautions = list(described.cautions)
    if view.valid_on_every_chain:
        cautions.append(_EVERY_CHAIN)
    return replace(described, cautions=tuple(cautions))


def _by_chain(kind: TransactionType, keywords: Mapping[str, Any], sign_with: str) -> ActivityDescription:
    match kind:
        case TransactionType.ETHEREUM:
            return describe_ethereum(keywords["eth"]["tx"])
        case TransactionType.SOLANA:
            return describe_solana(keywords["solana"]["tx"])
        case TransactionType.TRON:
            return describe_tron(keywords["tron"]["tx"])
        case TransactionType.BITCOIN:
            return describe_bitcoin(keywords["bitcoin"]["tx"], sign_with)
        case TransactionType.TEMPO:
            return describe_tempo(keywords["tempo"]["tx"])
        case _:
            assert_never(kind)
