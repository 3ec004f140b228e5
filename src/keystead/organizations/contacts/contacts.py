"""E-mail addresses and phone numbers: the form of their text.

Not here: whether an address can be reached. Nothing is looked up or sent.
"""

from __future__ import annotations

import re
from typing import assert_never

from keystead.api.enums import OtpType
from keystead.api.errors import InvalidRequest

_LOCAL_PART = re.compile(r"^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*\Z")
_DOMAIN_LABEL = re.compile(r"^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\Z")
_E164 = re.compile(r"^\+[1-9][0-9]{6,14}\Z")
_SEPARATORS = re.compile(r"[ ().-]")


def check_email(address: str, field: str) -> str:
    """The address, unchanged. Raises InvalidRequest unless its form is local-part@host.domain (lengths: RFC
    5321)."""
    local_part, at, domain = address.rpartition("@")
    if not at or len(local_part) > 64 or not _LOCAL_PART.match(local_part):
        raise InvalidRequest(
            f"invalid email address: field `{field}`: {address[:100]!r}: expected name@example.com",
            machine_code="INVALID_EMAIL",
        )
    labels = domain.split(".")
    if len(domain) > 253 or len(labels) < 2 or not all(_DOMAIN_LABEL.match(label) for label in labels):
        raise InvalidRequest(
            f"invalid email address: field `{field}`: {domain[:100]!r} is not a domain name",
            machine_code="INVALID_FQDN",
        )
    return address


def check_phone_number(number: str, field: str) -> str:
    """The number without separators. Raises InvalidRequest unless its form is that of E.164: + and 7 to 15
    digits."""
    compact = without_separators(number)
    if not _E164.match(compact):
        raise InvalidRequest(
            f"invalid phone number: field `{field}`: {number[:40]!r}: expected E.164, such as +14155550123"
        )
    return compact


def normalized_contact(otp_type: OtpType, contact: str) -> str:
    """The spelling in which contacts are compared and counted. The contact may be malformed."""
    match otp_type:
        case OtpType.EMAIL:
            return contact.lower()
        case OtpType.SMS:
            return without_separators(contact)
        case _:
            assert_never(otp_type)


def without_separators(number: str) -> str:
    return _SEPARATORS.sub("", number)
