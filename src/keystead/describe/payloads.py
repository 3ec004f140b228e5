"""Raw payloads in words: typed data, authorizations, messages, and bytes without a known meaning.

The meaning of a payload is known only if its encoding says it. A digest has no known meaning.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from keystead.api.enums import HashFunction, PayloadEncoding
from keystead.api.errors import ServiceError
from keystead.chains.ethereum.facts import AuthorizationFacts, TypedDataFacts
from keystead.chains.ethereum.transaction import view_ethereum
from keystead.chains.facts import HexMovement
from keystead.chains.movements import UNLIMITED, MovementKind
from keystead.chains.payloads import hex_bytes, read_payload
from keystead.describe.amounts import network_name, unknown_or
from keystead.describe.description import ActivityDescription, Fact
from keystead.describe.ethereum import chain_of_authorization, describe_ethereum, shortened_hex
from keystead.describe.fields import facts_of, truncated
from keystead.describe.parameters import value_in_words
from keystead.describe.token_calls import to_checksum_address
from keystead.primitives.unreadable import Unreadable, known

_PERSONAL = re.compile(rb"\x19Ethereum Signed Message:\n(\d+)")
"""The prefix that wallets put in front of a message (ERC-191, version 0x45), with the length of the message."""

_LENGTH_DIGITS_MAX = 8
"""The most digits of that length. A request has at most 1 MiB, and wallets write no leading zeros."""

_UNKNOWN: Final = (
    "nothing tells what these bytes are: the digest of a transaction looks the same, and policies about "
    "transactions do not see it"
)


def describe_payloads(
    payloads: Sequence[str], encoding: str, hash_function: str, sign_with: str
) -> ActivityDescription:
    """The description of one or more payloads that one key signs."""
    if len(payloads) == 1:
        described = _describe(payloads[0], encoding, hash_function, sign_with)
    else:
        described = ActivityDescription(
            headline=f"Sign {len(payloads)} raw payloads",
            what=f"sign {len(payloads)} payloads",
            facts=tuple(
                Fact(f"payload {number}", truncated(payload)) for number, payload in enumerate(payloads[:10], 1)
            ),
            cautions=(_UNKNOWN,),
        )
    return ActivityDescription(
        headline=f"{described.headline}, with {to_checksum_address(sign_with)}",
        what=described.what,
        recipient=described.recipient,
        amount=described.amount,
        facts=(*described.facts, Fact("encoding", _encoding(encoding, hash_function))),
        cautions=described.cautions,
    )


def _describe(payload: str, encoding: str, hash_function: str, sign_with: str) -> ActivityDescription:
    if encoding == PayloadEncoding.EIP712:
        return _typed_data(payload)
    if encoding == PayloadEncoding.EIP7702_AUTHORIZATION:
        return _authorization(payload)
    if encoding == PayloadEncoding.TEXT_UTF8:
        return _text(payload)
    data = hex_bytes(payload) or b""
    return _message(data) or _transaction(data, hash_function, sign_with) or _bytes(data)


def _typed_data(payload: str) -> ActivityDescription:
    try:
        seen: TypedDataFacts = _keywords(payload, PayloadEncoding.EIP712)["eip_712"]
    except ServiceError as refused:
        return unreadable("typed data (EIP-712)", payload, refused)
    domain = {name: value for name, value in seen["domain"].items() if not isinstance(value, Unreadable)}
    contract = to_checksum_address(known(seen["domain"]["verifying_contract"]) or "")
    chain_id = known(seen["domain"]["chain_id"])
    cautions = []
    if not domain:
        cautions.append("the domain is empty: the signature holds for every contract on every chain")
    taken = [moved for moved in seen["movements"] if moved["kind"] != MovementKind.UNKNOWN]
    if taken:
        cautions.append("it permits somebody to take tokens: read spender, amount and deadline")
    recipient, amount = _taken(taken[0]) if len(taken) == 1 else (contract, "")
    where = f" for {contract}" if contract else ""
    chain = "" if chain_id is None else f" on {network_name(chain_id)}"
    return ActivityDescription(
        headline=f"Sign typed data {seen['primary_type']!r}{where}{chain}",
        what=f"sign {seen['primary_type']}",
        recipient=recipient,
        amount=amount,
        facts=(*facts_of(domain, "domain"), *facts_of(seen["message"], "message")),
        cautions=tuple(cautions),
    )


def _taken(moved: HexMovement) -> tuple[str, str]:
    """Who may take tokens, and how many."""
    amount = "without limit" if moved["amount"] == UNLIMITED else f"{unknown_or(moved['amount'])} units"
    return to_checksum_address(unknown_or(moved["to"])), amount


def _authorization(payload: str) -> ActivityDescription:
    try:
        seen: AuthorizationFacts = _keywords(payload, PayloadEncoding.EIP7702_AUTHORIZATION)[
            "eip_7702_authorization"
        ]
    except ServiceError as refused:
        return unreadable("an authorization (EIP-7702)", payload, refused)
    code, chain = to_checksum_address(seen["address"]), chain_of_authorization(seen["chain_id"])
    return ActivityDescription(
        headline=f"Give the account the code of {code}, on {chain}",
        what="set account code",
        recipient=code,
        facts=(Fact("code of", code), Fact("chain", chain), Fact("nonce", str(seen["nonce"]))),
        cautions=(f"the code of {code} may then move everything that the account has",),
    )


def _keywords(payload: str, encoding: PayloadEncoding) -> Mapping[str, Any]:
    """The keywords of `eth` that policies see. Raises InvalidRequest."""
    keywords: Mapping[str, Any] = read_payload(payload, encoding, HashFunction.NO_OP, "payload").keywords["eth"]
    return keywords


def _text(text: str) -> ActivityDescription:
    return ActivityDescription(
        headline=f"Sign a text of {len(text)} characters", what="sign text", facts=(Fact("text", truncated(text)),)
    )


def _message(data: bytes) -> ActivityDescription | None:
    """A message as Ethereum's wallets sign it; None for other bytes."""
    prefix = _PERSONAL.match(data)
    if prefix is None:
        return None
    # If the message begins with digits, they follow the digits of the length.
    for end in range(prefix.start(1) + 1, min(prefix.end(1), prefix.start(1) + _LENGTH_DIGITS_MAX) + 1):
        if int(data[prefix.start(1) : end]) == len(data) - end:
            text = data[end:].decode("utf-8", "backslashreplace")
            return ActivityDescription(
                headline=f"Sign a message of {len(data) - end} bytes",
                what="sign a message",
                facts=(Fact("message", truncated(text)),),
            )
    return None


def _transaction(data: bytes, hash_function: str, sign_with: str) -> ActivityDescription | None:
    """A whole Ethereum transaction, sent to be hashed and signed as raw bytes; None for other bytes."""
    if hash_function != HashFunction.KECCAK256:
        return None
    try:
        described = describe_ethereum(view_ethereum(data, sign_with).describe({}).keywords["eth"]["tx"])
    except ServiceError:
        return None
    caution = "this transaction is signed as a raw payload: policies about transactions do not see it"
    return ActivityDescription(
        headline=described.headline,
        what=described.what,
        recipient=described.recipient,
        amount=described.amount,
        facts=described.facts,
        cautions=(*described.cautions, caution),
    )


def _bytes(data: bytes) -> ActivityDescription:
    return ActivityDescription(
        headline=f"Sign {len(data)} raw bytes",
        what="sign raw bytes",
        facts=(Fact("bytes", shortened_hex(data)),),
        cautions=(_UNKNOWN,),
    )


def unreadable(what: str, text: str, refused: ServiceError) -> ActivityDescription:
    """The description of a request whose bytes are not what they claim to be."""
    return ActivityDescription(
        headline=f"Sign {what} that cannot be read",
        what="sign, unreadable",
        facts=(Fact("bytes", truncated(text)),),
        cautions=(refused.message,),
    )


def _encoding(encoding: str, hash_function: str) -> str:
    return f"{value_in_words(encoding)}; hash function: {value_in_words(hash_function)}"
