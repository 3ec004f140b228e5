"""The word lists of BIP-39: in every language of the public API, and in those that the API lacks.

The English list is part of this package, because every wallet needs it. The others come from the package
`mnemonic` and are read when a mnemonic first needs them. Not here: what the words encode (`mnemonic`).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Final

import msgspec

from keystead.api.enums import MnemonicLanguage
from keystead.keys.bip39_english import WORDS

_NAMES = {
    language: language.removeprefix("MNEMONIC_LANGUAGE_").lower()
    for language in MnemonicLanguage
    if language not in (MnemonicLanguage.SIMPLIFIED_CHINESE, MnemonicLanguage.TRADITIONAL_CHINESE)
} | {
    MnemonicLanguage.SIMPLIFIED_CHINESE: "chinese_simplified",
    MnemonicLanguage.TRADITIONAL_CHINESE: "chinese_traditional",
}


MISSING_LANGUAGES: Final = ("portuguese",)
"""The languages of BIP-39 that the public API does not have, by the names of their lists. They are read only to say
why a mnemonic is refused."""


class WordList(msgspec.Struct, frozen=True):
    """2048 words in Unicode form NFKD, and the separator between the words of a mnemonic."""

    words: tuple[str, ...]
    numbers: Mapping[str, int]
    separator: str


@functools.cache
def word_list(language: MnemonicLanguage) -> WordList:
    words = WORDS if language is MnemonicLanguage.ENGLISH else published_words(_NAMES[language])
    return WordList(
        words=tuple(words),
        numbers={word: number for number, word in enumerate(words)},
        # BIP-39 asks for the ideographic space, so that the words of a Japanese phrase stay apart on a screen.
        separator="\u3000" if language is MnemonicLanguage.JAPANESE else " ",
    )


@functools.cache
def published_words(name: str) -> list[str]:
    """The words of the list with this name, in Unicode form NFKD."""
    from mnemonic import Mnemonic

    return Mnemonic(name).wordlist
