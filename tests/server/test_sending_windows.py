"""Messages and attempts over a whole tree: floods by sign-ups, rooms of tenants and of the parent, guesses."""

from __future__ import annotations

import itertools
import secrets
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from keystead.stamps.signing import generate_api_key
from tests.conftest import MakeDatabase, StartServer
from tests.server.test_auth_proxy import ask, new_proxy, sign_up
from tests.support import bundles
from tests.support.authorization_scenario import new_parent, new_sub_organization
from tests.support.callers import SDK_FORM, Caller, answered, api_key_params, refusal
from tests.support.codes import PUBLIC_KEY, Codes, outbox_of
from tests.support.example_codes import an_address, code_params, encrypted_attempt
from tests.support.recovery import recovery_params
from tests.support.servers import bootstrap_installation

MESSAGES_MAX, ATTEMPTS_MAX = 3, 9
TOO_MANY = "Max number of OTPs have been initiated: this contact got 3 messages in 10 minutes"


@pytest.fixture(scope="module")
def codes(unshared_codes: Codes) -> Codes:
    return unshared_codes


def signed_up(codes: Codes, config_id: str) -> Caller:
    """The root user of a new sub-organization, who signed up through a proxy."""
    key = generate_api_key()
    asked = sign_up(apiKeys=[api_key_params(key.public_key)])
    made = answered(ask(codes.caller, config_id, "signup_v2", **asked))
    return codes.caller.with_key(key, made["userId"], made["organizationId"])


def a_number() -> str:
    return f"+1415{secrets.randbelow(10**7):07}"


def started(caller: Caller, contact: str, operation: str = "init_otp", **others: Any) -> httpx.Response:
    return caller.submit(operation, code_params(contact, **others), SDK_FORM)


@pytest.mark.parametrize("otp_type", ["OTP_TYPE_EMAIL", "OTP_TYPE_SMS"])
def test_a_flood_by_sign_ups_sends_three_messages_and_leaves_the_owner_room(codes: Codes, otp_type: str) -> None:
    config_id, contact = new_proxy(codes.caller), an_address() if otp_type == "OTP_TYPE_EMAIL" else a_number()
    tenants = [signed_up(codes, config_id) for _ in range(15)]
    # Spellings, operations and short codes make no difference.
    spelled = [contact, contact.upper() if "@" in contact else f"{contact[:5]}-{contact[5:]}"]
    asked = list(itertools.product(tenants, ("init_otp", "init_otp_auth"), spelled))
    with ThreadPoolExecutor(8) as threads:
        answers = list(
            threads.map(lambda one: started(one[0], one[2], one[1], otpType=otp_type, expirationSeconds="1"), asked)
        )
    assert sorted(answer.status_code for answer in answers) == [200] * MESSAGES_MAX + [429] * (60 - MESSAGES_MAX)
    assert all(TOO_MANY in refusal(answer)[1] for answer in answers if answer.status_code != 200)
    codes.outbox.wait_for(contact, count=MESSAGES_MAX)
    assert len(codes.outbox.messages(contact)) == MESSAGES_MAX
    # The parent and its proxy have room of their own.
    begun = ask(codes.caller, config_id, "otp_init_v2", otpType=otp_type, contact=contact)
    assert begun.status_code == 200, begun.text
    assert [started(codes.caller, contact, otpType=otp_type).status_code for _ in range(3)] == [200, 200, 429]
    codes.outbox.wait_for(contact, count=2 * MESSAGES_MAX)
    assert len(codes.outbox.messages(contact)) == 2 * MESSAGES_MAX


def test_what_the_parent_asks_for_in_a_sub_organization_takes_the_parents_room(codes: Codes) -> None:
    address = an_address()
    user = new_sub_organization(codes.caller, contacts={"userEmail": address})
    parent = codes.caller.with_key(codes.caller.key, codes.caller.user_id, user.organization_id)
    target = bundles.point(bundles.fresh()).hex()
    assert started(parent, address, "init_otp_auth").status_code == 200
    assert parent.submit("email_auth", recovery_params(address, target)).status_code == 200
    assert parent.submit("init_user_email_recovery", recovery_params(address, target)).status_code == 200
    for response in (
        started(parent, address, "init_otp_auth"),
        started(codes.caller, address),
        parent.submit("email_auth", recovery_params(address, target)),
        parent.submit("init_user_email_recovery", recovery_params(address, target)),
    ):
        status, message = refusal(response)
        assert (status, TOO_MANY in message) == (429, True), message
    # Its own user takes the other room, for bundles as for codes.
    assert started(user, address).status_code == 200
    for _ in range(2):
        assert user.submit("email_auth", recovery_params(address, target)).status_code == 200
    assert refusal(user.submit("init_user_email_recovery", recovery_params(address, target)))[0] == 429
    codes.outbox.wait_for(address, count=6)
    assert len(codes.outbox.messages(address)) == 6


def test_trees_do_not_share_their_rooms(codes: Codes) -> None:
    address, other = an_address(), new_parent(codes.server)
    for caller in (codes.caller, other, new_sub_organization(other)):
        assert [started(caller, address).status_code for _ in range(4)] == [200, 200, 200, 429]


def test_nine_guesses_at_the_codes_of_tenants_whichever_they_have(codes: Codes) -> None:
    """More codes in more sub-organizations give no more guesses."""
    address = an_address()
    tenants = [new_sub_organization(codes.caller) for _ in range(3)]
    begun = [
        (tenant, answered(started(tenant, address))["activity"]["result"]["initOtpResultV2"]) for tenant in tenants
    ]
    codes.outbox.wait_for(address, count=3)

    def guess(number: int) -> httpx.Response:
        tenant, code = begun[number % 3]
        attempt = encrypted_attempt(code["otpEncryptionTargetBundle"], f"GUESS{number:04}", PUBLIC_KEY)
        return tenant.submit("verify_otp", {"otpId": code["otpId"], "encryptedOtpBundle": attempt})

    with ThreadPoolExecutor(6) as threads:
        told = [refusal(answer) for answer in threads.map(guess, range(24))]
    assert sum("wrong code" in text for _, text in told) == ATTEMPTS_MAX
    assert all("wrong code" in text or "9 codes were tried" in text or "locked" in text for _, text in told)
    # The code that the parent sends has attempts of its own.
    assert codes.token(codes.started(address), codes.outbox.code(address, count=4)).contact == address


WEAK: list[tuple[dict[str, Any], bool]] = [
    ({"otpLength": 6, "alphanumeric": False}, False),
    ({"otpLength": 8, "alphanumeric": False}, False),
    ({"otpLength": 9, "alphanumeric": False}, True),
    ({"otpLength": 6, "alphanumeric": True}, True),
    ({}, True),
]


@pytest.mark.parametrize(("form", "is_strong"), WEAK, ids=str)
def test_a_sub_organization_does_not_choose_codes_that_are_guessed(
    codes: Codes, form: dict[str, Any], is_strong: bool
) -> None:
    tenant, address = new_sub_organization(codes.caller), an_address()
    for operation in ("init_otp", "init_otp_auth"):
        response = started(tenant, address, operation, **form)
        assert response.status_code == (200 if is_strong else 400)
        assert is_strong or "`parameters.otpLength` and `parameters.alphanumeric`" in refusal(response)[1]
    assert started(codes.caller, address, **form).status_code == 200, "the parent chooses for its own people"


def test_the_counts_of_a_tree_hold_across_processes(make_database: MakeDatabase, start: StartServer) -> None:
    """Two servers, six sub-organizations: three messages in all, nine guesses in all; also after a restart."""
    installation = bootstrap_installation(make_database(), mode="dev")
    servers = [start(installation) for _ in range(2)]
    both = [Codes(server, server.caller, outbox_of(server)) for server in servers]
    address = an_address()
    tenants = [new_sub_organization(both[number % 2].caller) for number in range(6)]
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda number: started(tenants[number % 6], address), range(12)))
    assert sorted(answer.status_code for answer in answers) == [200] * 3 + [429] * 9
    for server in servers:
        server.kill()
        server.start()
    assert {started(tenant, address).status_code for tenant in tenants} == {429}
    assert [started(each.caller, address).status_code for each in both] == [200, 200]
    installation.database.close()
