"""Logins by identity and by verified contact over HTTP: oauth_login, oauth, attested stamps; read-only sessions."""

from __future__ import annotations

import asyncio
import itertools
import json
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import msgspec
import pytest

from keystead.api.enums import OtpType
from keystead.api.identifiers import new_id
from keystead.organizations.kinds.data_key import Sealed
from keystead.sessions.session_tokens import nonce_of
from keystead.sessions.verification_tokens import VerificationToken
from keystead.signer.installation_keys import VERIFICATION_KEY
from keystead.signer.local import LocalSigner
from keystead.stamps.base64url import decode_base64url, encode_base64url
from keystead.stamps.signing import ApiKeyPair, generate_api_key
from tests.conftest import MakeDatabase
from tests.support import bundles
from tests.support.authorization_scenario import new_sub_organization
from tests.support.callers import SDK_FORM, Caller, answered, api_key_params, now_ms, refusal, unique
from tests.support.issuers import AUDIENCE, ISSUER, Issuer, taking_tokens
from tests.support.organization_fixtures import mfa_policy_params, policy_params
from tests.support.passkeys import SoftPasskey
from tests.support.servers import Installation, bootstrap_installation, running
from tests.support.sessions import attested, claims_of, logged_in

Stamp = Callable[[bytes], dict[str, str]]
STAMP_LOGIN = "/public/v1/submit/stamp_login"


@dataclass(frozen=True)
class Place:
    """A parent, and `user`, the root user of a sub-organization, with an identity, an address and a number."""

    installation: Installation
    parent: Caller
    user: Caller
    subject: str
    email: str
    phone_number: str

    def id_token(self, public_key: str, **claims: Any) -> str:
        return ISSUER.token(now_ms() // 1000, **{"sub": self.subject, "nonce": nonce_of(public_key), **claims})

    def verification_token(self, public_key: str | None, **members: Any) -> str:
        """As verify_otp makes it."""
        token = VerificationToken(
            id=new_id(),
            organization_id=self.parent.organization_id,
            otp_type=OtpType.EMAIL,
            contact=self.email,
            expires_at_ms=now_ms() + 60_000,
            public_key=public_key,
        )
        token = msgspec.structs.replace(token, **members)
        return asyncio.run(self.signer().sign_verification_token(token))

    def signer(self) -> LocalSigner:
        ((sealed,),) = self.installation.database.rows(
            f"SELECT value FROM instance WHERE name = '{VERIFICATION_KEY.name}'"
        )
        keys = {VERIFICATION_KEY.name: msgspec.json.decode(sealed, type=Sealed)}
        return LocalSigner(self.installation.master_key, keys)

    def login(self, key: ApiKeyPair, scheme: str, token: str, **envelope: Any) -> httpx.Response:
        """A login by an attested stamp that names the parent."""
        body = self.parent.submit_body("stamp_login", {"publicKey": key.public_key}, **envelope)
        headers = attested(key, scheme, token, body) | SDK_FORM
        return self.parent.http.post(STAMP_LOGIN, content=body, headers=headers)


@pytest.fixture(scope="module")
def place(make_database: MakeDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    installation, folder = bootstrap_installation(make_database()), tmp_path_factory.mktemp("attested")
    with running(installation, folder / "log", taking_tokens(folder)) as server:
        yield new_place(installation, server.caller)
    installation.database.close()


def new_place(installation: Installation, parent: Caller) -> Place:
    subject, email, number = (
        unique("subject"),
        f"{unique('Ada').replace(' ', '.')}@Example.com",
        f"+1415{secrets.randbelow(10**7):07}",
    )
    user = new_sub_organization(parent, contacts={"userEmail": email, "userPhoneNumber": number})
    provider = {"providerName": "issuer", "oidcToken": ISSUER.token(now_ms() // 1000, sub=subject)}
    user.submitted("create_oauth_providers", {"userId": user.user_id, "oauthProviders": [provider]})
    return Place(installation, parent, user, subject, email, number)


def session_claims(place: Place, answer: httpx.Response, result: str = "stampLoginResult") -> dict[str, Any]:
    activity = answered(answer)["activity"]
    assert activity["status"] == "ACTIVITY_STATUS_COMPLETED", activity
    return claims_of(place.parent, activity["result"][result]["session"])


# Attested stamps.


@pytest.mark.parametrize("scheme", ["OIDC", "VERIFICATION_TOKEN"])
def test_an_attested_stamp_logs_in(scheme: str, place: Place) -> None:
    key = generate_api_key()
    token = place.id_token(key.public_key) if scheme == "OIDC" else place.verification_token(key.public_key)
    claims = session_claims(place, place.login(key, scheme, token))
    assert (claims["organization_id"], claims["user_id"]) == (place.user.organization_id, place.user.user_id)
    assert place.user.with_key(key).asked("whoami")["userId"] == place.user.user_id


def test_a_phone_number_and_a_token_of_the_sub_organization_log_in(place: Place) -> None:
    number = place.phone_number
    spelled = f"{number[:2]} ({number[2:5]}) {number[5:8]}-{number[8:]}"
    for members in (
        {"otp_type": OtpType.SMS, "contact": spelled},
        {"contact": place.email.upper(), "organization_id": place.user.organization_id},
    ):
        key = generate_api_key()
        answer = place.login(key, "VERIFICATION_TOKEN", place.verification_token(key.public_key, **members))
        assert session_claims(place, answer)["user_id"] == place.user.user_id


def test_a_plain_json_header_is_read_too(place: Place) -> None:
    key = generate_api_key()
    body = place.user.submit_body("stamp_login", {"publicKey": key.public_key})
    (value,) = attested(key, "OIDC", place.id_token(key.public_key), body).values()
    plain = {"X-Stamp-Attested": json.dumps(json.loads(decode_base64url(value)))}
    assert place.parent.http.post(STAMP_LOGIN, content=body, headers=plain).status_code == 200


def _own_signature(place: Place, token: str) -> str:
    """The token with its signature by another key."""
    return token[:-8] + encode_base64url(b"\1" * 6)


BAD_TOKENS: dict[str, Any] = {
    "of another key": ("VERIFICATION_TOKEN", lambda p, k: p.verification_token(generate_api_key().public_key)),
    "of no key": ("VERIFICATION_TOKEN", lambda p, k: p.verification_token(None)),
    "expired": ("VERIFICATION_TOKEN", lambda p, k: p.verification_token(k, expires_at_ms=now_ms() - 1)),
    "of another issuer": (
        "VERIFICATION_TOKEN",
        lambda p, k: p.verification_token(k, organization_id=new_sub_organization(p.parent).organization_id),
    ),
    "of nobody": ("VERIFICATION_TOKEN", lambda p, k: p.verification_token(k, contact="nobody@example.com")),
    "tampered with": ("VERIFICATION_TOKEN", lambda p, k: _own_signature(p, p.verification_token(k))),
    "an ID token": ("VERIFICATION_TOKEN", lambda p, k: p.id_token(k)),
    "no token": ("VERIFICATION_TOKEN", lambda p, k: "x.y.z"),
    "empty": ("OIDC", lambda p, k: ""),
    "a verification token": ("OIDC", lambda p, k: p.verification_token(k)),
    "without a nonce": ("OIDC", lambda p, k: p.id_token(k, nonce=None)),
    "another nonce": ("OIDC", lambda p, k: p.id_token(generate_api_key().public_key)),
    "the decoded key's nonce": ("OIDC", lambda p, k: p.id_token(k, nonce=nonce_of(k.upper()))),
    "another subject": ("OIDC", lambda p, k: p.id_token(k, sub="nobody")),
    "another audience": ("OIDC", lambda p, k: p.id_token(k, aud="other")),
    "an expired ID token": ("OIDC", lambda p, k: p.id_token(k, exp=now_ms() // 1000 - 1)),
    "a stranger's ID token": ("OIDC", lambda p, k: _strangers_token(p, k)),
}


def _strangers_token(place: Place, key: str) -> str:
    stranger = Issuer("https://stranger.example")
    return stranger.token(now_ms() // 1000, sub=place.subject, nonce=nonce_of(key), aud=AUDIENCE)


@pytest.mark.parametrize("name", BAD_TOKENS)
def test_a_bad_token_proves_nothing(name: str, place: Place) -> None:
    scheme, make = BAD_TOKENS[name]
    key = generate_api_key()
    token = make(place, key.public_key)
    status, message = refusal(place.login(key, scheme, token))
    assert status == 401, message
    assert not token or token not in message
    assert place.user.with_key(key).ask("whoami").status_code == 401


def test_a_body_of_another_signature_is_refused(place: Place) -> None:
    key = generate_api_key()
    body = place.parent.submit_body("stamp_login", {"publicKey": key.public_key})
    headers = attested(key, "OIDC", place.id_token(key.public_key), body)
    status, message = refusal(place.parent.http.post(STAMP_LOGIN, content=body + b" ", headers=headers))
    assert (status, "the signature is not this key's over the body" in message) == (401, True), message


def test_an_attested_stamp_opens_logins_and_votes_only(place: Place) -> None:
    key = generate_api_key()
    token = place.id_token(key.public_key)
    for path, body in (
        ("/public/v1/query/list_users", place.user.query_body()),
        ("/public/v1/submit/create_user_tag", place.user.submit_body("create_user_tag", {})),
    ):
        answer = place.parent.http.post(path, content=body, headers=attested(key, "OIDC", token, body))
        status, message = refusal(answer)
        assert (status, "does not accept an attested stamp" in message) == (401, True), message
    body = place.parent.query_body()
    answer = place.parent.http.post(
        "/public/v1/query/whoami", content=body, headers=attested(key, "OIDC", token, body)
    )
    assert answered(answer)["userId"] == place.user.user_id


def test_a_contact_in_two_sub_organizations_is_ambiguous(place: Place) -> None:
    email = f"{unique('two').replace(' ', '.')}@example.com"
    other, _ = [new_sub_organization(place.parent, contacts={"userEmail": email}) for _ in range(2)]
    key = generate_api_key()
    token = place.verification_token(key.public_key, contact=email)
    status, message = refusal(place.login(key, "VERIFICATION_TOKEN", token))
    assert (status, "more than one suborg associated with a verified email" in message) == (401, True), message
    named = place.login(key, "VERIFICATION_TOKEN", token, organizationId=other.organization_id)
    assert session_claims(place, named)["user_id"] == other.user_id


# oauth_login and oauth, which a user of the parent sends.


def oauth_login(caller: Caller, token: str, public_key: str, **envelope: Any) -> httpx.Response:
    parameters = {"oidcToken": token, "publicKey": public_key}
    return caller.submit("oauth_login", parameters, SDK_FORM, **envelope)


def test_the_parent_logs_a_user_in(place: Place) -> None:
    """By naming the sub-organization, or the parent: the identity finds the sub-organization."""
    for organization_id in (place.user.organization_id, place.parent.organization_id):
        key = generate_api_key()
        token = place.id_token(key.public_key)
        answer = oauth_login(place.parent, token, key.public_key, organizationId=organization_id)
        claims = session_claims(place, answer, "oauthLoginResult")
        assert (claims["organization_id"], claims["user_id"]) == (place.user.organization_id, place.user.user_id)
        assert answered(answer)["activity"]["organizationId"] == place.user.organization_id
        again = place.user.asked("get_activity", activityId=answered(answer)["activity"]["id"])
        assert again["activity"]["status"] == "ACTIVITY_STATUS_COMPLETED"


def test_tknonce_counts_as_well(place: Place) -> None:
    key = generate_api_key()
    token = place.id_token(key.public_key, nonce=None, tknonce=nonce_of(key.public_key))
    assert session_claims(place, oauth_login(place.parent, token, key.public_key), "oauthLoginResult")


def test_oauth_gives_a_bundle(place: Place) -> None:
    target = bundles.fresh()
    text = bundles.point(target).hex()
    result = place.parent.result("oauth", {"oidcToken": place.id_token(text), "targetPublicKey": text})
    recorded = place.user.asked("get_api_key", apiKeyId=result["apiKeyId"])["apiKey"]["credential"]
    made = bundles.credential(result["credentialBundle"], target)
    assert recorded["publicKey"] == bundles.compressed(made).hex()
    assert recorded["type"] == "CREDENTIAL_TYPE_OAUTH_KEY_P256"


def test_an_ordinary_user_of_the_parent_needs_a_policy(place: Place) -> None:
    ordinary = place.parent.new_user()
    for attempt in range(2):
        key = generate_api_key()
        answer = oauth_login(ordinary, place.id_token(key.public_key), key.public_key)
        assert answer.status_code == (403, 200)[attempt], answer.text
        consensus = f"approvers.any(u, u.id == '{ordinary.user_id}')"
        policy = policy_params(condition="activity.resource == 'AUTH'", consensus=consensus)
        place.parent.submitted("create_policy", policy)


def test_what_needs_more_approvals_in_the_parent_is_refused(place: Place) -> None:
    ordinary = place.parent.new_user()
    consensus = f"approvers.any(u, u.id == '{ordinary.user_id}') && approvers.count() >= 2"
    place.parent.submitted(
        "create_policy", policy_params(condition="activity.resource == 'AUTH'", consensus=consensus)
    )
    key = generate_api_key()
    status, message = refusal(oauth_login(ordinary, place.id_token(key.public_key), key.public_key))
    assert (status, "cannot wait for approvals" in message) == (403, True), message


def test_a_sister_logs_nobody_in(place: Place) -> None:
    sister, key = new_sub_organization(place.parent), generate_api_key()
    token = place.id_token(key.public_key)
    for organization_id in (place.user.organization_id, place.parent.organization_id):
        assert refusal(oauth_login(sister, token, key.public_key, organizationId=organization_id))[0] == 401
    assert refusal(oauth_login(sister, token, key.public_key))[0] == 404


BAD_OAUTH: dict[str, Any] = {
    "another key's nonce": (lambda p, k: p.id_token(generate_api_key().public_key), 400),
    "no nonce": (lambda p, k: p.id_token(k, nonce=None), 400),
    "nobody": (lambda p, k: p.id_token(k, sub="nobody"), 404),
    "expired": (lambda p, k: p.id_token(k, exp=now_ms() // 1000 - 1), 400),
    "a stranger's": (_strangers_token, 400),
    "malformed": (lambda p, k: "x", 400),
}


@pytest.mark.parametrize("name", BAD_OAUTH)
def test_a_bad_oauth_login_is_refused(name: str, place: Place) -> None:
    make, expected = BAD_OAUTH[name]
    key = generate_api_key()
    token = make(place, key.public_key)
    status, message = refusal(oauth_login(place.parent, token, key.public_key))
    assert status == expected, message
    assert len(token) < 10 or token not in message


def test_the_parent_does_not_get_round_a_users_mfa(place: Place) -> None:
    careful = new_place(place.installation, place.parent)
    policy = mfa_policy_params(careful.user.user_id, [{"type": "AUTHENTICATION_TYPE_PASSKEY"}])
    careful.user.submitted("create_mfa_policy", policy | {"condition": "activity.resource == 'AUTH'"})
    careful.user.submitted("set_organization_feature", {"name": "FEATURE_NAME_PARENT_AUTH"})
    key = generate_api_key()
    login = {"publicKey": key.public_key, "oidcToken": careful.id_token(key.public_key)}
    target = {"targetPublicKey": bundles.point(bundles.fresh()).hex(), "userId": careful.user.user_id}
    for name, parameters in (("oauth_login", login), ("create_read_write_session", target)):
        answer = place.parent.submit(name, parameters, organizationId=careful.user.organization_id)
        status, message = refusal(answer)
        assert (status, "an MFA policy of user" in message) == (403, True), message
    assert careful.user.with_key(key).ask("whoami").status_code == 401


# MFA by every method, in any order.


def test_every_method_proves_its_step(place: Place) -> None:
    careful = new_place(place.installation, place.parent)
    root, passkey = careful.user, SoftPasskey()
    root.submitted("create_authenticators", {"userId": root.user_id, "authenticators": [passkey.params()]})
    methods = ["PASSKEY", "API_KEY", "SESSION", "EMAIL_OTP", "SMS_OTP", "OAUTH"]
    policy = mfa_policy_params(root.user_id, []) | {
        "condition": "activity.kind == 'CREATE_USER_TAG'",
        "requiredAuthenticationMethods": [
            {"any": [{"type": f"AUTHENTICATION_TYPE_{method}"}]} for method in methods
        ],
    }
    other_key = (
        generate_api_key()
    )  # the session counts beside every other credential, since this one does not approve
    root.submitted("create_api_keys", {"userId": root.user_id, "apiKeys": [api_key_params(other_key.public_key)]})
    session, times = logged_in(root.with_key(other_key)), map(str, itertools.count(now_ms()))
    root.submitted("create_mfa_policy", policy)
    tag = {"userTagName": unique("tag"), "userIds": []}
    activity = answered(session.submit("create_user_tag", tag))["activity"]
    key = generate_api_key()

    def by_token(scheme: str, token: str) -> Stamp:
        return lambda body: attested(key, scheme, token, body)

    email, number = (
        careful.verification_token(key.public_key, otp_type=otp_type, contact=contact)
        for otp_type, contact in ((OtpType.EMAIL, careful.email), (OtpType.SMS, careful.phone_number))
    )
    stamps: dict[str, Stamp] = {
        "OAUTH": by_token("OIDC", careful.id_token(key.public_key)),
        "SMS_OTP": by_token("VERIFICATION_TOKEN", number),
        "EMAIL_OTP": by_token("VERIFICATION_TOKEN", email),
        "API_KEY": root.stamped,
        "PASSKEY": passkey.stamp,
    }
    proved = ["SESSION"]
    for method, stamp in stamps.items():
        for _ in range(2 if method != "PASSKEY" else 1):  # the same proof twice proves one step
            approval = {"fingerprint": activity["fingerprint"]}
            body = root.submit_body("approve_activity", approval, timestampMs=next(times))
            path = "/public/v1/submit/approve_activity"
            answer = answered(root.http.post(path, content=body, headers=stamp(body)))
        proved.append(method)
        status = root.asked("get_mfa_status", activityId=activity["id"], userId=root.user_id)["mfaStatuses"][0]
        satisfied = {one["type"].removeprefix("AUTHENTICATION_TYPE_") for one in status["satisfiedMethods"]}
        assert satisfied == set(proved)
        assert status["satisfied"] == (len(proved) == len(methods))
        waits = "ACTIVITY_STATUS_AUTHENTICATORS_NEEDED"
        expected = "ACTIVITY_STATUS_COMPLETED" if status["satisfied"] else waits
        assert answer["activity"]["status"] == expected


def test_one_credential_does_not_change_the_address_that_codes_go_to(place: Place) -> None:
    careful = new_place(place.installation, place.parent)
    root = careful.user
    steps = [{"any": [{"type": f"AUTHENTICATION_TYPE_{one}"}]} for one in ("API_KEY", "EMAIL_OTP")]
    policy = mfa_policy_params(root.user_id, []) | {"requiredAuthenticationMethods": steps}
    root.submitted("create_mfa_policy", policy)
    stolen = {"userId": root.user_id, "userEmail": "thief@example.com"}
    activity = answered(root.submit("update_user_email", stolen))["activity"]
    assert activity["status"] == "ACTIVITY_STATUS_AUTHENTICATORS_NEEDED"


# Read-only sessions.


def test_a_read_only_session_opens_queries_and_nothing_else(place: Place) -> None:
    user = place.user
    result = user.result("create_read_only_session", {})
    headers = {"X-Session": result["session"]}
    assert (result["organizationId"], result["userId"]) == (user.organization_id, user.user_id)
    assert now_ms() // 1000 < int(result["sessionExpiry"]) <= now_ms() // 1000 + 3_600
    body = user.query_body()
    for name in ("whoami", "list_users", "list_wallets"):
        assert user.http.post(f"/public/v1/query/{name}", content=body, headers=headers).status_code == 200
    tag = user.submit_body("create_user_tag", {"userTagName": unique("tag"), "userIds": []})
    login = user.submit_body("stamp_login", {"publicKey": generate_api_key().public_key})
    for name, submission in (("create_user_tag", tag), ("stamp_login", login)):
        answer = user.http.post(f"/public/v1/submit/{name}", content=submission, headers=headers)
        status, message = refusal(answer)
        assert (status, "is valid for queries only" in message) == (401, True), message
    other = place.parent.query_body()
    assert user.http.post("/public/v1/query/list_users", content=other, headers=headers).status_code == 401
    for wrong in ("", "x", result["session"][:-1], result["session"] + "x"):
        answer = user.http.post("/public/v1/query/whoami", content=body, headers={"X-Session": wrong})
        assert refusal(answer)[0] == 401
    both = {**user.stamped(tag), **headers}
    assert user.http.post("/public/v1/submit/create_user_tag", content=tag, headers=both).status_code == 200


def test_a_read_only_session_is_told_once_and_kept_as_a_digest(place: Place) -> None:
    user = place.user
    activity = user.submitted("create_read_only_session", {}, SDK_FORM)
    text = activity["result"]["createReadOnlySessionResult"]["session"]
    again = user.asked("get_activity", SDK_FORM, activityId=activity["id"])["activity"]
    assert again["result"]["createReadOnlySessionResult"]["session"] == ""
    for table in ("activity", "record"):
        assert text not in str(place.installation.database.rows(f"SELECT * FROM {table}"))


def test_the_eleventh_read_only_session_ends_the_oldest(place: Place) -> None:
    user = place.user.new_user()
    texts = [user.result("create_read_only_session", {})["session"] for _ in range(11)]
    answers = [
        user.http.post("/public/v1/query/whoami", content=user.query_body(), headers={"X-Session": text})
        for text in texts
    ]
    assert [answer.status_code for answer in answers] == [401, *[200] * 10]
    place.user.submitted("delete_users", {"userIds": [user.user_id]})
    last = user.http.post("/public/v1/query/whoami", content=user.query_body(), headers={"X-Session": texts[-1]})
    assert last.status_code == 401
