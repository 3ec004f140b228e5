"""Literals that a field can never equal: a word that the field never has, a malformed address, an unknown id.

Here: the form of the text in each field, and the comparisons of an expression with literals. Not here: the words of
a field (`closed_sets`), comparisons that are false for another reason (`condition_analysis`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

import msgspec

from keystead.api.choices import did_you_mean
from keystead.api.identifiers import UUID_PATTERN
from keystead.chains.movements import NATIVE, NOBODY
from keystead.policies.closed_sets import WORDS
from keystead.policies.language import syntax
from keystead.policies.language.field_paths import path_of, scoped_parts


class KnownIds(msgspec.Struct, frozen=True, kw_only=True):
    """The ids that exist in the organization; None if they are not known. `are_uuids`: they are ids of a server,
    not words of a test file."""

    users: frozenset[str] | None = None
    user_tags: frozenset[str] | None = None
    wallets: frozenset[str] | None = None
    private_keys: frozenset[str] | None = None
    private_key_tags: frozenset[str] | None = None
    are_uuids: bool = False


_UUID: Final = re.compile(UUID_PATTERN)
_HEX_ADDRESS: Final = re.compile(r"0[xX][0-9a-fA-F]{40}")
_NO_ADDRESS: Final = ""
"""What the documentation has for the destination of a transaction that creates a contract, and for no fee token."""
_SOLANA_KEY: Final = re.compile(r"[1-9A-HJ-NP-Za-km-z]{32,44}|ADDRESS_TABLE_LOOKUP")
_TRON_ADDRESS: Final = re.compile(r"T[1-9A-HJ-NP-Za-km-z]{33}")
_SELECTOR: Final = re.compile(r"0[xX][0-9a-fA-F]{8}")
_HEX: Final = re.compile(r"0[xX](?:[0-9a-fA-F]{2})*")


def _movement_forms(fact: str, address: re.Pattern[str], words: str) -> dict[str, tuple[re.Pattern[str], str]]:
    """The forms of the addresses in the movements of a transaction. `words`: what an address is."""
    side = re.compile(f"{address.pattern}|{NOBODY}")
    asset = re.compile(f"{address.pattern}|{NATIVE}")
    return {
        **dict.fromkeys((f"{fact}.movements[].from", f"{fact}.movements[].to"), (side, f"{words}, or ''")),
        f"{fact}.movements[].contract": (side, f"{words}, or ''"),
        f"{fact}.movements[].asset": (asset, f"{words}, or '{NATIVE}'"),
    }


_FORMS: Final[Mapping[str, tuple[re.Pattern[str], str]]] = {
    **_movement_forms("eth.tx", _HEX_ADDRESS, "0x and 40 hex digits"),
    **_movement_forms("eth.eip_712", _HEX_ADDRESS, "0x and 40 hex digits"),
    **_movement_forms("tempo.tx", _HEX_ADDRESS, "0x and 40 hex digits"),
    **_movement_forms("solana.tx", _SOLANA_KEY, "32 to 44 characters of base58"),
    **_movement_forms(
        "tron.tx",
        re.compile(f"{_TRON_ADDRESS.pattern}|[0-9]+"),
        "T and 33 characters of base58, or the number of a token of TRC-10",
    ),
    **dict.fromkeys(
        (
            "eth.tx.from",
            "eth.eip_712.domain.verifying_contract",
            "eth.eip_7702_authorization.address",
            "tempo.tx.from",
        ),
        (_HEX_ADDRESS, "0x and 40 hex digits"),
    ),
    **dict.fromkeys(
        ("eth.tx.to", "tempo.tx.calls[].to", "tempo.tx.fee_token"),
        (re.compile(f"{_HEX_ADDRESS.pattern}|{_NO_ADDRESS}"), "0x and 40 hex digits, or ''"),
    ),
    "eth.tx.data": (_HEX, "0x and pairs of hex digits"),
    "eth.tx.function_signature": (_SELECTOR, "0x and 8 hex digits"),
    **dict.fromkeys(
        (
            "solana.tx.account_keys[]",
            "solana.tx.program_keys[]",
            "solana.tx.instructions[].program_key",
            "solana.tx.instructions[].accounts[].account_key",
            "solana.tx.transfers[].from",
            "solana.tx.transfers[].to",
            "solana.tx.spl_transfers[].from",
            "solana.tx.spl_transfers[].to",
            "solana.tx.spl_transfers[].owner",
            "solana.tx.spl_transfers[].token_mint",
        ),
        (_SOLANA_KEY, "32 to 44 characters of base58"),
    ),
    **dict.fromkeys(
        (
            "tron.tx.contract[].owner_address",
            "tron.tx.contract[].to_address",
            "tron.tx.contract[].contract_address",
            "tron.tx.contract[].receiver_address",
        ),
        (_TRON_ADDRESS, "T and 33 characters of base58"),
    ),
}
"""The form of the text in a field, by its path."""

_IDS: Final[Mapping[str, tuple[Callable[[KnownIds], frozenset[str] | None], str]]] = {
    "approvers[].id": (lambda known: known.users, "user"),
    "approvers[].tags[]": (lambda known: known.user_tags, "user tag"),
    "credentials[].user_id": (lambda known: known.users, "user"),
    "activity.params.user_id": (lambda known: known.users, "user"),
    "activity.params.user_ids[]": (lambda known: known.users, "user"),
    "activity.params.wallet_id": (lambda known: known.wallets, "wallet"),
    "wallet.id": (lambda known: known.wallets, "wallet"),
    "wallets[].id": (lambda known: known.wallets, "wallet"),
    "private_key.id": (lambda known: known.private_keys, "private key"),
    "private_key.tags[]": (lambda known: known.private_key_tags, "private key tag"),
}
"""The kind of record that the ids in a field name, by its path."""


def impossible_literals(tree: syntax.Node, known: KnownIds) -> Iterator[str]:
    """A sentence for each literal that can never equal the field it is compared with."""
    for path, literal in compared_literals(tree, {}):
        shown = f"{path} is compared with '{literal[:60]}'"
        if path in WORDS and literal not in WORDS[path]:
            yield f"{shown}, which it never is{did_you_mean(literal, WORDS[path])}"
        elif path in _FORMS and not _FORMS[path][0].fullmatch(literal):
            yield f"{shown}, which it never is: expected {_FORMS[path][1]}"
        elif path in _IDS:
            ids_of, called = _IDS[path]
            ids = ids_of(known)
            if known.are_uuids and not _UUID.fullmatch(literal):
                yield f"{shown}, but no {called} has this id: ids are UUIDs in lower case"
            elif ids is not None and literal not in ids:
                yield f"{shown}, but no {called} has this id"


def compared_literals(node: syntax.Node, scope: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Every text that a field is compared with: the path of the field, and the text. `scope` maps the variables of
    the enclosing list functions to the paths of their items."""
    if isinstance(node, syntax.Comparison) and node.operator == "in":
        yield from _pairs(node.left, node.right, scope)
    elif isinstance(node, syntax.Comparison):
        yield from _pairs(node.left, syntax.ListLiteral(node.at, (node.right,)), scope)
        yield from _pairs(node.right, syntax.ListLiteral(node.at, (node.left,)), scope)
    elif isinstance(node, syntax.Contains):
        yield from _pairs(node.value, node.of, scope)
    for part, inner in scoped_parts(node, scope):
        yield from compared_literals(part, inner)


def _pairs(sought: syntax.Node, among: syntax.Node, scope: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The pairs of a field and a text in "sought in among"."""
    if isinstance(among, syntax.ListLiteral):
        path = path_of(sought, scope)
        for item in among.items:
            if path and isinstance(item, syntax.Literal) and isinstance(item.value, str):
                yield path, item.value
    elif isinstance(sought, syntax.Literal) and isinstance(sought.value, str) and (path := path_of(among, scope)):
        yield f"{path}[]", sought.value
