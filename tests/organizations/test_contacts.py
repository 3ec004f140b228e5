"""The form of e-mail addresses and phone numbers."""

from __future__ import annotations

import pytest

from keystead.api.errors import InvalidRequest
from keystead.organizations.contacts.contacts import check_email, check_phone_number

GOOD_ADDRESSES = [
    "ada@example.com",
    "a@b.c",
    "ada.lovelace+keys@mail.example.co.uk",
    "o'hara_99%x@example.com",
    "Ada@Example.COM",
    "ada@xn--bcher-kva.example",
    "a" * 64 + "@example.com",
    "ada@" + "d" * 63 + ".example",
]


@pytest.mark.parametrize("address", GOOD_ADDRESSES)
def test_email(address: str) -> None:
    assert check_email(address, "email") == address


BAD_ADDRESSES = [
    ("empty", "", "INVALID_EMAIL"),
    ("no @", "ada.example.com", "INVALID_EMAIL"),
    ("nothing before @", "@example.com", "INVALID_EMAIL"),
    ("two @", "ada@home@example.com", "INVALID_EMAIL"),
    ("a dot first", ".ada@example.com", "INVALID_EMAIL"),
    ("a dot last", "ada.@example.com", "INVALID_EMAIL"),
    ("two dots", "ada..l@example.com", "INVALID_EMAIL"),
    ("a space", "ada l@example.com", "INVALID_EMAIL"),
    ("a name before", "Ada <ada@example.com>", "INVALID_EMAIL"),
    ("a line break behind", "ada@example.com\n", "INVALID_FQDN"),
    ("a header after a line break", "ada\r\nBcc: eve@example.com", "INVALID_EMAIL"),
    ("letters beyond ASCII", "zoë@example.com", "INVALID_EMAIL"),
    ("65 characters before @", "a" * 65 + "@example.com", "INVALID_EMAIL"),
    ("nothing after @", "ada@", "INVALID_FQDN"),
    ("one label", "ada@localhost", "INVALID_FQDN"),
    ("an empty label", "ada@example..com", "INVALID_FQDN"),
    ("a dot at the end", "ada@example.com.", "INVALID_FQDN"),
    ("a label of 64", "ada@" + "d" * 64 + ".example", "INVALID_FQDN"),
    ("a hyphen first", "ada@-example.com", "INVALID_FQDN"),
    ("a hyphen last", "ada@example-.com", "INVALID_FQDN"),
    ("an underscore", "ada@ex_ample.com", "INVALID_FQDN"),
    ("over 253 characters", "ada@" + "d." * 126 + "ee", "INVALID_FQDN"),
    ("an address in brackets", "ada@[192.0.2.1]", "INVALID_FQDN"),
]


@pytest.mark.parametrize(("name", "address", "code"), BAD_ADDRESSES, ids=[name for name, *_ in BAD_ADDRESSES])
def test_bad_email(name: str, address: str, code: str) -> None:
    with pytest.raises(InvalidRequest, match="invalid email address: field `email`") as refused:
        check_email(address, "email")
    assert refused.value.machine_code == code


GOOD_NUMBERS = [
    ("+14155550123", "+14155550123"),
    ("+1 (415) 555-0123", "+14155550123"),
    ("+49.30.123456", "+4930123456"),
    ("+1234567", "+1234567"),
    ("+123456789012345", "+123456789012345"),
]


@pytest.mark.parametrize(("written", "kept"), GOOD_NUMBERS)
def test_phone_number(written: str, kept: str) -> None:
    assert check_phone_number(written, "phone") == kept


BAD_NUMBERS = [
    "",
    "+",
    "4155550123",
    "0014155550123",
    "+04155550123",
    "+123456",
    "+1234567890123456",
    "+1415555CALL",
    "++14155550123",
    "+14155550123\n",
    "+١٤١٥٥٥٥٠١٢٣",
]


@pytest.mark.parametrize("number", BAD_NUMBERS)
def test_bad_phone_number(number: str) -> None:
    with pytest.raises(InvalidRequest, match="invalid phone number: field `phone`"):
        check_phone_number(number, "phone")
