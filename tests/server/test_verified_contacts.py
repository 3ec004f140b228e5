"""Verification tokens in use: sign-ups, changed contacts, list_verified_suborgs; forged and foreign ones."""

from __future__ import annotations

from typing import Any, NamedTuple

import httpx
import pytest

from keystead.stamps.signing import generate_api_key
from tests.support import bundles
from tests.support.callers import SDK_FORM, Caller, api_key_params, refusal, unique
from tests.support.codes import KEY, Codes, signup_signature
from tests.support.example_codes import an_address, claims, client_signature
from tests.support.servers import user_with_key


def signed_up(codes: Codes, address: str, token: str | None, signature: dict[str, str] | None, **user: Any) -> Any:
    key = generate_api_key()
    root = {"userName": "Ada", "userEmail": address, "apiKeys": [api_key_params(key.public_key)]}
    root |= {"authenticators": [], "oauthProviders": [], **user}
    asked = {"subOrganizationName": unique("sub"), "rootUsers": [root], "rootQuorumThreshold": 1}
    asked |= {"verificationToken": token} if token else {}
    asked |= {"clientSignature": signature} if signature else {}
    return codes.caller.submit("create_sub_organization", asked, SDK_FORM)


def verified(codes: Codes, kind: str, value: str) -> list[str]:
    answer = codes.caller.asked("list_verified_suborgs", filterType=kind, filterValue=value)
    found: list[str] = answer["organizationIds"]
    return found


def created(response: httpx.Response) -> str:
    assert response.status_code == 200, response.text
    result = response.json()["activity"]["result"]["createSubOrganizationResultV9"]
    return str(result["subOrganizationId"])


def test_a_sign_up_with_a_token_verifies_the_contact(codes: Codes) -> None:
    address = an_address()
    token = codes.proven(address)
    keys = [api_key_params(generate_api_key().public_key)]
    signature = signup_signature(token, apiKeys=keys, email=address)
    made = created(signed_up(codes, address, token, signature, apiKeys=keys))
    assert verified(codes, "EMAIL", address.upper()) == [made]
    unverified = created(signed_up(codes, address, None, None))
    assert verified(codes, "EMAIL", address) == [made]
    found = codes.caller.asked("list_suborgs", filterType="EMAIL", filterValue=address)["organizationIds"]
    assert sorted(found) == sorted([made, unverified])


class Wrong(NamedTuple):
    name: str
    text: str
    token: str = "good"
    signature: str = "good"


WRONG = [
    Wrong("no token at all but text", "expected a JWT", token="text"),
    Wrong("a changed signature", "the signature is not this server's", token="forged"),
    Wrong("a token for another contact", "no user in `parameters.rootUsers`", token="of another contact"),
    Wrong("a token of another organization", "issued in another organization", token="of another organization"),
    Wrong("no client signature", "send a signature of the key", signature="none"),
    Wrong("a client signature over other lists", "names other apiKeys", signature="other lists"),
    Wrong("a client signature for a login", "not about a sign-up", signature="login"),
    Wrong("a client signature over another token", "another `tokenId`", signature="other token"),
    Wrong("a client signature by another key", "not the key of the verification token", signature="other key"),
    Wrong("a client signature of another scheme", "clientSignature.scheme", signature="other scheme"),
]


@pytest.mark.parametrize("case", WRONG, ids=lambda case: case.name)
def test_wrong_sign_ups(codes: Codes, case: Wrong) -> None:
    address, keys = an_address(), [api_key_params(generate_api_key().public_key)]
    good = codes.proven(address)
    head, _, tail = good.rpartition(".")
    tokens = {"good": good, "text": "text", "forged": f"{head}.{tail[:-4]}AAAA"}
    if case.token == "of another contact":
        tokens[case.token] = codes.proven(an_address())
    if case.token == "of another organization":
        key = generate_api_key()
        user = user_with_key(key)
        other = codes.server.installation.add_organization(user)
        elsewhere = codes._replace(caller=Caller(codes.server.http, other.id, user.user_id, key))
        tokens[case.token] = elsewhere.proven(address)
    token = tokens[case.token]
    about = good if case.token == "text" else token
    signup = {"apiKeys": keys, "email": address}
    message = {"signupV2": signup, "tokenId": claims(about)["id"], "type": "USAGE_TYPE_SIGNUP"}
    signatures: dict[str, dict[str, str] | None] = {
        "good": client_signature(message, KEY),
        "none": None,
        "other lists": client_signature(message | {"signupV2": signup | {"apiKeys": []}}, KEY),
        "other token": client_signature(message | {"tokenId": "another"}, KEY),
        "other key": client_signature(message, bundles.fresh()),
        "other scheme": client_signature(message, KEY) | {"scheme": "CLIENT_SIGNATURE_SCHEME_NONE"},
    }
    login = {"login": {"publicKey": "02"}, "tokenId": claims(about)["id"], "type": "USAGE_TYPE_LOGIN"}
    signatures["login"] = client_signature(login, KEY)
    response = signed_up(codes, address, token, signatures[case.signature], apiKeys=keys)
    status, message_text = refusal(response)
    assert status == 400
    assert case.text in message_text
    assert token[-40:] not in response.text, "no error quotes a token"
    assert verified(codes, "EMAIL", address) == []


def a_sub_organization(codes: Codes, **user: Any) -> tuple[Caller, str]:
    """One with a root user; the root user as a caller, and its id."""
    key = generate_api_key()
    made = signed_up(codes, an_address(), None, None, apiKeys=[api_key_params(key.public_key)], **user)
    result = made.json()["activity"]["result"]["createSubOrganizationResultV9"]
    (user_id,) = result["rootUserIds"]
    return Caller(codes.server.http, result["subOrganizationId"], user_id, key), user_id


def test_a_changed_contact_is_verified_by_a_token_and_no_longer_without(codes: Codes) -> None:
    caller, user_id = a_sub_organization(codes)
    address, number = an_address(), "+14155550199"
    changed = {"userId": user_id, "userEmail": address, "verificationToken": codes.proven(address)}
    caller.submitted("update_user_email", changed)
    assert verified(codes, "EMAIL", address) == [caller.organization_id]
    by_sms = codes.proven(number, otpType="OTP_TYPE_SMS")
    for wrong in (codes.proven(an_address()), by_sms):
        refused = caller.submit("update_user_email", changed | {"verificationToken": wrong})
        assert refusal(refused)[0] == 400
        assert "proves another contact" in refused.text
    asked = {"userId": user_id, "userPhoneNumber": number, "verificationToken": by_sms}
    caller.submitted("update_user_phone_number", asked)
    assert verified(codes, "PHONE_NUMBER", number) == [caller.organization_id]
    caller.submitted("update_user_email", {"userId": user_id, "userEmail": an_address()})
    assert verified(codes, "EMAIL", address) == []
    assert verified(codes, "PHONE_NUMBER", number) == [caller.organization_id]
    caller.submitted("update_user", {"userId": user_id, "userEmail": address})
    assert verified(codes, "EMAIL", address) == [], "the same address, and nobody has proved it"
    caller.submitted("delete_sub_organization", {"deleteWithoutExport": True})
    assert verified(codes, "PHONE_NUMBER", number) == []


def test_a_deleted_user_has_no_verified_contact(codes: Codes) -> None:
    caller, _ = a_sub_organization(codes)
    address = an_address()
    user = caller.new_user()
    changed = {"userId": user.user_id, "userEmail": address, "verificationToken": codes.proven(address)}
    caller.submitted("update_user_email", changed)
    assert verified(codes, "EMAIL", address) == [caller.organization_id]
    caller.submitted("delete_users", {"userIds": [user.user_id]})
    assert verified(codes, "EMAIL", address) == []
