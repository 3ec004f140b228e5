"""The parameters of an activity in words: for each kind that has no description of its own.

Here: labels from the names of members, values of enums and durations as people write them. Not here: the facts of
any other value, such as the arguments of a contract call (`fields`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final

from keystead.api import enums
from keystead.describe.bounds import FACTS_MAX
from keystead.describe.description import Fact, Names
from keystead.describe.fields import name_in_words, truncated

_VALUES: Final = {
    "TEXT_UTF8": "text",
    "HEXADECIMAL": "hex digits",
    "EIP712": "typed data (EIP-712)",
    "EIP7702_AUTHORIZATION": "authorization (EIP-7702)",
    "NO_OP": "none, because the payload is a digest",
    "NOT_APPLICABLE": "none, because the key hashes itself",
    "WEB": "console",
    "ALL": "console and API",
    "INTERNAL": "this device",
    "HYBRID": "a phone nearby",
    "SMS_OTP": "code by SMS",
    "EMAIL_OTP": "code by e-mail",
    "OAUTH": "account elsewhere",
    "UNCOMPRESSED": "public key, uncompressed",
    "COMPRESSED": "public key, compressed",
    "OTP_EMAIL_AUTH": "logins with a code by e-mail",
    "SMS_AUTH": "logins with a code by SMS",
    "EMAIL_AUTH": "logins with a bundle by e-mail",
    "EMAIL_RECOVERY": "recovery by e-mail",
    "WEBAUTHN_ORIGINS": "origins of passkeys",
    "PARENT_AUTH": "logins by the parent",
    "ENCLAVE_ENCRYPT_V1": "as all bundles",
}
"""Values of enums, without their prefix, that are not called by their name."""

_WORDS: Final = {
    "P256": "P-256",
    "ED25519": "Ed25519",
    "SECP256K1": "secp256k1",
    "BIP32": "BIP-32",
    "SHA256": "SHA-256",
    "KECCAK256": "Keccak-256",
    "BLE": "Bluetooth",
    "EMAIL": "e-mail",
    "XLM": "Stellar",
    "DOGE": "Dogecoin",
    **{word: word for word in ("API", "SMS", "USB", "NFC", "XRP", "X", "TON")},
    **{
        name.upper(): name
        for name in ("Ethereum", "Solana", "Bitcoin", "Tron", "Cosmos", "Sui", "Aptos", "Sei", "Spark", "Tempo")
    },
    **{name.upper(): name for name in ("Discord", "English", "Chinese", "Czech", "French", "Italian", "Japanese")},
    **{name.upper(): name for name in ("Korean", "Spanish")},
}
"""Words in values of enums that are not written in lower case. Others with digits, such as P2WPKH, stay as they
are."""


def _words_of(member: StrEnum) -> str:
    if member.name in _VALUES:
        return _VALUES[member.name]
    words = member.name.split("_")
    return " ".join(_WORDS.get(word) or (word if any(map(str.isdigit, word)) else word.lower()) for word in words)


_IN_WORDS: Final[Mapping[str, str]] = {
    str(member): _words_of(member)
    for class_ in vars(enums).values()
    if isinstance(class_, type) and issubclass(class_, StrEnum) and class_ is not StrEnum
    for member in class_
    if "_" in str(member) and str(member).isupper()
}


def value_in_words(value: str) -> str:
    """The words of an enum's value, such as "P-256" for API_KEY_CURVE_P256; any other text unchanged."""
    return _IN_WORDS.get(value, value)


def duration_in_words(seconds: int) -> str:
    """A duration in its greatest unit that is whole: 3600 is "1 hour", 90 is "90 seconds"."""
    for size, unit in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size and seconds % size == 0:
            return f"1 {unit}" if seconds == size else f"{seconds // size:,} {unit}s"
    return "1 second" if seconds == 1 else f"{seconds:,} seconds"


def facts_of_parameters(intent: Mapping[str, Any], names: Names) -> list[Fact]:
    """The parameters, in order, each with its path. Absent and empty values are left out. If there are more than
    FACTS_MAX, the last fact says so."""
    facts = list(itertools.islice(_walk(intent, "", "", names), FACTS_MAX + 1))
    if len(facts) > FACTS_MAX:
        facts[FACTS_MAX:] = [Fact("…", "more follows that is not shown here")]
    return facts


def _walk(value: Any, label: str, within: str, names: Names) -> Iterator[Fact]:
    """`within`: what the members belong to, such as "user", which they need not repeat."""
    if isinstance(value, Mapping):
        for name, member in value.items():
            words = name_in_words(name)
            if within:
                words = words.removeprefix(f"{within} ")
            if name.endswith("Seconds") and str(member).isdigit():
                words, member = words.removesuffix(" seconds"), duration_in_words(int(member))
            yield from _walk(member, f"{label}, {words}" if label else words, "", names)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        if all(isinstance(item, str) for item in value):
            if value:
                yield Fact(label, ", ".join(truncated(_text(item, names)) for item in value[:FACTS_MAX]))
            return
        one = _singular(label)
        for number, member in enumerate(value, 1):
            place = one if len(value) == 1 else f"{one} {number}"
            yield from _walk(member, place, one.rpartition(", ")[2], names)
    elif value is not None and value != "":
        yield Fact(label, truncated(_text(value, names)))


def _text(value: Any, names: Names) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return names.with_name(value_in_words(str(value)))


def _singular(label: str) -> str:
    """The name of one item of a list of this name."""
    for plural, singular in (("ies", "y"), ("sses", "ss"), ("s", "")):
        if label.endswith(plural) and not label.endswith("ss"):
            return label[: -len(plural)] + singular
    return label
