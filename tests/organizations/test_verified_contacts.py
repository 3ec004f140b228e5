"""Verified contacts: what marks and unmarks them, and which user is found if several users have the contact."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keystead.api.enums import OtpType
from keystead.api.errors import InvalidRequest
from keystead.api.records import User
from keystead.organizations.kinds.verified_contacts import VerifiedContacts
from keystead.organizations.organization import (
    Change,
    Organization,
    Put,
    Remove,
    apply,
    from_records,
    records_of,
)
from keystead.organizations.sessions import user_with_email
from keystead.organizations.verified_contacts import (
    changes_for_changed_contacts,
    changes_for_removed_user,
    changes_for_verified_contact,
    check_logins_by_code,
    has_contact,
    is_verified,
    users_with_contact,
)
from tests.organizations.records import a_user, an_organization

EMAIL, SMS = OtpType.EMAIL, OtpType.SMS
ADA = a_user(user_id="ada", user_email="Ada@example.com", user_phone_number="+4915112345678")
BOB = a_user(user_id="bob", user_email="ada@example.com")
NOBODY = a_user(user_id="nobody")


def with_marks(*marks: VerifiedContacts) -> Organization:
    organization = an_organization(ADA, BOB, NOBODY)
    return apply(organization, [Put(mark) for mark in marks], organization.version)


HAS = [
    (ADA, EMAIL, "ada@example.com", True),
    (ADA, EMAIL, "ADA@EXAMPLE.COM", True),
    (ADA, EMAIL, "+4915112345678", False),
    (ADA, SMS, "+4915112345678", True),
    (ADA, SMS, "+491511234567", False),
    (BOB, SMS, "+4915112345678", False),
    (NOBODY, EMAIL, "", False),
]


@pytest.mark.parametrize(("user", "otp_type", "contact", "has"), HAS)
def test_whether_a_user_has_a_contact(user: User, otp_type: OtpType, contact: str, has: bool) -> None:
    assert has_contact(user, otp_type, contact) is has


MARK_ADA = VerifiedContacts(user_id="ada", email="Ada@example.com")
MARK_BOB = VerifiedContacts(user_id="bob", email="ada@example.com")
OWNERS = [
    ("verified by nobody: everybody who has it", (), ["ada", "bob"]),
    ("verified by one: this one", (MARK_BOB,), ["bob"]),
    ("verified by both", (MARK_ADA, MARK_BOB), ["ada", "bob"]),
    ("only the other contact is verified", (VerifiedContacts(user_id="ada", phone_number="+49"),), ["ada", "bob"]),
]


@pytest.mark.parametrize(("marks", "owners"), [one[1:] for one in OWNERS], ids=[one[0] for one in OWNERS])
def test_which_users_have_a_contact(marks: tuple[VerifiedContacts, ...], owners: list[str]) -> None:
    organization = with_marks(*marks)
    assert sorted(user.user_id for user in users_with_contact(organization, EMAIL, "ada@example.com")) == owners
    if len(owners) == 1:
        found = user_with_email(organization, "ada@example.com")
        assert found is not None
        assert [found.user_id] == owners
    else:
        with pytest.raises(InvalidRequest, match="more than one user has this address"):
            user_with_email(organization, "ada@example.com")
    assert user_with_email(organization, "stranger@example.com") is None


SPELLINGS = [None, "ada@example.com", "Ada@example.com", "ben@example.com"]
NUMBERS = [None, "+4915112345678", "+4915112345679"]
contact_changes = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from([*itertools.product(SPELLINGS, NUMBERS), "removed"])),
    max_size=12,
)


@given(contact_changes)
def test_the_indexes_of_contacts_find_what_reading_all_users_finds(
    changes: list[tuple[str, tuple[str | None, str | None] | str]],
) -> None:
    """Whatever was put and removed before, and also for an organization that is read back."""
    organization = an_organization()
    for user_id, contacts in changes:
        if contacts != "removed":
            change: Change = Put(a_user(user_id=user_id, user_email=contacts[0], user_phone_number=contacts[1]))
        elif user_id in organization.users:
            change = Remove(User, user_id)
        else:
            continue
        organization = apply(organization, [change], organization.version)
    read_back = from_records(organization.id, organization.version, records_of(organization))
    assert read_back == organization
    asked = [(EMAIL, each) for each in SPELLINGS if each] + [(SMS, each) for each in NUMBERS if each]
    for otp_type, contact in asked:
        expected = [user for user in organization.users.in_order() if has_contact(user, otp_type, contact)]
        assert users_with_contact(organization, otp_type, contact) == expected


def test_a_contact_is_marked_once() -> None:
    organization = with_marks()
    assert not is_verified(organization, ADA, EMAIL)
    changes = changes_for_verified_contact(organization, ADA, EMAIL)
    assert changes == (Put(MARK_ADA),)
    marked = apply(organization, changes, organization.version)
    assert is_verified(marked, ADA, EMAIL)
    assert not is_verified(marked, ADA, SMS)
    assert changes_for_verified_contact(marked, ADA, EMAIL) == ()
    both = VerifiedContacts(user_id="ada", email="Ada@example.com", phone_number="+4915112345678")
    assert changes_for_verified_contact(marked, ADA, SMS) == (Put(both),)


BOTH = VerifiedContacts(user_id="ada", email="Ada@example.com", phone_number="+4915112345678")
AFTER_CHANGES: list[tuple[str, VerifiedContacts | None, User, tuple[Change, ...]]] = [
    ("nothing was verified", None, ADA, ()),
    ("nothing has changed", BOTH, ADA, ()),
    (
        "another letter case",
        BOTH,
        a_user(user_id="ada", user_email="ADA@example.com", user_phone_number="+4915112345678"),
        (),
    ),
    (
        "another e-mail address",
        BOTH,
        a_user(user_id="ada", user_email="new@example.com", user_phone_number="+4915112345678"),
        (Put(VerifiedContacts(user_id="ada", phone_number="+4915112345678")),),
    ),
    ("another phone number", BOTH, a_user(user_id="ada", user_email="ada@example.com"), (Put(MARK_ADA),)),
    ("neither is left", BOTH, a_user(user_id="ada"), (Remove(VerifiedContacts, "ada"),)),
]


@pytest.mark.parametrize(
    ("mark", "after", "changes"), [one[1:] for one in AFTER_CHANGES], ids=[one[0] for one in AFTER_CHANGES]
)
def test_a_changed_contact_is_not_verified(
    mark: VerifiedContacts | None, after: User, changes: tuple[Change, ...]
) -> None:
    organization = with_marks(*([] if mark is None else [mark]))
    assert changes_for_changed_contacts(organization, after) == changes


def test_the_verified_contacts_of_a_removed_user_are_removed() -> None:
    assert changes_for_removed_user(with_marks(BOTH), "ada") == (Remove(VerifiedContacts, "ada"),)
    assert changes_for_removed_user(with_marks(BOTH), "bob") == ()


@pytest.mark.parametrize(
    ("otp_type", "feature"), [(EMAIL, "FEATURE_NAME_OTP_EMAIL_AUTH"), (SMS, "FEATURE_NAME_SMS_AUTH")]
)
def test_logins_by_code_need_their_feature(otp_type: OtpType, feature: str) -> None:
    check_logins_by_code(an_organization(ADA, features={feature: ""}), otp_type)
    with pytest.raises(InvalidRequest, match=f"feature {feature} is not enabled"):
        check_logins_by_code(an_organization(ADA), otp_type)
