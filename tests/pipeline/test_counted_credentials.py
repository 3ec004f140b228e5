"""Whether a credential existed at the submission is decided by versions of the organization, because the clocks of
two servers differ. And activities and organizations on record without versions.

Not here: the rule over HTTP (`tests.server.test_counted_credentials`).
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from keystead.api.enums import ActivityStatus, CredentialType
from keystead.organizations.kinds.credential_registrations import CredentialRegistrations, Registration
from keystead.organizations.organization import Remove, apply
from keystead.pipeline.activity import Proof
from keystead.pipeline.proofs import credentials_that_count
from tests.support.organization_harness import OrganizationHarness, Person, public_key

TWO_KEYS = "credentials.filter(c, c.type == 'CREDENTIAL_TYPE_API_KEY_P256').count() >= 2"
WAITS, DONE = ActivityStatus.CONSENSUS_NEEDED, ActivityStatus.COMPLETED


def with_policy() -> OrganizationHarness:
    people = OrganizationHarness("Root", Person("Ana"), root=["Root"])
    people.policy(consensus=TWO_KEYS, condition="activity.resource == 'WALLET'")
    add_key(people, "first")
    return people


def add_key(people: OrganizationHarness, label: str) -> None:
    key = {"apiKeyName": label, "publicKey": public_key(label), "curveType": "API_KEY_CURVE_P256"}
    asked = {"userId": people.user_ids["Ana"], "apiKeys": [key]}
    assert people.submit("Root", "create_api_keys", asked).status is DONE


def wallet(people: OrganizationHarness, key: str = "") -> Any:
    return people.submit("Ana", "create_wallet", {"walletName": f"wallet {people.ids.next}", "accounts": []}, key)


@pytest.mark.parametrize("clock_ms", [-60_000, 0, 60_000])
def test_the_clock_of_another_server_makes_no_difference(clock_ms: int) -> None:
    people = with_policy()
    activity = wallet(people)
    assert activity.status is WAITS
    people.clock.ms += clock_ms
    add_key(people, "later")
    people.clock.ms -= clock_ms
    assert people.approve("Ana", activity, "later").status is WAITS
    assert people.approve("Ana", activity, "first").status is DONE


@pytest.mark.parametrize("clock_ms", [-60_000, 0, 60_000])
def test_what_was_registered_before_counts_whatever_the_time_says(clock_ms: int) -> None:
    people = with_policy()
    people.clock.ms += clock_ms
    add_key(people, "earlier")
    people.clock.ms -= clock_ms
    assert people.approve("Ana", wallet(people), "earlier").status is DONE


def test_a_session_that_is_extended_is_registered_again() -> None:
    people = OrganizationHarness("Root", Person("Ana"), root=["Root"])
    people.policy(consensus="credentials.count() >= 2", condition="activity.resource == 'WALLET'")
    add_key(people, "first")
    login = {"publicKey": public_key("session"), "expirationSeconds": "600"}
    assert people.submit("Ana", "stamp_login", login, "first").status is DONE
    activity = wallet(people)
    assert people.submit("Ana", "stamp_login", login, "first").status is DONE
    assert people.approve("Ana", activity, "session").status is WAITS
    assert people.approve("Ana", wallet(people), "session").status is DONE


def test_credentials_without_a_registration_existed_always() -> None:
    """Those of an organization from before registrations were recorded."""
    people = with_policy()
    unrecorded = [Remove(CredentialRegistrations, people.user_ids["Ana"])]
    people.database.organizations[people.id] = apply(people.organization, unrecorded, people.organization.version)
    assert people.approve("Ana", wallet(people), "first").status is DONE


def test_the_proofs_of_an_activity_from_before_are_read() -> None:
    """Such an activity counts the credentials that have no registration."""
    old = {
        "user_id": "u",
        "record_id": "key",
        "type": "CREDENTIAL_TYPE_API_KEY_P256",
        "public_key": "02",
        "credential_id": "",
        "at_ms": 5,
        "registered_at_ms": 1,
    }
    proof = msgspec.json.decode(msgspec.json.encode(old), type=Proof)
    assert (proof.at_version, proof.registered_in, proof.origin) == (0, 0, "")
    people = with_policy()
    activity = wallet(people)
    stored = people.database.activities[people.id]
    first = replace(activity.proofs[0], at_version=0)
    stored[activity.id] = replace(activity, proofs=(first,))
    assert people.approve("Ana", activity, "first").status is WAITS


def test_registrations_are_those_of_the_credentials_that_users_have() -> None:
    people = with_policy()
    recorded = people.organization.maps[CredentialRegistrations]
    (first,) = [key for key in people.user("Ana").api_keys if key.api_key_name == "first"]
    assert recorded[people.user_ids["Ana"]].by_id == {first.api_key_id: Registration(3)}
    asked = {"userId": people.user_ids["Ana"], "apiKeyIds": [first.api_key_id]}
    assert people.submit("Root", "delete_api_keys", asked).status is DONE
    assert people.user_ids["Ana"] not in people.organization.maps[CredentialRegistrations]


def proof(record_id: str, type_: CredentialType, *, origin: str = "", registered_in: int = 0) -> Proof:
    return Proof(
        user_id="u",
        record_id=record_id,
        type=type_,
        public_key="",
        credential_id="",
        at_ms=0,
        at_version=7,
        registered_in=registered_in,
        origin=origin,
    )


@pytest.mark.parametrize("type_", CredentialType)
def test_a_credential_and_the_sessions_that_it_began_count_as_one(type_: CredentialType) -> None:
    """Every type. A code is another one each time; a session of a code counts beside it."""
    is_code = type_ in (CredentialType.EMAIL_OTP, CredentialType.SMS_OTP)
    both = [proof("one", type_), proof("session", CredentialType.LOGIN, origin="one")]
    for proofs in (both, both[::-1]):
        assert len(credentials_that_count(proofs, proof("submitting", type_))) == (2 if is_code else 1)


KEY, LOGIN, CODE = CredentialType.API_KEY_P256, CredentialType.LOGIN, CredentialType.EMAIL_OTP


@pytest.mark.parametrize(
    ("proofs", "expected"),
    [
        ([proof("key", KEY), proof("passkey", KEY)], [["key"], ["passkey"]]),
        ([proof("key", KEY, registered_in=7), proof("later", KEY, registered_in=8)], [["key"]]),
        ([proof("session", LOGIN, origin="key"), proof("key", KEY)], [["session", "key"]]),
        ([proof("one", LOGIN, origin="key"), proof("two", LOGIN, origin="key")], [["one", "two"]]),
        ([proof("one", LOGIN, origin="key"), proof("two", LOGIN, origin="passkey")], [["one"], ["two"]]),
        ([proof("one", LOGIN, origin="mail"), proof("two", LOGIN, origin="mail")], [["one", "two"]]),
        ([proof("session", LOGIN, origin="mail"), proof("mail", CODE)], [["session"], ["mail"]]),
    ],
)
def test_proofs_of_one_origin_are_together(proofs: list[Proof], expected: list[list[str]]) -> None:
    """A code is new each time, so it counts beside a session that an earlier code began."""
    found = credentials_that_count(proofs, proof("stamp", KEY))
    assert [[one.record_id for one in of_one] for of_one in found] == expected
    assert credentials_that_count(proofs, None) == []
