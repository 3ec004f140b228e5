"""A wallet that logs in, by its address and its domain: the one form in which both are stored and compared. Pure.

Not here: the message that the wallet signs (`login_messages`).
"""

from __future__ import annotations

import re
from typing import Final, assert_never

from keystead.api.enums import WalletAuthenticatorType
from keystead.chains.addresses.text import base58, decode_base58, eip55
from keystead.chains.bounds import DOMAIN_CHARACTERS_MAX
from keystead.sessions.wallet_tokens import WalletClaim
from keystead.stamps.ed25519 import check_public_key

_ETHEREUM: Final = re.compile(r"0x[0-9a-fA-F]{40}")
_DOMAIN: Final = re.compile(r"(?:[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])(?::[1-9][0-9]{0,4})?")


class InvalidWalletClaim(Exception):
    """An address or a domain is not valid. The message says which and why."""


def wallet_claim(type_: WalletAuthenticatorType, address: str, domain: str) -> WalletClaim:
    """The wallet, in the form of the records. Raises InvalidWalletClaim.

    An Ethereum address may have any letter case, unless it is mixed and not the checksum of EIP-55.
    """
    match type_:
        case WalletAuthenticatorType.ETHEREUM:
            address = _ethereum_address(address)
        case WalletAuthenticatorType.SOLANA:
            solana_key(address)
        case _:
            assert_never(type_)
    normal = normal_domain(domain)
    if normal is None:
        raise InvalidWalletClaim(
            "the domain must be a host such as app.example.com or localhost:3000, without scheme and path"
        )
    return WalletClaim(type_, address, normal)


def normal_domain(text: str) -> str | None:
    """The host in lower case, with its port unless that is 80 or 443; None for any other text."""
    host = re.sub(r":(?:80|443)\Z", "", text.lower())
    return host if len(host) <= DOMAIN_CHARACTERS_MAX and _DOMAIN.fullmatch(host) else None


def solana_key(address: str) -> bytes:
    """The 32 bytes of an Ed25519 key in base 58.

    Raises InvalidWalletClaim for another text, and for a key under which anybody can sign.
    """
    key = decode_base58(address, 32)
    if key is None or len(key) != 32 or base58(key) != address:
        raise InvalidWalletClaim("the address must be the base 58 of an Ed25519 key, 32 bytes")
    try:
        check_public_key(key)
    except ValueError as refused:
        raise InvalidWalletClaim(f"nobody owns the address: {refused}") from None
    return key


def _ethereum_address(address: str) -> str:
    if not _ETHEREUM.fullmatch(address):
        raise InvalidWalletClaim("the address must be 0x and 40 hex digits")
    digits = address[2:]
    if digits not in (digits.lower(), digits.upper(), eip55(digits.lower())):
        raise InvalidWalletClaim("the letter case of the address is not its checksum (EIP-55): check the address")
    return address.lower()
