"""The form in which an address is stored, so that each of its spellings finds it.

Here: spellings of one address of one format. Not here: how an address is made from a key (`formats`).
"""

from __future__ import annotations

import base64
import binascii
import re

from keystead.api.enums import AddressFormat

# Hex and bech32 mean the same in either letter case. Base58 and base32 do not.
_ANY_CASE = frozenset(
    {
        AddressFormat.UNCOMPRESSED,
        AddressFormat.COMPRESSED,
        AddressFormat.ETHEREUM,
        AddressFormat.SUI,
        AddressFormat.APTOS,
        AddressFormat.COSMOS,
        AddressFormat.SEI,
        AddressFormat.SPARK_MAINNET,
        AddressFormat.SPARK_REGTEST,
        *(form for form in AddressFormat if form.endswith(("_P2WPKH", "_P2WSH", "_P2TR"))),
    }
)
_EXACT_MARK, _ANY_CASE_MARK, _TON_MARK = "=", "~", "ton:"

# The tags of TON addresses: for the main or a test network, bounceable or not. The tag does not change the account.
_TON_TAGS = frozenset({0x11, 0x51, 0x91, 0xD1})
_TON_FRIENDLY = re.compile(r"[A-Za-z0-9+/_-]{48}")
_TON_RAW = re.compile(r"(-1|0):([0-9a-fA-F]{64})")


def stored_form(address_format: AddressFormat, address: str) -> str:
    """The form under which an address of this format is stored and found."""
    if address_format in _ANY_CASE:
        return _ANY_CASE_MARK + address.lower()
    if address_format.startswith("ADDRESS_FORMAT_TON_"):
        return ton_account(address) or _EXACT_MARK + address
    return _EXACT_MARK + address


def possible_forms(address: str) -> tuple[str, ...]:
    """The stored forms that the text may have, as an address of any format."""
    forms = (_EXACT_MARK + address, _ANY_CASE_MARK + address.lower())
    ton_form = ton_account(address)
    return forms if ton_form is None else (*forms, ton_form)


def ton_account(address: str) -> str | None:
    """Workchain and hash of a TON address in any of its forms; None for another text."""
    if raw := _TON_RAW.fullmatch(address):
        return f"{_TON_MARK}{raw[1]}:{raw[2].lower()}"
    if not _TON_FRIENDLY.fullmatch(address):
        return None
    payload = base64.b64decode(address.translate({ord("-"): "+", ord("_"): "/"}))
    tagged, checksum = payload[:34], int.from_bytes(payload[34:])
    if tagged[0] not in _TON_TAGS or binascii.crc_hqx(tagged, 0) != checksum:
        return None
    return f"{_TON_MARK}{int.from_bytes(tagged[1:2], signed=True)}:{tagged[2:].hex()}"
