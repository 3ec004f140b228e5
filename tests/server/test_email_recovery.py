"""Recovery by e-mail over HTTP: the whole flow, and a recovery key that opens nothing else."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import httpx
import pytest

from keystead.api.catalogue import Operation
from keystead.operations import CATALOGUE
from keystead.stamps.base64url import encode_base64url
from tests.support import bundles
from tests.support.authorization_scenario import new_sub_organization
from tests.support.callers import SDK_FORM, Caller, answered, refusal
from tests.support.codes import Codes
from tests.support.example_codes import an_address
from tests.support.hanging import PATIENCE_S
from tests.support.operation_examples import RecordIds, create_records, example_body
from tests.support.organization_fixtures import mfa_policy_params
from tests.support.passkeys import SoftPasskey
from tests.support.recovery import recovering, recovery_params


def with_address(codes: Codes) -> tuple[Caller, str]:
    """The root user of a new sub-organization, who has an e-mail address, and the address."""
    address = an_address()
    return new_sub_organization(codes.caller, contacts={"userEmail": address}), address


def recover(key: Caller, passkey: SoftPasskey, user_id: str = "") -> httpx.Response:
    return key.submit(
        "recover_user", {"userId": user_id or key.user_id, "authenticator": passkey.params()}, SDK_FORM
    )


def types_of_keys(user: Caller) -> list[str]:
    return [key["credential"]["type"] for key in user.asked("get_api_keys", userId=user.user_id)["apiKeys"]]


def test_a_recovery_from_the_email_to_a_login_by_the_new_passkey(codes: Codes) -> None:
    user, address = with_address(codes)
    client, passkey = bundles.fresh(), SoftPasskey()
    parent_there = codes.caller.with_key(codes.caller.key, codes.caller.user_id, user.organization_id)
    link = {"appName": "Wallets", "magicLinkTemplate": "https://example.com/recover?bundle=%s"}
    asked = recovery_params(address.upper(), bundles.point(client).hex(), emailCustomization=link)
    started = parent_there.submitted("init_user_email_recovery", asked, SDK_FORM)
    assert started["result"] == {"initUserEmailRecoveryResult": {"userId": user.user_id}}
    message = codes.outbox.wait_for(address)
    assert message.subject == "Recover your account at Wallets"
    assert f"https://example.com/recover?bundle={message.secret}" in message.text
    assert types_of_keys(user) == ["CREDENTIAL_TYPE_API_KEY_P256", "CREDENTIAL_TYPE_RECOVER_USER_KEY_P256"]
    private = bundles.credential(message.secret, client)
    for secret in (message.secret, bundles.scalar(private), bundles.scalar(private).hex()):
        planted = secret if isinstance(secret, bytes) else secret.encode()
        assert not any(planted in value for value in codes.server.installation.database.values())
        assert planted not in codes.server.log.read_bytes()

    key = recovering(codes.caller, user)
    assert key.asked("whoami")["userId"] == user.user_id
    result = answered(recover(key, passkey))["activity"]["result"]["recoverUserResult"]
    (authenticator,) = user.asked("get_authenticators", userId=user.user_id)["authenticators"]
    assert result == {"authenticatorId": [authenticator["authenticatorId"]]}
    assert authenticator["credentialId"] == encode_base64url(passkey.credential_id)
    assert types_of_keys(user) == ["CREDENTIAL_TYPE_API_KEY_P256"]
    body = user.query_body()
    found = answered(user.http.post("/public/v1/query/whoami", content=body, headers=passkey.stamp(body)))
    assert found["userId"] == user.user_id
    for response in (key.ask("whoami"), recover(key, SoftPasskey())):
        status, text = refusal(response)
        assert (status, "could not find public key in organization" in text) == (401, True), text


class OwnRecovery(NamedTuple):
    """A root user's ordinary key and recovery key, and the records of the organization."""

    root: Caller
    key: Caller
    record_ids: RecordIds


@pytest.fixture(scope="module")
def own_recovery(codes: Codes) -> Iterator[OwnRecovery]:
    record_ids = create_records(codes.caller)
    yield OwnRecovery(codes.caller, recovering(codes.caller, codes.caller), record_ids)


BARRED = [operation for operation in CATALOGUE if not operation.for_recovery]


def test_two_operations_are_open_to_a_recovery_key() -> None:
    assert {operation.name for operation in CATALOGUE if operation.for_recovery} == {"recover_user", "whoami"}


@pytest.mark.parametrize("operation", BARRED, ids=lambda operation: operation.path)
def test_a_root_users_recovery_key_opens_nothing_else(operation: Operation, own_recovery: OwnRecovery) -> None:
    body = example_body(own_recovery.root, operation, own_recovery.record_ids)
    before = own_recovery.root.asked("list_activities")["activities"]
    status, text = refusal(own_recovery.key.post(operation.path, body))
    assert (status, "it stamps recover_user and opens nothing else" in text) == (403, True), text
    assert own_recovery.root.asked("list_activities")["activities"] == before


def _of_another_user(codes: Codes) -> httpx.Response:
    user, _ = with_address(codes)
    other = user.new_user()
    return recover(recovering(codes.caller, user), SoftPasskey(), other.user_id)


def _in_another_organization(codes: Codes) -> httpx.Response:
    user, _ = with_address(codes)
    other, _ = with_address(codes)
    key = recovering(codes.caller, user)
    return recover(key.with_key(key.key, other.user_id, other.organization_id), SoftPasskey())


def _of_the_parent_in_a_sub_organization(codes: Codes) -> httpx.Response:
    key, (user, _) = recovering(codes.caller, codes.caller), with_address(codes)
    return recover(key.with_key(key.key, user.user_id, user.organization_id), SoftPasskey())


def _by_an_ordinary_key(codes: Codes) -> httpx.Response:
    user, _ = with_address(codes)
    return recover(user, SoftPasskey())


def _by_a_replaced_key(codes: Codes) -> httpx.Response:
    user, _ = with_address(codes)
    first = recovering(codes.caller, user)
    recovering(codes.caller, user)
    return recover(first, SoftPasskey())


def _by_an_expired_key(codes: Codes) -> httpx.Response:
    user, _ = with_address(codes)
    key = recovering(codes.caller, user, expirationSeconds="1")
    deadline = time.monotonic() + PATIENCE_S
    while key.ask("whoami").status_code == 200 and time.monotonic() < deadline:
        time.sleep(0.05)
    return recover(key, SoftPasskey())


def _with_a_passkey_that_somebody_has(codes: Codes) -> httpx.Response:
    user, _ = with_address(codes)
    passkey = SoftPasskey()
    asked = {"userId": user.user_id, "authenticators": [passkey.params()]}
    user.submitted("create_authenticators", asked)
    return recover(recovering(codes.caller, user), passkey)


REFUSED: dict[str, tuple[Callable[[Codes], httpx.Response], int, str]] = {
    "another user": (_of_another_user, 403, "expected the stamp of the recovery key"),
    "another organization": (_in_another_organization, 401, "could not find public key"),
    "a sub-organization": (_of_the_parent_in_a_sub_organization, 400, "organization mismatch"),
    "an ordinary key": (_by_an_ordinary_key, 403, "expected the stamp of the recovery key"),
    "a replaced key": (_by_a_replaced_key, 401, "could not find public key"),
    "an expired key": (_by_an_expired_key, 401, "Unauthenticated desc = expired api key publicKey"),
    "a passkey that is taken": (_with_a_passkey_that_somebody_has, 400, "credential"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_recoveries_that_are_refused(codes: Codes, name: str) -> None:
    attempt, status, text = REFUSED[name]
    refused_status, message = refusal(attempt(codes))
    assert (refused_status, text in message) == (status, True), message


def test_a_key_recovers_once_also_by_many_at_the_same_instant(codes: Codes) -> None:
    user, _ = with_address(codes)
    key = recovering(codes.caller, user)
    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(lambda _: recover(key, SoftPasskey()), range(4)))
    assert sorted(answer.status_code for answer in answers)[0] == 200
    assert sum(answer.status_code == 200 for answer in answers) == 1, [answer.text for answer in answers]
    assert len(user.asked("get_authenticators", userId=user.user_id)["authenticators"]) == 1


def test_a_recovery_waits_for_the_proofs_of_mfa_and_proves_none(codes: Codes) -> None:
    user, _ = with_address(codes)
    methods = [{"type": "AUTHENTICATION_TYPE_API_KEY"}]
    user.submitted("create_mfa_policy", mfa_policy_params(user.user_id, methods))
    key = recovering(codes.caller, user)
    activity = answered(recover(key, SoftPasskey()))["activity"]
    assert activity["status"] == "ACTIVITY_STATUS_AUTHENTICATORS_NEEDED"
    approved = answered(user.submit("approve_activity", {"fingerprint": activity["fingerprint"]}, SDK_FORM))
    assert approved["activity"]["status"] == "ACTIVITY_STATUS_COMPLETED", approved
    assert len(user.asked("get_authenticators", userId=user.user_id)["authenticators"]) == 1


def test_a_recovery_key_is_no_session_for_mfa(codes: Codes) -> None:
    user, _ = with_address(codes)
    methods = [{"type": "AUTHENTICATION_TYPE_SESSION"}]
    user.submitted("create_mfa_policy", mfa_policy_params(user.user_id, methods))
    waiting = answered(recover(recovering(codes.caller, user), SoftPasskey()))["activity"]
    assert waiting["status"] == "ACTIVITY_STATUS_AUTHENTICATORS_NEEDED"


STARTS_REFUSED: list[tuple[str, dict[str, Any], int, str]] = [
    ("the feature is off", {"disableEmailRecovery": True}, 400, "FEATURE_NAME_EMAIL_RECOVERY is not enabled"),
    ("nobody has the address", {}, 404, "unable to find a user by this e-mail address"),
]


@pytest.mark.parametrize(
    ("name", "switch", "status", "text"), STARTS_REFUSED, ids=[row[0] for row in STARTS_REFUSED]
)
def test_recoveries_that_do_not_start(
    codes: Codes, name: str, switch: dict[str, Any], status: int, text: str
) -> None:
    address = an_address()
    user = new_sub_organization(codes.caller, contacts={"userEmail": address} if switch else None, **switch)
    there = codes.caller.with_key(codes.caller.key, codes.caller.user_id, user.organization_id)
    asked = recovery_params(address, bundles.point(bundles.fresh()).hex())
    refused_status, message = refusal(there.submit("init_user_email_recovery", asked, SDK_FORM))
    assert (refused_status, text in message) == (status, True), message


def test_the_older_version_names_the_parent_where_no_application_is_named(codes: Codes) -> None:
    user, address = with_address(codes)
    asked = {"email": address, "targetPublicKey": bundles.point(bundles.fresh()).hex()}
    user.submitted("init_user_email_recovery", asked, type="ACTIVITY_TYPE_INIT_USER_EMAIL_RECOVERY")
    name = codes.caller.asked("whoami")["organizationName"]
    assert codes.outbox.wait_for(address).subject == f"Recover your account at {name}"
