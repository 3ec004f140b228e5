"""BIP-39: the vectors both ways, what is refused, and that no word gets into a message."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from bip_utils import Bip39MnemonicValidator
from hypothesis import given, settings
from hypothesis import strategies as st
from mnemonic import Mnemonic

from keystead.api.enums import MnemonicLanguage
from keystead.api.errors import InvalidRequest
from keystead.chains.mnemonic_lengths import MNEMONIC_LENGTHS
from keystead.keys.bip39_english import WORDS
from keystead.keys.mnemonic import (
    entropy_bytes,
    entropy_from_mnemonic,
    mnemonic_from_entropy,
    seed_from_mnemonic,
)
from keystead.keys.word_lists import word_list
from tests.support.examples import examples

VECTORS: dict[str, Any] = json.loads((Path(__file__).parents[1] / "vectors" / "addresses.json").read_bytes())


def test_word_list_is_the_published_one() -> None:
    published = "".join(f"{word}\n" for word in WORDS).encode()
    assert len(WORDS) == 2048
    assert (
        hashlib.sha256(published).hexdigest() == "2f5eed53a4727b4bf8880d8f3f199efc90e58503646d9ff8eff3a2ed3b24dbda"
    )


@pytest.mark.parametrize("vector", VECTORS["mnemonics"], ids=lambda vector: vector["words"])
def test_vector(vector: dict[str, Any]) -> None:
    entropy = bytes.fromhex(vector["entropy"])
    assert entropy_bytes(vector["words"]) == len(entropy)
    assert mnemonic_from_entropy(entropy) == vector["mnemonic"]
    assert entropy_from_mnemonic(vector["mnemonic"]) == (entropy, MnemonicLanguage.ENGLISH)
    assert seed_from_mnemonic(vector["mnemonic"]).hex() == vector["seed"]


@pytest.mark.parametrize("vector", VECTORS["languages"], ids=lambda vector: vector["language"])
def test_language(vector: dict[str, Any]) -> None:
    entropy, language = bytes.fromhex(vector["entropy"]), MnemonicLanguage(vector["language"])
    assert mnemonic_from_entropy(entropy, language) == vector["mnemonic"]
    assert entropy_from_mnemonic(vector["mnemonic"]) == (entropy, language)
    assert entropy_from_mnemonic(unicodedata.normalize("NFC", vector["mnemonic"])) == (entropy, language)
    assert seed_from_mnemonic(vector["mnemonic"]).hex() == vector["seedOfThisPhrase"]


def test_every_language_has_its_words() -> None:
    assert {len(word_list(language).numbers) for language in MnemonicLanguage} == {2048}


@pytest.mark.parametrize("vector", VECTORS["passphraseSeeds"], ids=lambda vector: vector["passphrase"])
def test_passphrase(vector: dict[str, Any]) -> None:
    assert seed_from_mnemonic(vector["mnemonic"], vector["passphrase"]).hex() == vector["seed"]


def test_passphrase_is_normalized() -> None:
    assert seed_from_mnemonic(VECTORS["mnemonic"], "caf\u00e9") == seed_from_mnemonic(
        VECTORS["mnemonic"], "cafe\u0301"
    )


def test_vector_without_passphrase() -> None:
    assert seed_from_mnemonic(VECTORS["mnemonic"], VECTORS["passphrase"]).hex() == VECTORS["seed"]


PHRASE = VECTORS["mnemonic"]
PORTUGUESE = Mnemonic("portuguese").to_mnemonic(bytes(range(16)))
REFUSED = {
    **{vector["why"]: vector["mnemonic"] for vector in VECTORS["invalidMnemonics"]},
    "empty": "",
    "13 words": PHRASE + " abandon",
    "27 words": " ".join(["abandon"] * 27),
    "capital letter": PHRASE.replace("abandon", "Abandon", 1),
    "abbreviated words": PHRASE.replace("abandon", "aban"),
    "two words swapped": VECTORS["mnemonics"][0]["mnemonic"].replace("avoid scissors", "scissors avoid"),
    "two languages": PHRASE.replace("about", "guía"),
    "Spanish, wrong checksum": VECTORS["languages"][7]["mnemonic"].replace("abrir", "aprender"),
    "commas": PHRASE.replace(" ", ","),
}


@pytest.mark.parametrize("mnemonic", REFUSED.values(), ids=REFUSED.keys())
def test_refused(mnemonic: str) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        entropy_from_mnemonic(mnemonic)
    assert refusal.value.message.startswith("invalid mnemonic")
    assert not {"abandon", "absurd", "zzzz", "aban"} & set(refusal.value.message.lower().split())
    assert refusal.value.__cause__ is None


REASONS = {
    "capitals": (PHRASE.upper(), "word 1 has capital letters; the words of BIP-39 are in lower case"),
    "a capital": (PHRASE.replace("about", "About"), "word 12 has capital letters"),
    "a capital of another language": (
        VECTORS["languages"][7]["mnemonic"].capitalize(),
        "word 1 has capital letters",
    ),
    "Portuguese": (PORTUGUESE, "its words are Portuguese, a language of BIP-39 that the API does not have"),
    "Portuguese in capitals": (PORTUGUESE.upper(), "its words are Portuguese"),
    "Portuguese in form NFC": (unicodedata.normalize("NFC", PORTUGUESE), "its words are Portuguese"),
    "a wrong word in capitals": (PHRASE.replace("about", "ABOUTS"), "word 12 is in no list of BIP-39"),
    "two languages": (PHRASE.replace("about", "gu\u00eda"), "its words are not all of one language"),
}


@pytest.mark.parametrize(("mnemonic", "why"), REASONS.values(), ids=REASONS.keys())
def test_why_it_is_refused(mnemonic: str, why: str) -> None:
    with pytest.raises(InvalidRequest, match=f"^invalid mnemonic: {why}"):
        entropy_from_mnemonic(mnemonic)


@pytest.mark.parametrize("spelled", [f"  {PHRASE}\n", PHRASE.replace(" ", "  "), PHRASE.replace(" ", "\u3000")])
def test_white_space_does_not_matter(spelled: str) -> None:
    assert entropy_from_mnemonic(spelled) == (bytes(16), MnemonicLanguage.ENGLISH)


@pytest.mark.parametrize("length", [-12, 0, 1, 11, 13, 16, 20, 25, 27])
def test_length_refused(length: int) -> None:
    with pytest.raises(
        InvalidRequest, match=rf"^invalid mnemonic length: {length}; expected 12, 15, 18, 21 or 24 words$"
    ):
        entropy_bytes(length)


@pytest.mark.parametrize("size", [0, 4, 12, 15, 17, 33, 36])
def test_entropy_of_another_size_is_a_defect(size: int) -> None:
    with pytest.raises(ValueError, match=f"not {size}$"):
        mnemonic_from_entropy(bytes(size))


@settings(max_examples=50)
@given(
    st.sampled_from(MNEMONIC_LENGTHS).flatmap(lambda n: st.binary(min_size=n // 3 * 4, max_size=n // 3 * 4)),
    st.sampled_from(MnemonicLanguage),
)
def test_reads_back(entropy: bytes, language: MnemonicLanguage) -> None:
    """The words say which language it was, but where two lists share every one of them."""
    mnemonic = mnemonic_from_entropy(entropy, language)
    read, of = entropy_from_mnemonic(mnemonic)
    assert mnemonic_from_entropy(read, of) == mnemonic
    assert (read, of) == (entropy, language) or "CHINESE" in of


@settings(max_examples=examples(75))
@given(
    st.sampled_from(MNEMONIC_LENGTHS).flatmap(lambda n: st.lists(st.sampled_from(WORDS), min_size=n, max_size=n))
)
def test_random_words_are_judged_as_bip_utils_judges(words: list[str]) -> None:
    try:
        entropy_from_mnemonic(" ".join(words))
        valid = True
    except InvalidRequest:
        valid = False
    assert valid is Bip39MnemonicValidator().IsValid(" ".join(words))
