"""Which texts name one destination: each format of the vectors, Bitcoin's on every network."""

from __future__ import annotations

import pytest
from bip_utils import P2PKHAddrDecoder, P2WPKHAddrDecoder
from hypothesis import given, settings
from hypothesis import strategies as st

from keystead.api.enums import AddressFormat, Curve
from keystead.chains.addresses.comparison import address_key
from keystead.chains.addresses.formats import address
from keystead.chains.addresses.text import (
    base58,
    base58check,
    decode_base58,
    decode_base58check,
    decode_segwit,
    segwit,
)
from keystead.keys.public_keys import public_key
from tests.chains.test_stored_forms import ACCOUNTS, spellings

NETWORKS = ("MAINNET", "TESTNET", "SIGNET", "REGTEST")
KINDS = ("P2PKH", "P2SH", "P2WPKH", "P2WSH", "P2TR")


KEY = public_key(Curve.SECP256K1, b"\x11" * 32)


def bitcoin(network: str, kind: str) -> str:
    """The address of one key."""
    return address(KEY, AddressFormat(f"ADDRESS_FORMAT_BITCOIN_{network}_{kind}"))


@pytest.mark.parametrize("name", sorted(ACCOUNTS))
def test_every_spelling_is_one_destination(name: str) -> None:
    assert len({address_key(written) for written in spellings(ACCOUNTS[name])}) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_script_is_the_same_on_every_network(kind: str) -> None:
    """The attack: the same key under its testnet address, where a DENY policy names the mainnet address."""
    assert len({bitcoin(network, kind) for network in NETWORKS}) > 1
    assert len({address_key(bitcoin(network, kind)) for network in NETWORKS}) == 1


def test_different_destinations_of_one_key_are_different() -> None:
    formats = [name for name in ACCOUNTS if "_BITCOIN_" not in name]
    written = [ACCOUNTS[name]["address"] for name in formats] + [bitcoin("MAINNET", kind) for kind in KINDS]
    assert len({address_key(one) for one in written}) == len(set(written))


NOT_ADDRESSES = [
    "",
    "1",
    "bc1",
    "bc1q",
    "hello",
    "ADDRESS_TABLE_LOOKUP",
    "é" * 40,
    "bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyv",  # the last letter is wrong
    "Bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu",  # of two cases
    "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN3",
    "1" * 100_000,
    "z" * 100_000,
    "bc1" + "q" * 100_000,
]


@pytest.mark.parametrize("text", NOT_ADDRESSES, ids=lambda text: text[:20])
def test_what_is_not_an_address_stands_for_itself(text: str) -> None:
    assert address_key(text) == text
    assert address_key(text + "x") == text + "x"


@settings(max_examples=200)
@given(st.binary(max_size=40))
def test_base58_comes_back(data: bytes) -> None:
    assert decode_base58(base58(data), 40) == data
    assert decode_base58check(base58check(data), 40) == data
    assert decode_base58(base58(data + b"\1" * 41), 40) is None


@settings(max_examples=200)
@given(st.sampled_from(["bc", "tb", "bcrt"]), st.integers(0, 16), st.binary(min_size=2, max_size=40), st.data())
def test_segwit_comes_back(prefix: str, version: int, program: bytes, data: st.DataObject) -> None:
    text = segwit(prefix, version, program)
    assert decode_segwit(text) == decode_segwit(text.upper()) == (prefix, version, program)
    place = data.draw(st.integers(0, len(text) - 1))
    letter = data.draw(st.sampled_from("qpzry9x8b1"))
    altered = text[:place] + letter + text[place + 1 :]
    assert altered == text or decode_segwit(altered) is None


def test_hashes_as_an_independent_library_reads_them() -> None:
    p2pkh, p2wpkh = bitcoin("MAINNET", "P2PKH"), bitcoin("MAINNET", "P2WPKH")
    assert P2PKHAddrDecoder.DecodeAddr(p2pkh, net_ver=b"\0").hex() in address_key(p2pkh)
    assert P2WPKHAddrDecoder.DecodeAddr(p2wpkh, hrp="bc").hex() in address_key(p2wpkh)
