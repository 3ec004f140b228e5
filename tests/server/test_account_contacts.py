"""Which account a contact finds: every way to write a contact, and every way to look one up, on both stores."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import httpx
import pytest

from keystead.organizations.contacts.contact_evidence import GOOGLE
from keystead.sessions.session_tokens import nonce_of
from keystead.stamps.signing import ApiKeyPair, generate_api_key
from tests.conftest import MakeDatabase
from tests.server.test_auth_proxy import ask, new_proxy, sign_up
from tests.support import bundles
from tests.support.authorization_scenario import new_sub_organization
from tests.support.callers import SDK_FORM, Caller, answered, api_key_params, now_ms, refusal, unique
from tests.support.codes import KEY, PUBLIC_KEY, Codes, outbox_of, signup_signature
from tests.support.example_codes import claims, code_params, login_signature
from tests.support.issuers import AUDIENCE, Issuer, write_keys_file
from tests.support.recovery import recovery_params
from tests.support.servers import bootstrap_installation, running
from tests.support.sessions import attested

GOOGLES = Issuer(GOOGLE)
TOKEN_KEY = ApiKeyPair(PUBLIC_KEY, bundles.scalar(KEY).hex())
"""The key that verification tokens name."""


@pytest.fixture(scope="module")
def codes(make_database: MakeDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Codes]:
    installation, folder = bootstrap_installation(make_database(), mode="dev"), tmp_path_factory.mktemp("contacts")
    keys = write_keys_file(folder / "issuers.json", GOOGLES)
    with running(installation, folder / "log", {"oidc_keys_file": str(keys)}) as server:
        yield Codes(server, server.caller, outbox_of(server))
    installation.database.close()


@pytest.fixture(scope="module")
def config_id(codes: Codes) -> str:
    """An authentication proxy that tells which account a contact has, also without a proof."""
    return new_proxy(
        codes.caller, socialLinkingClientIds=[AUDIENCE], verificationTokenRequiredForGetAccountPii=False
    )


class Kind(NamedTuple):
    otp_type: str
    filter_type: str
    update: str
    field: str
    signed_field: str
    fresh: Callable[[], str]


EMAIL = Kind(
    "OTP_TYPE_EMAIL",
    "EMAIL",
    "update_user_email",
    "userEmail",
    "email",
    lambda: f"ada-{secrets.token_hex(6)}@gmail.com",
)
SMS = Kind(
    "OTP_TYPE_SMS",
    "PHONE_NUMBER",
    "update_user_phone_number",
    "userPhoneNumber",
    "phoneNumber",
    lambda: f"+1415{secrets.randbelow(10**7):07}",
)


class Case(NamedTuple):
    """A new contact, and a verification token of the parent for it."""

    codes: Codes
    config_id: str
    kind: Kind
    contact: str
    token: str

    @property
    def written(self) -> dict[str, str]:
        return {self.kind.field: self.contact}

    def id_token(self, nonce: str = "", **members: Any) -> str:
        named: dict[str, Any] = {"sub": self.contact, "email": self.contact, "email_verified": True, "nonce": nonce}
        return GOOGLES.token(now_ms() // 1000, **(named | members))

    def login_params(self, **members: Any) -> dict[str, Any]:
        session = generate_api_key().public_key
        signature = login_signature(self.token, session, KEY)
        return {
            "verificationToken": self.token,
            "publicKey": session,
            "clientSignature": signature,
            **members,
        }

    def parent_at(self, organization_id: str) -> Caller:
        parent = self.codes.caller
        return parent.with_key(parent.key, parent.user_id, organization_id)


def new_case(codes: Codes, config_id: str, kind: Kind) -> Case:
    contact = kind.fresh()
    return Case(codes, config_id, kind, contact, codes.proven(contact, otpType=kind.otp_type))


# Ways to write a contact. Each returns the id of the sub-organization that has it.


def root_user(case: Case, **members: Any) -> dict[str, Any]:
    user = {"userName": "Ada", "apiKeys": [], "authenticators": [], "oauthProviders": []}
    return user | case.written | members


def created(case: Case, user: dict[str, Any], **members: Any) -> str:
    asked = {"subOrganizationName": unique("sub"), "rootUsers": [user], "rootQuorumThreshold": 1, **members}
    made: str = case.codes.caller.result("create_sub_organization", asked)["subOrganizationId"]
    return made


def a_key() -> list[dict[str, Any]]:
    return [api_key_params(generate_api_key().public_key)]


def by_the_parent(case: Case) -> str:
    return created(case, root_user(case, apiKeys=a_key()))


def by_the_parent_with_a_token(case: Case) -> str:
    keys = a_key()
    signature = signup_signature(case.token, apiKeys=keys, **{case.kind.signed_field: case.contact})
    return created(case, root_user(case, apiKeys=keys), verificationToken=case.token, clientSignature=signature)


def by_the_parent_with_an_id_token(case: Case) -> str:
    return created(case, root_user(case, oauthProviders=[google(case)]))


def google(case: Case, **members: Any) -> dict[str, Any]:
    return {"providerName": "google", "oidcToken": case.id_token(**members)}


def signed_up(case: Case, **members: Any) -> str:
    asked = sign_up(**case.written, **members)
    made: str = answered(ask(case.codes.caller, case.config_id, "signup_v2", **asked))["organizationId"]
    return made


def by_a_sign_up(case: Case) -> str:
    return signed_up(case, apiKeys=a_key())


def by_a_sign_up_with_a_token(case: Case) -> str:
    signature = signup_signature(case.token, **{case.kind.signed_field: case.contact})
    return signed_up(case, verificationToken=case.token, clientSignature=signature)


def by_a_sign_up_with_an_id_token(case: Case) -> str:
    return signed_up(case, oauthProviders=[google(case)])


def by_a_sign_up_with_an_id_token_of_another_application(case: Case) -> str:
    return signed_up(case, oauthProviders=[google(case, aud="another")])


def by_its_own_user(case: Case) -> str:
    user = new_sub_organization(case.codes.caller)
    user.submitted(case.kind.update, {"userId": user.user_id, **case.written})
    return user.organization_id


def by_its_own_user_in_another_operation(case: Case) -> str:
    user = new_sub_organization(case.codes.caller)
    user.submitted("update_user", {"userId": user.user_id, **case.written})
    return user.organization_id


def for_a_new_user_of_its_own(case: Case) -> str:
    user = new_sub_organization(case.codes.caller)
    user.new_user(**case.written)
    return user.organization_id


def for_a_new_user_with_keys_only(case: Case) -> str:
    user = new_sub_organization(case.codes.caller)
    keys = [{"apiKeyName": "key", "publicKey": generate_api_key().public_key}]
    new = {"userName": unique("user"), "apiKeys": keys, "userTags": [], "userEmail": case.contact}
    user.submitted("create_api_only_users", {"apiOnlyUsers": [new]})
    return user.organization_id


def by_the_parent_and_changed_there_and_back(case: Case) -> str:
    user = new_sub_organization(case.codes.caller, contacts=case.written)
    for contact in (case.kind.fresh(), case.contact):
        user.submitted(case.kind.update, {"userId": user.user_id, case.kind.field: contact})
    return user.organization_id


def by_its_own_user_with_a_token(case: Case) -> str:
    user = new_sub_organization(case.codes.caller)
    asked = {"userId": user.user_id, **case.written, "verificationToken": case.token}
    user.submitted(case.kind.update, asked)
    return user.organization_id


def by_its_own_user_with_a_token_of_its_own(case: Case) -> str:
    """The sub-organization itself sends the code."""
    user = new_sub_organization(case.codes.caller)
    token = case.codes._replace(caller=user).proven(case.contact, otpType=case.kind.otp_type)
    user.submitted(case.kind.update, {"userId": user.user_id, **case.written, "verificationToken": token})
    return user.organization_id


def by_its_own_user_with_an_identity(case: Case) -> str:
    user = new_sub_organization(case.codes.caller)
    user.submitted("update_user", {"userId": user.user_id, **case.written})
    user.submitted("create_oauth_providers", {"userId": user.user_id, "oauthProviders": [google(case)]})
    return user.organization_id


def by_its_own_user_who_logs_in_by_a_code_and_a_key(case: Case) -> str:
    user = new_sub_organization(case.codes.caller)
    user.submitted("update_user", {"userId": user.user_id, **case.written})
    user.submitted("otp_login", case.login_params())
    return user.organization_id


def by_its_own_user_who_logs_in_by_a_code_and_a_session(case: Case) -> str:
    """The key of a session was not registered, so it does not count."""
    user, session = new_sub_organization(case.codes.caller), generate_api_key()
    user.submitted("update_user", {"userId": user.user_id, **case.written})
    user.submitted("stamp_login", {"publicKey": session.public_key})
    status, message = refusal(user.with_key(session).submit("otp_login", case.login_params()))
    assert (status, "no user of the parent wrote it" in message) == (404, True), message
    return user.organization_id


def by_the_parent_before_a_login_by_code(case: Case) -> str:
    """The account has an older key, perhaps of somebody else who made it."""
    made = by_the_parent(case)
    case.codes.caller.submitted("otp_login", case.login_params())
    return made


def by_the_parent_without_a_credential_before_a_login_by_code(case: Case) -> str:
    made = created(case, root_user(case))
    case.codes.caller.submitted("otp_login", case.login_params())
    return made


def by_the_parent_before_a_login_by_code_and_a_key(case: Case) -> str:
    user = new_sub_organization(case.codes.caller, contacts=case.written)
    user.submitted("otp_login", case.login_params())
    return user.organization_id


Write = Callable[[Case], str]
NOTHING, FOUND, VERIFIED = range(3)
WRITES: list[tuple[Write, int]] = [
    (by_the_parent, FOUND),
    (by_the_parent_with_a_token, VERIFIED),
    (by_a_sign_up, NOTHING),
    (by_a_sign_up_with_a_token, VERIFIED),
    (by_its_own_user, NOTHING),
    (by_its_own_user_in_another_operation, NOTHING),
    (for_a_new_user_of_its_own, NOTHING),
    (by_the_parent_and_changed_there_and_back, NOTHING),
    (by_its_own_user_with_a_token, VERIFIED),
    (by_its_own_user_with_a_token_of_its_own, VERIFIED),
    (by_its_own_user_who_logs_in_by_a_code_and_a_key, VERIFIED),
    (by_its_own_user_who_logs_in_by_a_code_and_a_session, NOTHING),
    (by_the_parent_before_a_login_by_code, FOUND),
    (by_the_parent_without_a_credential_before_a_login_by_code, VERIFIED),
    (by_the_parent_before_a_login_by_code_and_a_key, VERIFIED),
]
ONLY_EMAIL: list[tuple[Write, int]] = [
    (by_the_parent_with_an_id_token, VERIFIED),
    (by_a_sign_up_with_an_id_token, VERIFIED),
    (by_a_sign_up_with_an_id_token_of_another_application, NOTHING),
    (for_a_new_user_with_keys_only, NOTHING),
    (by_its_own_user_with_an_identity, VERIFIED),
]

# Ways to look a contact up. Each returns the id of the organization that it found, "" if it found none. The second
# parameter is the id of the sub-organization that has the contact.


def found_in(response: httpx.Response, result: str) -> str:
    if response.status_code != 200:
        status, message = refusal(response)
        assert status in (401, 404), message
        return ""
    found: str = claims(answered(response)["activity"]["result"][result]["session"])["organization_id"]
    return found


def account(case: Case, _: str) -> str:
    asked = {"filterType": case.kind.filter_type, "filterValue": case.contact, "verificationToken": case.token}
    found: str = answered(ask(case.codes.caller, case.config_id, "account", **asked)).get("organizationId", "")
    return found


def account_without_a_proof(case: Case, _: str) -> str:
    asked = {"filterType": case.kind.filter_type, "filterValue": case.contact}
    found: str = answered(ask(case.codes.caller, case.config_id, "account", **asked)).get("organizationId", "")
    return found


def otp_login(case: Case, _: str) -> str:
    return found_in(case.codes.caller.submit("otp_login", case.login_params(), SDK_FORM), "otpLoginResult")


def otp_login_there(case: Case, organization_id: str) -> str:
    by = case.parent_at(organization_id)
    return found_in(by.submit("otp_login", case.login_params(), SDK_FORM), "otpLoginResult")


def otp_login_through_the_proxy(case: Case, organization_id: str) -> str:
    asked = case.login_params(organizationId=organization_id)
    response = ask(case.codes.caller, case.config_id, "otp_login_v2", **asked)
    if response.status_code != 200:
        assert refusal(response)[0] == 404
        return ""
    found: str = claims(answered(response)["session"])["organization_id"]
    return found


def attested_login(case: Case, _: str) -> str:
    return _attested_login(case, case.codes.caller.organization_id)


def attested_login_there(case: Case, organization_id: str) -> str:
    return _attested_login(case, organization_id)


def _attested_login(case: Case, organization_id: str) -> str:
    caller = case.codes.caller
    parameters = {"publicKey": generate_api_key().public_key}
    body = caller.submit_body("stamp_login", parameters, organizationId=organization_id)
    headers = attested(TOKEN_KEY, "VERIFICATION_TOKEN", case.token, body) | SDK_FORM
    response = caller.http.post("/public/v1/submit/stamp_login", content=body, headers=headers)
    return found_in(response, "stampLoginResult")


def whoami(case: Case, _: str) -> str:
    caller = case.codes.caller
    body = caller.query_body()
    headers = attested(TOKEN_KEY, "VERIFICATION_TOKEN", case.token, body)
    response = caller.http.post("/public/v1/query/whoami", content=body, headers=headers)
    if response.status_code != 200:
        assert refusal(response)[0] == 401
        return ""
    found: str = answered(response)["organizationId"]
    return found


def otp_auth(case: Case, organization_id: str) -> str:
    by = case.parent_at(organization_id)
    before = len(case.codes.outbox.messages(case.contact))
    begun = by.result("init_otp_auth", code_params(case.contact, otpType=case.kind.otp_type))
    code = case.codes.outbox.code(case.contact, count=before + 1)
    target = bundles.point(bundles.fresh()).hex()
    response = by.submit("otp_auth", {"otpId": begun["otpId"], "otpCode": code, "targetPublicKey": target})
    return organization_id if was_found(response) else ""


def email_auth(case: Case, organization_id: str) -> str:
    asked = recovery_params(case.contact.upper(), bundles.point(bundles.fresh()).hex())
    return organization_id if was_found(case.parent_at(organization_id).submit("email_auth", asked)) else ""


def email_recovery(case: Case, organization_id: str) -> str:
    asked = recovery_params(case.contact, bundles.point(bundles.fresh()).hex())
    by = case.parent_at(organization_id)
    return organization_id if was_found(by.submit("init_user_email_recovery", asked)) else ""


def was_found(response: httpx.Response) -> bool:
    if response.status_code == 200:
        return True
    status, message = refusal(response)
    assert (status, "no user of the parent wrote it" in message) == (404, True), message
    return False


def google_login(case: Case, _: str) -> str:
    """Somebody who has another identity of Google with the verified address."""
    key = generate_api_key()
    token = case.id_token(nonce=nonce_of(key.public_key), sub=unique("subject"))
    asked = {"oidcToken": token, "publicKey": key.public_key}
    response = ask(case.codes.caller, case.config_id, "oauth_login", **asked)
    if response.status_code != 200:
        assert refusal(response)[0] == 404
        return ""
    found: str = claims(answered(response)["session"])["organization_id"]
    return found


def listed(case: Case, _: str) -> str:
    return the_one_listed(case, "list_suborgs")


def listed_as_verified(case: Case, _: str) -> str:
    return the_one_listed(case, "list_verified_suborgs")


def the_one_listed(case: Case, query: str) -> str:
    asked: dict[str, Any] = {"filterType": case.kind.filter_type, "filterValue": case.contact}
    ids: list[str] = case.codes.caller.asked(query, **asked)["organizationIds"]
    return "".join(ids)


LookUp = Callable[[Case, str], str]
LOOK_UPS: list[tuple[LookUp, int]] = [
    (listed, NOTHING),  # a parent lists what is written
    (listed_as_verified, VERIFIED),
    (account, FOUND),
    (account_without_a_proof, FOUND),
    (otp_login, FOUND),
    (otp_login_there, FOUND),
    (otp_login_through_the_proxy, FOUND),
    (attested_login, FOUND),
    (attested_login_there, FOUND),
    (whoami, FOUND),
    (otp_auth, FOUND),
]
EMAIL_LOOK_UPS: list[tuple[LookUp, int]] = [
    (email_auth, FOUND),
    (email_recovery, FOUND),
    (google_login, VERIFIED),
]


@pytest.mark.parametrize(("write", "status"), WRITES, ids=[write.__name__ for write, _ in WRITES])
@pytest.mark.parametrize("kind", [EMAIL, SMS], ids=["e-mail", "SMS"])
def test_which_account_a_contact_finds(codes: Codes, config_id: str, kind: Kind, write: Write, status: int) -> None:
    check(codes, config_id, kind, write, status, LOOK_UPS)


@pytest.mark.parametrize(("write", "status"), ONLY_EMAIL, ids=[write.__name__ for write, _ in ONLY_EMAIL])
def test_which_account_an_address_finds(codes: Codes, config_id: str, write: Write, status: int) -> None:
    check(codes, config_id, EMAIL, write, status, LOOK_UPS)


@pytest.mark.parametrize(
    ("write", "status"), WRITES + ONLY_EMAIL, ids=[write.__name__ for write, _ in WRITES + ONLY_EMAIL]
)
def test_which_account_an_address_finds_by_email_and_by_google(
    codes: Codes, config_id: str, write: Write, status: int
) -> None:
    check(codes, config_id, EMAIL, write, status, EMAIL_LOOK_UPS)


def check(
    codes: Codes, config_id: str, kind: Kind, write: Write, status: int, look_ups: list[tuple[LookUp, int]]
) -> None:
    """A login may verify a contact and cost a message, so a look-up that changes something has a contact of its
    own."""
    for look_up, needed in look_ups:
        case = new_case(codes, config_id, kind)
        made = write(case)
        assert look_up(case, made) == (made if status >= needed else ""), look_up.__name__
