"""Account contacts: what evidence makes of them, and which users a contact finds."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from keystead.api.enums import OtpType
from keystead.api.errors import InvalidRequest
from keystead.api.records import User
from keystead.organizations.contacts.account_contacts import (
    changes_for_removed_user,
    check_logins_by_code,
    contact_changes,
    has_contact,
    is_verified,
    users_found_by,
)
from keystead.organizations.contacts.contact_evidence import (
    GOOGLE,
    ContactEvidence,
    of_google,
    of_operator,
    of_token,
    of_used_code,
    of_writing,
)
from keystead.organizations.contacts.one_time_codes import OneTimeCode
from keystead.organizations.credentials.identities import ProvenIdentity
from keystead.organizations.credentials.sessions import user_with_email
from keystead.organizations.kinds.account_contacts import AccountContacts, AccountContactsMap
from keystead.organizations.kinds.auth_proxies import AuthProxy, AuthProxySettings
from keystead.organizations.kinds.data_key import Sealed
from keystead.organizations.lookups import LookupKind
from keystead.organizations.organization import (
    Change,
    Organization,
    Put,
    Remove,
    apply,
    from_records,
    records_of,
)
from keystead.sessions.one_time_codes import CodeForm
from keystead.sessions.verification_tokens import VerificationToken
from tests.organizations.records import NOW, a_user, an_organization
from tests.support.source_tree import modules

EMAIL, SMS = OtpType.EMAIL, OtpType.SMS
NUMBER = "+4915112345678"
ADA = a_user(user_id="ada", user_email="Ada@example.com", user_phone_number=NUMBER)
BOB = a_user(user_id="bob", user_email="ada@example.com")
NOBODY = a_user(user_id="nobody")


def with_contacts(*contacts: AccountContacts) -> Organization:
    organization = an_organization(ADA, BOB, NOBODY)
    return apply(organization, [Put(each) for each in contacts], organization.version)


HAS = [
    (ADA, EMAIL, "ada@example.com", True),
    (ADA, EMAIL, "ADA@EXAMPLE.COM", True),
    (ADA, EMAIL, NUMBER, False),
    (ADA, SMS, NUMBER, True),
    (ADA, SMS, "+491511234567", False),
    (BOB, SMS, NUMBER, False),
    (NOBODY, EMAIL, "", False),
]


@pytest.mark.parametrize(("user", "otp_type", "contact", "has"), HAS)
def test_whether_a_user_has_a_contact(user: User, otp_type: OtpType, contact: str, has: bool) -> None:
    assert has_contact(user, otp_type, contact) is has


OF_ADA = AccountContacts(user_id="ada", email="Ada@example.com")
OF_BOB = AccountContacts(user_id="bob", email="ada@example.com", email_verified=False)
FOUND = [
    ("only written", (), []),
    ("verified by one", (OF_ADA,), ["ada"]),
    ("written by the parent for one", (OF_BOB,), ["bob"]),
    ("both", (OF_ADA, OF_BOB), ["ada", "bob"]),
    ("only the other contact", (AccountContacts(user_id="ada", phone_number=NUMBER),), []),
    ("an address that the user no longer has", (AccountContacts(user_id="nobody", email="ada@example.com"),), []),
    ("of a user who is gone", (AccountContacts(user_id="gone", email="ada@example.com"),), []),
]


@pytest.mark.parametrize(("contacts", "found"), [one[1:] for one in FOUND], ids=[one[0] for one in FOUND])
def test_which_users_a_contact_finds(contacts: tuple[AccountContacts, ...], found: list[str]) -> None:
    organization = with_contacts(*contacts)
    assert [user.user_id for user in users_found_by(organization, EMAIL, "ada@example.com")] == found
    if len(found) > 1:
        with pytest.raises(InvalidRequest, match="more than one user is found by this address"):
            user_with_email(organization, "ada@example.com")
        return
    user = user_with_email(organization, "ada@example.com")
    assert ([] if user is None else [user.user_id]) == found


# Evidence.

TOKEN = VerificationToken(
    id="token",
    organization_id="organization",
    otp_type=EMAIL,
    contact="ADA@example.com",
    expires_at_ms=1,
    public_key=None,
)
CODE = OneTimeCode(
    id="code",
    flow="auth",
    otp_type=SMS,
    contact="+49 151 12345678",
    form=CodeForm(),
    digest=b"",
    created_at_ms=0,
    expires_at_ms=1,
)
PROXY = AuthProxy(
    user_id="bob",
    policy_id="policy",
    public_key="02",
    sealed_key=Sealed("key", b""),
    settings=AuthProxySettings(),
    created_at=NOW,
    updated_at=NOW,
)
PARENT = apply(an_organization(ADA, BOB), [Put(PROXY)], an_organization().version)
BELOW = apply(PARENT, [Put(replace(PARENT.profile, parent_id="parent"))], PARENT.version)
WRITTEN = [(EMAIL, "ada@example.com", False), (SMS, NUMBER, False)]


def google(**members: Any) -> ProvenIdentity:
    claims: dict[str, Any] = {"iss": GOOGLE, "sub": "ada", "aud": "client", "email": "ada@example.com"} | members
    return ProvenIdentity(**claims)


EVIDENCE: list[tuple[str, Sequence[ContactEvidence], list[tuple[OtpType, str, bool]]]] = [
    ("a verification token", [of_token(TOKEN)], [(EMAIL, "ada@example.com", True)]),
    ("a used code", [of_used_code(CODE.after_use(1))], [(SMS, NUMBER, True)]),
    ("Google, any client id", of_google(google(), None), [(EMAIL, "ada@example.com", True)]),
    ("Google, this client id", of_google(google(), {"client"}), [(EMAIL, "ada@example.com", True)]),
    ("Google, another client id", of_google(google(), {"other"}), []),
    ("Google, an address that it has not verified", of_google(google(email=None), None), []),
    ("another issuer", of_google(google(iss="https://issuer.example"), None), []),
    ("a user of the parent", of_writing("ada", PARENT, ADA), WRITTEN),
    ("a user of the parent, one contact", of_writing("ada", PARENT, ADA, [SMS]), WRITTEN[1:]),
    ("a user of the parent, no contact", of_writing("ada", PARENT, NOBODY), []),
    ("an authentication proxy", of_writing("bob", PARENT, ADA), []),
    ("a stranger", of_writing("eve", PARENT, ADA), []),
    ("a sub-organization about itself", of_writing("ada", BELOW, ADA), []),
    ("the operator", of_operator(ADA), WRITTEN),
]


@pytest.mark.parametrize(("evidence", "proved"), [one[1:] for one in EVIDENCE], ids=[one[0] for one in EVIDENCE])
def test_evidence(evidence: Sequence[ContactEvidence], proved: list[tuple[OtpType, str, bool]]) -> None:
    assert [(one.otp_type, one.contact, one.is_verified) for one in evidence] == proved


def test_a_code_that_nobody_typed_is_no_evidence() -> None:
    with pytest.raises(AssertionError):
        of_used_code(CODE)


def test_only_its_module_makes_evidence_and_only_one_makes_the_records() -> None:
    """No other module of the server may call these two classes."""
    allowed = {
        "ContactEvidence": "keystead.organizations.contacts.contact_evidence",
        "AccountContacts": "keystead.organizations.contacts.account_contacts",
    }
    made = {
        (node.func.id, name)
        for name, module in modules().items()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in allowed
    }
    assert made == set(allowed.items())


# Records.


VERIFIED = (of_token(TOKEN),)
BOTH = AccountContacts(user_id="ada", email="Ada@example.com", phone_number=NUMBER)
BY_PARENT = replace(BOTH, email_verified=False, phone_number_verified=False)
CHANGES: list[tuple[str, AccountContacts | None, User, Sequence[ContactEvidence], tuple[Change, ...]]] = [
    ("written, without evidence", None, ADA, (), ()),
    ("written by the parent", None, ADA, of_operator(ADA), (Put(BY_PARENT),)),
    ("verified", None, ADA, VERIFIED, (Put(OF_ADA),)),
    ("evidence for another's contact", None, NOBODY, VERIFIED, ()),
    ("verified again", OF_ADA, ADA, VERIFIED, ()),
    ("verified, then written by the parent", BOTH, ADA, of_operator(ADA), ()),
    (
        "written by the parent, then verified",
        BY_PARENT,
        ADA,
        VERIFIED,
        (Put(replace(BY_PARENT, email_verified=True)),),
    ),
    ("nothing has changed", BOTH, ADA, (), ()),
    ("another letter case", BOTH, replace(ADA, user_email="ADA@example.com"), (), ()),
    (
        "another address, without evidence",
        BOTH,
        replace(ADA, user_email="new@example.com"),
        (),
        (Put(AccountContacts(user_id="ada", phone_number=NUMBER)),),
    ),
    (
        "another address, by the parent",
        BOTH,
        replace(ADA, user_email="new@example.com"),
        of_operator(a_user(user_email="new@example.com")),
        (Put(replace(BOTH, email="new@example.com", email_verified=False)),),
    ),
    ("another number", BOTH, replace(ADA, user_phone_number="+4915199999999"), (), (Put(OF_ADA),)),
    ("neither is left", BOTH, a_user(user_id="ada"), (), (Remove(AccountContacts, "ada"),)),
]


@pytest.mark.parametrize(
    ("before", "user", "evidence", "changes"), [one[1:] for one in CHANGES], ids=[one[0] for one in CHANGES]
)
def test_the_change_of_account_contacts(
    before: AccountContacts | None, user: User, evidence: Sequence[ContactEvidence], changes: tuple[Change, ...]
) -> None:
    organization = with_contacts(*([] if before is None else [before]))
    assert contact_changes(organization, user, evidence) == changes


def test_records_of_earlier_versions_are_those_of_verified_contacts() -> None:
    stored = b'{"user_id":"ada","email":"Ada@example.com","phone_number":null}'
    assert msgspec.json.decode(stored, type=AccountContacts) == OF_ADA


def test_the_account_contacts_of_a_removed_user_are_removed() -> None:
    assert changes_for_removed_user(with_contacts(BOTH), "ada") == (Remove(AccountContacts, "ada"),)
    assert changes_for_removed_user(with_contacts(BOTH), "bob") == ()


def test_what_is_verified_and_what_the_indexes_list() -> None:
    mixed = replace(BOTH, email_verified=False)
    organization = with_contacts(mixed)
    assert [is_verified(organization, ADA, each) for each in (EMAIL, SMS)] == [False, True]
    assert {(one.kind, one.value) for one in AccountContactsMap.lookups(mixed)} == {
        (LookupKind.ACCOUNT_EMAIL, "ada@example.com"),
        (LookupKind.ACCOUNT_PHONE_NUMBER, NUMBER),
        (LookupKind.VERIFIED_PHONE_NUMBER, NUMBER),
    }


SPELLINGS = [None, "ada@example.com", "Ada@example.com", "ben@example.com"]
NUMBERS = [None, NUMBER, "+4915112345679"]
written_contacts = st.tuples(st.sampled_from(SPELLINGS), st.sampled_from(NUMBERS))
steps = st.lists(
    st.tuples(st.sampled_from("abc"), st.one_of(st.none(), written_contacts), st.booleans()), max_size=12
)


@given(steps)
def test_a_contact_finds_whoever_has_it_with_evidence(
    changes: list[tuple[str, tuple[str | None, str | None] | None, bool]],
) -> None:
    """Whatever was written, proved and removed (None) before, and also for an organization that is read back."""
    organization = an_organization()
    entitled: set[tuple[str, str]] = set()
    for user_id, contacts, has_evidence in changes:
        held = [(id_, contact) for id_, contact in entitled if id_ == user_id]
        if contacts is None:
            if user_id not in organization.users:
                continue
            change: tuple[Change, ...] = (
                *changes_for_removed_user(organization, user_id),
                Remove(User, user_id),
            )
            kept: set[str] = set()
        else:
            email, number = contacts
            user = a_user(user_id=user_id, user_email=email, user_phone_number=number)
            evidence = of_operator(user) if has_evidence else ()
            change = (Put(user), *contact_changes(organization, user, evidence))
            kept = {(each or "").lower() for each in (email, number)} - {""}
        entitled -= {(id_, contact) for id_, contact in held if contact not in kept}
        if has_evidence:
            entitled |= {(user_id, contact) for contact in kept}
        organization = apply(organization, change, organization.version)
    read_back = from_records(organization.id, organization.version, records_of(organization))
    assert read_back == organization
    asked = [(EMAIL, each) for each in SPELLINGS if each] + [(SMS, each) for each in NUMBERS if each]
    for otp_type, contact in asked:
        found = {user.user_id for user in users_found_by(organization, otp_type, contact)}
        assert found == {user_id for user_id, held_contact in entitled if held_contact == contact.lower()}


@pytest.mark.parametrize(
    ("otp_type", "feature"), [(EMAIL, "FEATURE_NAME_OTP_EMAIL_AUTH"), (SMS, "FEATURE_NAME_SMS_AUTH")]
)
def test_logins_by_code_need_their_feature(otp_type: OtpType, feature: str) -> None:
    check_logins_by_code(an_organization(ADA, features={feature: ""}), otp_type)
    with pytest.raises(InvalidRequest, match=f"feature {feature} is not enabled"):
        check_logins_by_code(an_organization(ADA), otp_type)
