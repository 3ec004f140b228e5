"""When two spellings are one address: the form in which addresses are stored to be found again.

Pure. Not here: how an address is made from a key (`keys.addresses`).
"""

from __future__ import annotations

from keystead.api.enums import AddressFormat

# Hex, and bech32, which means the same in capitals. Base58, base32 and base64 say something else in another case.
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
_EXACT_MARK, _ANY_CASE_MARK = "=", "~"


def stored_form(address_format: AddressFormat, address: str) -> str:
    """What an address of this format is found by."""
    return _ANY_CASE_MARK + address.lower() if address_format in _ANY_CASE else _EXACT_MARK + address


def possible_forms(address: str) -> tuple[str, ...]:
    """What an address as somebody wrote it may be stored as, whatever its format."""
    return _EXACT_MARK + address, _ANY_CASE_MARK + address.lower()
