"""An organization as a value: the result of changes, and the rules for its users and labels."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from keystead.api.enums import AddressFormat, Curve, TagType
from keystead.api.errors import InvalidRequest, LimitReached, NotFound
from keystead.api.records import PrivateKey, PrivateKeyAddress, Tag, User
from keystead.organizations.kinds.account_contacts import AccountContacts
from keystead.organizations.kinds.tags import TAGS
from keystead.organizations.kinds.users import Passkey, Users
from keystead.organizations.labels import check_unique
from keystead.organizations.limits import Limits, check_limit
from keystead.organizations.lookups import Lookup, LookupKind, identity_lookup_value, user_lookups
from keystead.organizations.organization import Organization, Put, Remove, Version, apply, from_records, records_of
from keystead.organizations.tags import check_tags
from keystead.organizations.users import check_can_authenticate
from tests.organizations.records import NOW, a_provider, a_user, an_api_key, an_authenticator, an_organization

NEXT = Version(2, "activity")
TAG = Tag(tag_id="tag", tag_name="ops", tag_type=TagType.USER, created_at=NOW, updated_at=NOW)


def test_only_the_put_record_changes() -> None:
    before = an_organization(user := a_user())
    after = apply(before, [Put(TAG)], NEXT)
    assert (after.version, dict(after.tags), dict(after.users)) == (NEXT, {"tag": TAG}, {user.user_id: user})
    assert (before.version.number, dict(before.tags)) == (1, {})


def test_putting_a_user_again_removes_the_old_credentials() -> None:
    old_key, new_key, passkey = an_api_key(), an_api_key(), an_authenticator()
    user = a_user(api_keys=(old_key,), authenticators=(passkey,))
    after = apply(an_organization(user), [Put(replace(user, api_keys=(new_key,), authenticators=()))], NEXT)
    assert list(after.users.by_public_key) == [new_key.credential.public_key]
    assert (dict(after.users.by_credential_id), dict(after.users.authenticators)) == ({}, {})


def test_the_credentials_of_a_removed_user_are_removed() -> None:
    user = a_user(api_keys=(an_api_key(),), authenticators=(an_authenticator(),))
    after = apply(an_organization(user), [Remove(User, user.user_id)], NEXT)
    found = (after.users, after.users.by_public_key, after.users.by_credential_id, after.users.authenticators)
    assert [len(index) for index in found] == [0, 0, 0, 0]


def test_a_removed_record_does_not_exist() -> None:
    passkey = Passkey(authenticator_id="a", rp_id_hash=b"")
    full = apply(an_organization(), [Put(TAG), Put(passkey)], NEXT)
    after = apply(full, [Remove(Tag, "tag"), Remove(Passkey, "a")], Version(3, "another"))
    assert (dict(after.tags), dict(after.passkeys)) == ({}, {})


def test_an_organization_needs_a_profile_and_a_data_key() -> None:
    with pytest.raises(ValueError, match="no profile or no data key"):
        from_records("organization", NEXT, [a_user()])


users_with_keys = st.lists(st.lists(st.integers(0, 5), unique=True, max_size=3), max_size=6)


@given(users_with_keys)
def test_indexes_agree_with_the_users(states: list[list[int]]) -> None:
    """Whatever a user's keys were before, and whichever are put next."""
    keys = [an_api_key() for _ in range(6)]
    user = a_user()
    organization: Organization = an_organization(user)
    for state in states:
        organization = apply(organization, [Put(replace(user, api_keys=tuple(keys[n] for n in state)))], NEXT)
    expected = {keys[number].credential.public_key for number in (states[-1] if states else [])}
    assert set(organization.users.by_public_key) == expected
    assert (
        from_records("organization", NEXT, _records(organization)).users.by_public_key
        == organization.users.by_public_key
    )


def _records(organization: Organization) -> list[Any]:
    return [organization.profile, organization.data_key, *organization.users.values()]


def a_private_key(number: int, address: str) -> PrivateKey:
    return PrivateKey(
        private_key_id=f"key-{number}",
        public_key="",
        private_key_name="",
        curve=Curve.SECP256K1,
        addresses=(PrivateKeyAddress(AddressFormat.ETHEREUM, address),),
        private_key_tags=(),
        created_at=NOW,
        updated_at=NOW,
        exported=False,
        imported=False,
    )


def test_a_private_key_is_found_by_its_address_the_oldest_first() -> None:
    """Also where the older one came later, and after it went."""
    keys = [Put(a_private_key(number, address)) for number, address in ((2, "0xAB"), (1, "0xab"), (3, "0xcd"))]
    both = apply(an_organization(), keys, NEXT)
    assert dict(both.private_keys.by_address) == {"~0xab": ("key-1", "key-2"), "~0xcd": ("key-3",)}
    assert both.private_keys.oldest_with_address("~0xab") == "key-1"
    left = apply(both, [Remove(PrivateKey, "key-1"), Remove(PrivateKey, "key-3")], NEXT)
    assert dict(left.private_keys.by_address) == {"~0xab": ("key-2",)}
    assert [key.private_key_id for key in left.private_keys.in_order()] == ["key-2"]
    assert from_records("organization", NEXT, records_of(both)) == both


def test_lookups() -> None:
    key, passkey = an_api_key(), an_authenticator()
    user = a_user(api_keys=(key,), authenticators=(passkey,), oauth_providers=(a_provider(),))
    identity = identity_lookup_value(a_provider().issuer, a_provider().audience, a_provider().subject)
    assert user_lookups(user) >= {
        Lookup(LookupKind.OAUTH_IDENTITY, identity, user.user_id),
        Lookup(LookupKind.PUBLIC_KEY, key.credential.public_key, user.user_id),
        Lookup(LookupKind.CREDENTIAL_ID, passkey.credential_id, user.user_id),
    }


def test_similar_identities_have_different_lookup_values() -> None:
    alike = [("ab", "c", "d"), ("a", "bc", "d"), ("a", "c", "bd"), ("c", "ab", "d"), ('a","b', "c", "d")]
    assert len({identity_lookup_value(*identity) for identity in alike}) == len(alike)
    assert len(identity_lookup_value("i" * 1024, "a" * 1024, "s" * 1024)) == 64


BY_MESSAGE = [
    ("e-mail, and nothing enabled", {}, {"user_email": "ada@example.com"}, False),
    ("e-mail, and one-time passwords by e-mail", {"OTP_EMAIL_AUTH": ""}, {"user_email": "ada@example.com"}, True),
    (
        "phone, and one-time passwords by e-mail",
        {"OTP_EMAIL_AUTH": ""},
        {"user_phone_number": "+14155550123"},
        False,
    ),
    ("phone, and messages enabled", {"SMS_AUTH": ""}, {"user_phone_number": "+14155550123"}, True),
    ("messages enabled, and no phone", {"SMS_AUTH": ""}, {}, False),
    ("a key", {}, {"api_keys": (an_api_key(),)}, True),
    ("a key that expires", {}, {"api_keys": (an_api_key(expires_after_s=60),)}, False),
]


@pytest.mark.parametrize(
    ("name", "features", "members", "is_valid"), BY_MESSAGE, ids=[name for name, *_ in BY_MESSAGE]
)
def test_valid_credential(name: str, features: dict[str, str], members: dict[str, Any], is_valid: bool) -> None:
    named = {f"FEATURE_NAME_{name}" for name in features}
    user = a_user(**members)
    contacts = AccountContacts(user_id=user.user_id, email=user.user_email, phone_number=user.user_phone_number)
    if is_valid:
        check_can_authenticate(user, contacts, named, "place")
    else:
        with pytest.raises(InvalidRequest, match="user missing valid credential: field `place`"):
            check_can_authenticate(user, contacts, named, "place")


def test_a_contact_that_finds_nobody_is_no_credential() -> None:
    user, features = a_user(user_email="ada@example.com"), {"FEATURE_NAME_OTP_EMAIL_AUTH"}
    with pytest.raises(InvalidRequest, match="user missing valid credential"):
        check_can_authenticate(user, AccountContacts(user_id=user.user_id), features, "place")


def test_unknown_user_and_tag_are_named() -> None:
    with pytest.raises(NotFound, match="unable to find user nobody in organization organization"):
        an_organization().record(Users, "nobody")
    with pytest.raises(NotFound, match="field `place`: unable to find tag none"):
        check_tags(apply(an_organization(), [Put(TAG)], NEXT), TagType.USER, ["tag", "none"], "place")


def test_labels_are_compared_with_letter_case() -> None:
    check_unique("Ops", [("ops", "1"), ("Ops ", "2")], "place")
    with pytest.raises(InvalidRequest, match="field `place`: label must be unique: 'ops' is 1"):
        check_unique("ops", [("ops", "1")], "place")


@pytest.mark.parametrize(("have", "adding", "is_room"), [(0, 3, True), (2, 1, True), (3, 1, False), (2, 2, False)])
def test_room(have: int, adding: int, is_room: bool) -> None:
    if is_room:
        check_limit(have, adding, TAGS, Limits(tags=3))
    else:
        with pytest.raises(LimitReached, match=f"tags: {have} of 3 are in use, {adding} more were asked for"):
            check_limit(have, adding, TAGS, Limits(tags=3))
