"""Every operation declares the credentials that it adds, and no others: each example of each type, and what users
have after it.

An execution that adds a credential that is not declared is not committed (`tests.pipeline.test_changes`), so every
example that completes shows that. Not here: what policies make of it (`tests.policies.test_added_credentials`).
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from keystead.operations import CATALOGUE
from keystead.pipeline.decision_basis import added_credentials
from keystead.pipeline.operation import ActivityOperation, KnownBefore, NewUser
from keystead.pipeline.submission import recorded_request
from tests.support.callers import SDK_FORM, Caller, answered
from tests.support.databases import Database
from tests.support.operation_examples import ANSWERED_WITH_ANOTHER, SUBMISSIONS, RecordIds, submitter

IN_ANOTHER_ORGANIZATION = "ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION"
NO_APPROVAL = "CREDENTIAL_TYPE_RECOVER_USER_KEY_P256"
"""A recovery key approves nothing."""


def held(caller: Caller) -> dict[str, tuple[str, str]]:
    """The user and the type of every credential of the organization, by an id and its text."""
    found: dict[str, tuple[str, str]] = {}
    for user in caller.asked("list_users")["users"]:
        keys = [(f"{key['apiKeyId']} {key['createdAt']}", key["credential"]["type"]) for key in user["apiKeys"]]
        keys += [(one["authenticatorId"], one["credential"]["type"]) for one in user["authenticators"]]
        keys += [(one["providerId"], "CREDENTIAL_TYPE_OAUTH") for one in user["oauthProviders"]]
        keys += [(one["walletAuthenticatorId"], "CREDENTIAL_TYPE_WALLET") for one in user["walletAuthenticators"]]
        keys += [
            (f"{user['userId']} {contact}", f"CREDENTIAL_TYPE_{type_}_OTP")
            for type_, contact in (("EMAIL", user.get("userEmail")), ("SMS", user.get("userPhoneNumber")))
            if contact
        ]
        found |= {id_: (user["userId"], type_) for id_, type_ in keys if type_ != NO_APPROVAL}
    return found


TRIED = [
    name
    for operation in CATALOGUE
    if isinstance(operation, ActivityOperation) and operation.vote is None
    for name in operation.activity_types
    if not name.startswith(IN_ANOTHER_ORGANIZATION)
]


@pytest.mark.parametrize("activity_type", TRIED)
def test_an_operation_declares_what_it_adds(
    activity_type: str, caller: Caller, record_ids: RecordIds, database: Database
) -> None:
    operation = CATALOGUE.of_type(activity_type)
    assert isinstance(operation, ActivityOperation)
    parameters, by = SUBMISSIONS[activity_type](record_ids), submitter(activity_type, caller)
    body = by.submit_body(operation.name, parameters, type=activity_type)
    known = KnownBefore(database.organization(caller.organization_id), by.user_id, {}, None)
    users_before, before = {user for user, _ in held(caller).values()}, held(caller)
    activity = answered(by.post(f"/public/v1/submit/{operation.name}", body, SDK_FORM))["activity"]
    added = [value for id_, value in held(caller).items() if id_ not in before]
    version = operation.version_of(activity_type)
    assert version is not None
    intent: Any = version.upgrade(recorded_request(version, body)[1])
    declared = added_credentials(operation, intent, known)
    if activity["status"] != "ACTIVITY_STATUS_COMPLETED":
        assert activity_type in ANSWERED_WITH_ANOTHER
        return
    adds, declares = Counter(type_ for _, type_ in added), Counter(str(one.type) for one in declared)
    # A contact that the user has already may be written again, with a proof.
    assert adds == declares or (adds < declares and set(declares - adds) <= CONTACTS)
    for user_id, type_ in added:
        holders = [one.holder for one in declared if one.type == type_]
        if user_id in users_before:
            assert user_id in holders or None in holders
        else:
            assert any(isinstance(holder, NewUser) for holder in holders)
    assert all(one.is_session == (one.type not in LASTING) for one in declared)


CONTACTS = {"CREDENTIAL_TYPE_EMAIL_OTP", "CREDENTIAL_TYPE_SMS_OTP"}
LASTING = frozenset(
    f"CREDENTIAL_TYPE_{name}"
    for name in (
        "API_KEY_P256",
        "API_KEY_SECP256K1",
        "API_KEY_ED25519",
        "WEBAUTHN_AUTHENTICATOR",
        "OAUTH",
        "WALLET",
        "EMAIL_OTP",
        "SMS_OTP",
    )
)
