"""Spellings of an address: which of them are one address, for every format of the vectors."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from keystead.api.enums import AddressFormat
from keystead.chains.addresses.stored_forms import possible_forms, stored_form
from tests.support.known_keys import ADDRESSES

ACCOUNTS: dict[str, Any] = {one["addressFormat"]: one for one in ADDRESSES["walletAccounts"] if "address" in one}
TON = [name for name in ACCOUNTS if "_TON_" in name]
HEX = [f"ADDRESS_FORMAT_{name}" for name in ("ETHEREUM", "SUI", "APTOS", "COMPRESSED", "UNCOMPRESSED")]
BECH32 = [f"ADDRESS_FORMAT_{name}" for name in ("COSMOS", "SEI", "SPARK_MAINNET", "SPARK_REGTEST")]
BECH32 += [name for name in ACCOUNTS if name.endswith(("_P2WPKH", "_P2WSH", "_P2TR"))]
EXACT = sorted(ACCOUNTS.keys() - {*TON, *HEX, *BECH32})


def spellings(account: Any) -> list[str]:
    """Every way to write this account's address, the one of the vectors first."""
    name, address = account["addressFormat"], account["address"]
    if name in TON:
        forms = account["tonForms"]
        friendly = [forms[form] for form in ("nonBounceable", "bounceable", "testnetNonBounceable")]
        standard = [base64.b64encode(base64.urlsafe_b64decode(one)).decode() for one in friendly]
        return [address, *friendly, *standard, forms["raw"], forms["raw"].upper()]
    return [address] if name in EXACT else [address, address.lower(), address.upper()]


def test_the_tables_have_every_format() -> None:
    assert {*TON, *HEX, *BECH32, *EXACT} == set(ACCOUNTS)
    several = [name for name in (*TON, *HEX, *BECH32) if len(set(spellings(ACCOUNTS[name]))) > 1]
    assert set(several) == {*TON, *HEX, *BECH32}


@pytest.mark.parametrize("name", sorted(ACCOUNTS))
def test_one_address(name: str) -> None:
    account = ACCOUNTS[name]
    stored = stored_form(AddressFormat(name), account["address"])
    for written in spellings(account):
        assert stored in possible_forms(written), written
    others = [other["address"] for other in ACCOUNTS.values() if other["address"] != account["address"]]
    assert [other for other in others if stored in possible_forms(other)] == []


@pytest.mark.parametrize("name", [*EXACT, *TON])
def test_another_letter_case_is_another_address(name: str) -> None:
    address = ACCOUNTS[name]["address"]
    assert stored_form(AddressFormat(name), address) not in possible_forms(address.swapcase())


@pytest.mark.parametrize("name", TON)
def test_a_ton_address_with_a_wrong_checksum_is_not_an_address(name: str) -> None:
    address = ACCOUNTS[name]["tonForms"]["bounceable"]
    mistyped = address[:-1] + ("A" if address[-1] != "A" else "B")
    assert stored_form(AddressFormat(name), ACCOUNTS[name]["address"]) not in possible_forms(mistyped)
