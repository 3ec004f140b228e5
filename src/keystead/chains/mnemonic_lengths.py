"""How many words a mnemonic may have (BIP-39). Not here: mnemonics themselves, which are secret (`keys`)."""

from __future__ import annotations

from keystead.api.errors import InvalidRequest

MNEMONIC_LENGTHS = (12, 15, 18, 21, 24)
"""12 words carry 128 bits of entropy, each further three words 32 bits more."""

LENGTHS_TEXT = "12, 15, 18, 21 or 24"


def check_mnemonic_length(words: int) -> None:
    """Raises InvalidRequest for a length that BIP-39 does not have."""
    if words not in MNEMONIC_LENGTHS:
        raise InvalidRequest(f"invalid mnemonic length: {_shown(words)}; expected {LENGTHS_TEXT} words")


def _shown(number: int) -> str:
    """The number as text. A caller chose it, and printing thousands of digits takes long."""
    return str(number) if -(2**63) <= number < 2**63 else "a number beyond 64 bits"
