"""Messages of logins that are sent again, over HTTP on both databases: whole requests, and parts in new ones.

Not here: what is sent too late (`test_expired_logins`), what is another organization's (`test_foreign_logins`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import httpx
import pytest

from keystead.stamps.signing import generate_api_key
from tests.conftest import MakeDatabase
from tests.server.test_auth_proxy import ask, new_proxy, sign_up
from tests.support import bundles
from tests.support.callers import SDK_FORM, Caller, Headers, answered, api_key_params, refusal, unique
from tests.support.codes import PUBLIC_KEY, Codes, outbox_of, signup_signature
from tests.support.example_codes import an_address, claims, code_params, encrypted_attempt
from tests.support.issuers import taking_tokens
from tests.support.people import Person, new_person, otp_login_params
from tests.support.servers import bootstrap_installation, running
from tests.support.sessions import attested


@pytest.fixture(scope="module")
def codes(make_database: MakeDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Codes]:
    """A server that keeps its messages and takes ISSUER's tokens."""
    installation, folder = bootstrap_installation(make_database(), mode="dev"), tmp_path_factory.mktemp("replays")
    with running(installation, folder / "log", taking_tokens(folder)) as server:
        yield Codes(server, server.caller, outbox_of(server))
    installation.database.close()


def target() -> str:
    return bundles.point(bundles.fresh()).hex()


# Whole requests.


class Request(NamedTuple):
    """The bytes of a submission, with its stamp."""

    name: str
    body: bytes
    headers: Headers

    def send(self, codes: Codes) -> httpx.Response:
        return codes.server.http.post(
            f"/public/v1/submit/{self.name}", content=self.body, headers={**self.headers, **SDK_FORM}
        )


def stamped(caller: Caller, name: str, parameters: dict[str, Any], **envelope: Any) -> Request:
    body = caller.submit_body(name, parameters, **envelope)
    return Request(name, body, caller.stamped(body))


def init_otp(person: Person) -> Request:
    return stamped(person.codes.caller, "init_otp", code_params(person.email))


def verify_otp(person: Person) -> Request:
    begun = person.codes.started(person.email)
    code = person.codes.outbox.code(person.email)
    attempt = encrypted_attempt(begun["otpEncryptionTargetBundle"], code, PUBLIC_KEY)
    asked = {"otpId": begun["otpId"], "encryptedOtpBundle": attempt}
    return stamped(person.codes.caller, "verify_otp", asked)


def otp_login(person: Person) -> Request:
    asked = otp_login_params(person.verification_token(), generate_api_key().public_key)
    return stamped(person.codes.caller, "otp_login", asked)


def oauth_login(person: Person) -> Request:
    key = generate_api_key().public_key
    return stamped(person.codes.caller, "oauth_login", {"oidcToken": person.id_token(key), "publicKey": key})


def oauth(person: Person) -> Request:
    key = target()
    return stamped(person.codes.caller, "oauth", {"oidcToken": person.id_token(key), "targetPublicKey": key})


def stamp_login(person: Person) -> Request:
    return stamped(person.caller, "stamp_login", {"publicKey": generate_api_key().public_key})


def stamp_login_by_a_token(person: Person) -> Request:
    key = generate_api_key()
    body = person.codes.caller.submit_body("stamp_login", {"publicKey": key.public_key})
    return Request("stamp_login", body, attested(key, "OIDC", person.id_token(key.public_key), body))


def otp_auth(person: Person) -> Request:
    begun = person.caller.result("init_otp_auth", code_params(person.email))
    code = person.codes.outbox.code(person.email)
    asked = {"otpId": begun["otpId"], "otpCode": code, "targetPublicKey": target()}
    return stamped(person.caller, "otp_auth", asked)


def email_auth(person: Person) -> Request:
    asked = {
        "email": person.email,
        "targetPublicKey": target(),
        "emailCustomization": {"appName": "Wallets"},
    }
    return stamped(person.caller, "email_auth", asked)


def create_read_write_session(person: Person) -> Request:
    return stamped(person.caller, "create_read_write_session", {"targetPublicKey": target()})


def create_read_only_session(person: Person) -> Request:
    return stamped(person.caller, "create_read_only_session", {})


def update_user_email(person: Person) -> Request:
    address = an_address()
    token = person.codes.proven(address)
    asked = {"userId": person.caller.user_id, "userEmail": address, "verificationToken": token}
    return stamped(person.caller, "update_user_email", asked)


def create_sub_organization(person: Person) -> Request:
    """With a verification token; a second one for the same person."""
    keys, token = [api_key_params(generate_api_key().public_key)], person.verification_token()
    user = {"userName": "Ada", "userEmail": person.email, "apiKeys": keys}
    asked = {
        "subOrganizationName": unique("sub"),
        "rootUsers": [user | {"authenticators": [], "oauthProviders": []}],
        "rootQuorumThreshold": 1,
        "verificationToken": token,
        "clientSignature": signup_signature(token, apiKeys=keys, email=person.email),
    }
    return stamped(person.codes.caller, "create_sub_organization", asked)


REQUESTS = [
    init_otp,
    verify_otp,
    otp_login,
    oauth_login,
    oauth,
    stamp_login,
    stamp_login_by_a_token,
    otp_auth,
    email_auth,
    create_read_write_session,
    create_read_only_session,
    update_user_email,
    create_sub_organization,
]


@pytest.mark.parametrize("make", REQUESTS, ids=lambda make: make.__name__)
def test_the_same_bytes_are_carried_out_once(codes: Codes, make: Callable[[Person], Request]) -> None:
    request = make(new_person(codes))
    first = answered(request.send(codes))["activity"]
    assert first["status"] == "ACTIVITY_STATUS_COMPLETED"
    before = _written(codes)
    again = answered(request.send(codes))["activity"]
    assert again["id"] == first["id"]
    assert _written(codes) == before


def _written(codes: Codes) -> dict[str, int]:
    """How many rows there are of each kind; events of messages come later than what they are about."""
    counts = codes.server.installation.database.counts()
    return {table: count for table, count in counts.items() if table != "email_event"}


@pytest.mark.parametrize("make", [otp_login, oauth_login, stamp_login, stamp_login_by_a_token])
def test_the_same_bytes_do_not_bring_an_ended_session_back(codes: Codes, make: Callable[[Person], Request]) -> None:
    person = new_person(codes)
    request = make(person)
    (result,) = answered(request.send(codes))["activity"]["result"].values()
    begun = claims(result["session"])["public_key"]

    def keys() -> dict[str, str]:
        found = person.caller.asked("get_api_keys", userId=person.caller.user_id)["apiKeys"]
        return {one["credential"]["publicKey"]: one["apiKeyId"] for one in found}

    ended = {"userId": person.caller.user_id, "apiKeyIds": [keys()[begun]]}
    person.caller.submitted("delete_api_keys", ended)
    assert request.send(codes).status_code == 200
    assert begun not in keys()


def test_an_id_token_at_the_proxy_again_begins_a_session_of_the_same_key_alone(codes: Codes) -> None:
    """Until the token expires, also after the session was ended. Nobody signed the request, so it is a new one."""
    person, config_id, key = new_person(codes), new_proxy(codes.caller), generate_api_key()
    body = {"oidcToken": person.id_token(key.public_key), "publicKey": key.public_key}
    holder = person.caller.with_key(key)
    own: dict[str, Any] = {"userId": person.caller.user_id}

    def ids() -> list[str]:
        """The ids of the session's key: one or none."""
        found = person.caller.asked("get_api_keys", **own)["apiKeys"]
        return [one["apiKeyId"] for one in found if one["credential"]["publicKey"] == key.public_key]

    def log_in() -> None:
        session = answered(ask(codes.caller, config_id, "oauth_login", **body))["session"]
        assert claims(session)["public_key"] == key.public_key
        assert holder.asked("whoami")["userId"] == person.caller.user_id
        assert len(ids()) == 1

    log_in()
    log_in()
    person.caller.submitted("delete_api_keys", own | {"apiKeyIds": ids()})
    assert holder.ask("whoami").status_code == 401
    log_in()
    thief = generate_api_key()
    stolen = body | {"publicKey": thief.public_key}
    status, message = refusal(ask(codes.caller, config_id, "oauth_login", **stolen))
    assert (status, "nonce" in message) == (400, True), message
    assert person.caller.with_key(thief).ask("whoami").status_code == 401


# Parts of requests, in new ones.


class Replay(NamedTuple):
    name: str
    attempt: Callable[[Person], httpx.Response]
    status: int
    text: str


def an_attempt_at_a_code(person: Person) -> httpx.Response:
    codes = person.codes
    begun = codes.started(person.email)
    code = codes.outbox.code(person.email)
    attempt = encrypted_attempt(begun["otpEncryptionTargetBundle"], code, PUBLIC_KEY)
    asked = {"otpId": begun["otpId"], "encryptedOtpBundle": attempt}
    codes.caller.submitted("verify_otp", asked)
    return codes.caller.submit("verify_otp", asked | {"expirationSeconds": "60"})


def an_attempt_with_ones_own_key(person: Person) -> httpx.Response:
    """Somebody else has seen the code. After its owner has used it, they encrypt it for a key of their own."""
    codes = person.codes
    begun = codes.started(person.email)
    code = codes.outbox.code(person.email)
    assert codes.verify(begun, code).status_code == 200
    return codes.verify(begun, code, generate_api_key().public_key)


def a_code_of_otp_auth(person: Person) -> httpx.Response:
    begun = person.caller.result("init_otp_auth", code_params(person.email))
    asked = {"otpId": begun["otpId"], "otpCode": person.codes.outbox.code(person.email)}
    person.caller.submitted("otp_auth", asked | {"targetPublicKey": target()})
    return person.caller.submit("otp_auth", asked | {"targetPublicKey": target()})


def a_client_signature_for_another_key(person: Person) -> httpx.Response:
    asked = otp_login_params(person.verification_token(), generate_api_key().public_key)
    person.codes.caller.submitted("otp_login", asked)
    return person.codes.caller.submit("otp_login", asked | {"publicKey": generate_api_key().public_key})


def a_client_signature_with_another_token(person: Person) -> httpx.Response:
    asked = otp_login_params(person.verification_token(), generate_api_key().public_key)
    person.codes.caller.submitted("otp_login", asked)
    response = person.codes.verify(
        person.codes.started(person.email), person.codes.outbox.code(person.email, count=2)
    )
    newer = answered(response)["activity"]["result"]["verifyOtpResult"]["verificationToken"]
    return person.codes.caller.submit("otp_login", asked | {"verificationToken": newer})


def a_client_signature_of_a_sign_up_at_a_login(person: Person) -> httpx.Response:
    token = person.verification_token()
    asked = otp_login_params(token, generate_api_key().public_key)
    return person.codes.caller.submit("otp_login", asked | {"clientSignature": signup_signature(token)})


def a_client_signature_of_a_login_at_a_sign_up(person: Person) -> httpx.Response:
    token = person.verification_token()
    login = otp_login_params(token, generate_api_key().public_key)
    user = {"userName": "Ada", "userEmail": person.email, "apiKeys": [], "authenticators": [], "oauthProviders": []}
    asked = {
        "subOrganizationName": unique("sub"),
        "rootUsers": [user],
        "rootQuorumThreshold": 1,
        "verificationToken": token,
        "clientSignature": login["clientSignature"],
    }
    return person.codes.caller.submit("create_sub_organization", asked)


def an_id_token_with_another_key(person: Person) -> httpx.Response:
    key = generate_api_key().public_key
    asked = {"oidcToken": person.id_token(key), "publicKey": key}
    person.codes.caller.submitted("oauth_login", asked)
    return person.codes.caller.submit("oauth_login", asked | {"publicKey": generate_api_key().public_key})


def an_attested_stamp_over_another_body(person: Person) -> httpx.Response:
    request = stamp_login_by_a_token(person)
    answered(request.send(person.codes))
    other = person.codes.caller.submit_body("stamp_login", {"publicKey": generate_api_key().public_key})
    return request._replace(body=other).send(person.codes)


def a_token_of_an_attested_stamp_with_another_key(person: Person) -> httpx.Response:
    key, thief = generate_api_key(), generate_api_key()
    token = person.id_token(key.public_key)
    body = person.codes.caller.submit_body("stamp_login", {"publicKey": thief.public_key})
    return Request("stamp_login", body, attested(thief, "OIDC", token, body)).send(person.codes)


def a_stamped_login_at_another_operation(person: Person) -> httpx.Response:
    request = stamp_login(person)
    return request._replace(name="create_read_write_session").send(person.codes)


def with_session(person: Person, text: str) -> httpx.Response:
    body = person.caller.query_body()
    return person.caller.http.post("/public/v1/query/whoami", content=body, headers={"X-Session": text})


def a_sessions_token_as_a_read_only_session(person: Person) -> httpx.Response:
    key = generate_api_key().public_key
    return with_session(person, person.caller.result("stamp_login", {"publicKey": key})["session"])


def a_verification_token_as_a_read_only_session(person: Person) -> httpx.Response:
    return with_session(person, person.verification_token())


def a_sessions_token_as_a_verification_token(person: Person) -> httpx.Response:
    session = person.caller.result("stamp_login", {"publicKey": generate_api_key().public_key})["session"]
    asked = otp_login_params(person.verification_token(), generate_api_key().public_key)
    return person.codes.caller.submit("otp_login", asked | {"verificationToken": session})


def a_sessions_token_as_an_id_token(person: Person) -> httpx.Response:
    key = generate_api_key().public_key
    session = person.caller.result("stamp_login", {"publicKey": key})["session"]
    return person.codes.caller.submit("oauth_login", {"oidcToken": session, "publicKey": key})


def at_the_proxy(endpoint: str) -> Callable[[Person], httpx.Response]:
    """The same body twice: the proxy makes a new submission of each."""

    def attempt(person: Person) -> httpx.Response:
        codes, config_id = person.codes, new_proxy(person.codes.caller)
        if endpoint == "otp_verify_v2":
            begun = codes.started(person.email)
            code = codes.outbox.code(person.email)
            attempted = encrypted_attempt(begun["otpEncryptionTargetBundle"], code, PUBLIC_KEY)
            body = {"otpId": begun["otpId"], "encryptedOtpBundle": attempted}
        else:
            body = sign_up(apiKeys=[api_key_params(generate_api_key().public_key)])
        answered(ask(codes.caller, config_id, endpoint, **body))
        return ask(codes.caller, config_id, endpoint, **body)

    return attempt


def a_login_at_the_proxy(person: Person) -> httpx.Response:
    codes, config_id = person.codes, new_proxy(person.codes.caller)
    asked = otp_login_params(person.verification_token(), generate_api_key().public_key)
    answered(ask(codes.caller, config_id, "otp_login_v2", **asked))
    return ask(codes.caller, config_id, "otp_login_v2", **asked)


def a_sign_up_without_credentials(person: Person) -> httpx.Response:
    """A credential would be refused as another's: this one could be made again and again."""
    codes, address = person.codes, an_address()
    token = codes.proven(address)
    user = {"userName": "Ada", "userEmail": address, "apiKeys": [], "authenticators": [], "oauthProviders": []}
    asked = {
        "rootUsers": [user],
        "rootQuorumThreshold": 1,
        "verificationToken": token,
        "clientSignature": signup_signature(token, email=address),
    }
    codes.caller.submitted("create_sub_organization", asked | {"subOrganizationName": unique("sub")})
    return codes.caller.submit("create_sub_organization", asked | {"subOrganizationName": unique("sub")})


USED = "Invalid OTP code: it was used before; ask for a new one"
NO_SESSION = "no read-only session has the text of header X-Session"
SIGNATURE = "invalid client signature"
REPLAYS = [
    Replay("an attempt at a code", an_attempt_at_a_code, 400, USED),
    Replay("an attempt with one's own key", an_attempt_with_ones_own_key, 400, USED),
    Replay("a code of otp_auth", a_code_of_otp_auth, 400, USED),
    Replay("a client signature for another key", a_client_signature_for_another_key, 400, SIGNATURE),
    Replay("a client signature with another token", a_client_signature_with_another_token, 400, SIGNATURE),
    Replay("a sign-up's client signature", a_client_signature_of_a_sign_up_at_a_login, 400, SIGNATURE),
    Replay("a login's client signature", a_client_signature_of_a_login_at_a_sign_up, 400, SIGNATURE),
    Replay("an ID token with another key", an_id_token_with_another_key, 400, "nonce"),
    Replay("an attested stamp over another body", an_attested_stamp_over_another_body, 401, "over the body"),
    Replay("an attested token, another key", a_token_of_an_attested_stamp_with_another_key, 401, "nonce"),
    Replay("a login at another operation", a_stamped_login_at_another_operation, 400, "type"),
    Replay("a session's JWT as X-Session", a_sessions_token_as_a_read_only_session, 401, NO_SESSION),
    Replay("a verification token as X-Session", a_verification_token_as_a_read_only_session, 401, NO_SESSION),
    Replay(
        "a session's JWT as a verification token",
        a_sessions_token_as_a_verification_token,
        400,
        "the signature is not this server's",
    ),
    Replay("a session's JWT as an ID token", a_sessions_token_as_an_id_token, 400, "invalid OIDC token"),
    Replay("an attempt at the proxy", at_the_proxy("otp_verify_v2"), 400, USED),
    Replay("a login at the proxy", a_login_at_the_proxy, 400, "its message was used before"),
    Replay("a sign-up without credentials", a_sign_up_without_credentials, 400, "its message was used before"),
    Replay("a sign-up at the proxy", at_the_proxy("signup_v2"), 400, "CREDENTIAL_CONFLICT"),
]


@pytest.mark.parametrize("replay", REPLAYS, ids=lambda replay: replay.name)
def test_a_part_is_good_for_nothing_else(codes: Codes, replay: Replay) -> None:
    response = replay.attempt(new_person(codes))
    status, message = refusal(response)
    assert (status, replay.text in response.text) == (replay.status, True), message
