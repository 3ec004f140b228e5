"""Wallets that log in, over HTTP on both stores: messages, tokens, the endpoints of the proxy that a kit calls."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from keystead.api.enums import WalletAuthenticatorType
from keystead.sessions.wallet_tokens import WalletClaim
from keystead.stamps.signing import ApiKeyPair, generate_api_key
from tests.support import bundles
from tests.support.authorization_scenario import new_parent, new_sub_organization
from tests.support.callers import SDK_FORM, answered, now_ms, refusal, unique
from tests.support.example_codes import claims, client_signature
from tests.support.login_wallets import (
    DOMAIN,
    WALLETS,
    LoginWallet,
    login_message,
    new_wallet,
    signed_login,
    wallet_params,
)
from tests.support.organization_fixtures import mfa_policy_params
from tests.support.sessions import attested
from tests.support.wallet_kit import WalletKit, claim_of, new_kit, recorded, session_of


@pytest.mark.parametrize("chain", WALLETS)
def test_a_wallet_signs_up_and_logs_in_as_a_kit_does_it(chain: str, kit: WalletKit) -> None:
    wallet, key = new_wallet(chain), generate_api_key()
    token = kit.proven(wallet, key)
    assert kit.account("WALLET_AUTH_TOKEN", token) is None
    wallet_key = wallet.public_key  # the kit asks for an older account, whose API key is the wallet's
    assert kit.account("PUBLIC_KEY", wallet_key) is None
    made = answered(kit.sign_up(wallet_params(wallet, verificationToken=token)))
    session = session_of(kit, kit.login(key, token, made["organizationId"]))
    assert (session["organization_id"], session["user_id"]) == (made["organizationId"], made["userId"])
    user = kit.parent.with_key(key, made["userId"], made["organizationId"])
    assert user.asked("whoami")["userId"] == made["userId"]
    (held,) = recorded(user)
    assert (held["type"], held["address"], held["domain"]) == (wallet.type, wallet.address, DOMAIN)

    later = generate_api_key()
    token = kit.proven(wallet, later)
    assert kit.account("WALLET_AUTH_TOKEN", token) == made["organizationId"]
    assert session_of(kit, kit.login(later, token))["user_id"] == made["userId"], "the wallet finds the account"
    claim = json.dumps(wallet_params(wallet))
    found = kit.parent.asked("list_suborgs", filterType="WALLET_AUTH_CLAIM", filterValue=claim)
    assert found["organizationIds"] == [made["organizationId"]]


# Messages.


def test_a_message_is_used_once(kit: WalletKit) -> None:
    login = signed_login(new_wallet(), generate_api_key().public_key, now_ms())
    kit.parent.submitted("verify_wallet_authenticator", login)
    status, message = refusal(kit.parent.submit("verify_wallet_authenticator", login))
    assert (status, "it was used before; sign a new message" in message) == (400, True), message


def test_a_message_is_used_once_also_by_many_at_the_same_instant(kit: WalletKit) -> None:
    login = signed_login(new_wallet(), generate_api_key().public_key, now_ms())
    del login["publicKey"]
    with ThreadPoolExecutor(5) as threads:
        answers = list(threads.map(lambda _: kit.ask("verify_wallet_authenticator", **login), range(5)))
    # Equal requests of one millisecond are one activity, and have its answer.
    tokens = {answer.json()["verificationToken"] for answer in answers if answer.status_code == 200}
    assert len(tokens) == 1, [one.text for one in answers]


SMALL_ORDER = "11111111111111111111111111111111"
"""The address whose key is the point of order 4."""


def _small_order(login: dict[str, str]) -> dict[str, str]:
    lines = login["message"].split("\n")
    lines[0] = lines[0].replace("Ethereum", "Solana")
    lines[1] = SMALL_ORDER
    return {"message": "\n".join(lines), "signature": "01" + "00" * 63}


BAD_LOGINS: dict[str, tuple[Callable[[dict[str, str]], dict[str, str]], str]] = {
    "another domain": (lambda q: q | {"message": q["message"].replace(DOMAIN, "evil.example")}, "is by 0x"),
    "another session's key": (
        lambda q: q | {"message": q["message"].replace("Nonce: 0", "Nonce: 1")},
        "is by 0x",
    ),
    "a contract wallet": (
        lambda q: q | {"signature": q["signature"] * 20},
        "a contract wallet (EIP-1271, EIP-6492) cannot log in here",
    ),
    "a key of small order": (_small_order, "nobody owns the address"),
    "another key beside it": (lambda q: q | {"publicKey": new_wallet().public_key}, "not the key that signed it"),
    "no signature": (lambda q: q | {"signature": ""}, "its signature must be 65 bytes"),
}


@pytest.mark.parametrize("name", BAD_LOGINS)
def test_a_bad_message_proves_nothing(name: str, kit: WalletKit) -> None:
    change, why = BAD_LOGINS[name]
    login = change(signed_login(new_wallet(), generate_api_key().public_key, now_ms()))
    status, message = refusal(kit.parent.submit("verify_wallet_authenticator", login))
    assert (status, why in message) == (400, True), message
    assert "field `parameters.message`" in message


def test_a_token_ends_with_its_message_or_before(kit: WalletKit) -> None:
    for asked, most_s in ((None, 3_600), ("60", 60), ("86400", 3_600)):
        login = signed_login(new_wallet(), generate_api_key().public_key, now_ms())
        given = login if asked is None else login | {"expirationSeconds": asked}
        token = kit.parent.result("verify_wallet_authenticator", given)["verificationToken"]
        assert most_s - 5 <= int(claims(token)["exp"]) / 1000 - now_ms() / 1000 <= most_s
    too_long = kit.parent.submit("verify_wallet_authenticator", login | {"expirationSeconds": "86401"})
    assert refusal(too_long)[0] == 400


def test_a_token_is_in_the_answer_and_nowhere_on_record(kit: WalletKit) -> None:
    login = signed_login(new_wallet(), generate_api_key().public_key, now_ms())
    activity = kit.parent.submitted("verify_wallet_authenticator", login, SDK_FORM)
    token = activity["result"]["verifyWalletAuthenticatorResult"]["verificationToken"]
    assert token.count(".") == 2
    seen = kit.parent.asked("get_activity", SDK_FORM, activityId=activity["id"])["activity"]
    assert seen["result"]["verifyWalletAuthenticatorResult"]["verificationToken"] == ""
    signature = token.rpartition(".")[2].encode()
    assert not any(signature in value for value in kit.server.installation.database.values())


# Logins with tokens.

BAD_TOKENS: dict[str, Callable[[WalletKit, LoginWallet, ApiKeyPair], str]] = {
    "another session's key": lambda p, w, k: p.token(w, generate_api_key()),
    "another wallet": lambda p, w, k: p.token(new_wallet(), k),
    "another domain": lambda p, w, k: p.token(w, k, wallet=claim_of(w, "other.example.com")),
    "another type": lambda p, w, k: p.token(
        w, k, wallet=WalletClaim(WalletAuthenticatorType.SOLANA, w.address, DOMAIN)
    ),
    "another parent": lambda p, w, k: p.token(w, k, organization_id=new_parent(p.server).organization_id),
    "a sibling": lambda p, w, k: p.token(w, k, organization_id=new_sub_organization(p.parent).organization_id),
    "expired": lambda p, w, k: p.token(w, k, expires_at_ms=now_ms() - 1),
    "tampered with": lambda p, w, k: p.token(w, k)[:-8] + "AQEBAQEB",
    "a token of a code": lambda p, w, k: p.token_of_code(k),
    "no token": lambda p, w, k: "x.y.z",
}


@pytest.mark.parametrize("name", BAD_TOKENS)
def test_a_bad_token_does_not_log_in(name: str, kit: WalletKit) -> None:
    wallet, key = new_wallet(), generate_api_key()
    user = kit.account_of(wallet)
    token = BAD_TOKENS[name](kit, wallet, key)
    for organization_id in (user.organization_id, ""):
        status, message = refusal(kit.login(key, token, organization_id))
        assert status == 401, message
        assert token not in message
    assert user.with_key(key).ask("whoami").status_code == 401
    assert session_of(kit, kit.login(key, kit.token(wallet, key)))["user_id"] == user.user_id


def test_the_two_kinds_of_tokens_are_not_exchanged(kit: WalletKit) -> None:
    wallet, key = new_wallet(), generate_api_key()
    kit.account_of(wallet)
    assert refusal(kit.login(key, kit.token(wallet, key), scheme=""))[0] == 401
    asked = {"verificationToken": kit.token(wallet, key), "publicKey": key.public_key}
    status, message = refusal(kit.parent.submit("otp_login", asked, type="ACTIVITY_TYPE_OTP_LOGIN"))
    assert (status, "verificationToken" in message) == (400, True), message


def test_a_wallet_proves_its_mfa_step(kit: WalletKit) -> None:
    wallet, key = new_wallet(), generate_api_key()
    user = kit.account_of(wallet)
    policy = mfa_policy_params(user.user_id, [{"type": "AUTHENTICATION_TYPE_WALLET"}])
    user.submitted("create_mfa_policy", policy | {"condition": "activity.kind == 'CREATE_USER_TAG'"})
    activity = answered(user.submit("create_user_tag", {"userTagName": unique("tag"), "userIds": []}))["activity"]
    assert activity["status"] == "ACTIVITY_STATUS_AUTHENTICATORS_NEEDED", activity["status"]
    body = user.submit_body("approve_activity", {"fingerprint": activity["fingerprint"]})
    headers = attested(key, "WALLET_VERIFICATION_TOKEN", kit.token(wallet, key), body)
    answer = user.http.post("/public/v1/submit/approve_activity", content=body, headers=headers)
    assert answered(answer)["activity"]["status"] == "ACTIVITY_STATUS_COMPLETED"


def test_a_wallet_and_the_session_that_it_began_prove_one_step(kit: WalletKit) -> None:
    wallet, key, session_key = new_wallet(), generate_api_key(), generate_api_key()
    user = kit.account_of(wallet)
    session_of(kit, kit.login(session_key, kit.token(wallet, session_key)))
    session = user.with_key(session_key)
    policy = mfa_policy_params(user.user_id, []) | {
        "condition": "activity.kind == 'CREATE_USER_TAG'",
        "requiredAuthenticationMethods": [
            {"any": [{"type": f"AUTHENTICATION_TYPE_{one}"}]} for one in ("SESSION", "WALLET")
        ],
    }
    user.submitted("create_mfa_policy", policy)
    activity = answered(session.submit("create_user_tag", {"userTagName": unique("tag"), "userIds": []}))[
        "activity"
    ]
    body = user.submit_body("approve_activity", {"fingerprint": activity["fingerprint"]})
    headers = attested(key, "WALLET_VERIFICATION_TOKEN", kit.token(wallet, key), body)
    answer = user.http.post("/public/v1/submit/approve_activity", content=body, headers=headers)
    assert answered(answer)["activity"]["status"] == "ACTIVITY_STATUS_AUTHENTICATORS_NEEDED"


# The proxy.


def test_a_proxy_that_does_not_allow_wallets(kit: WalletKit) -> None:
    other = new_kit(kit.server, new_parent(kit.server), allowedAuthMethods=["email"])
    wallet, key = new_wallet(), generate_api_key()
    login = {"message": login_message(wallet, key.public_key, now_ms()), "signature": "00"}
    params = wallet_params(wallet, verificationToken=other.token(wallet, key))
    for answer in (other.ask("verify_wallet_authenticator", **login), other.sign_up(params)):
        status, message = refusal(answer)
        assert (status, message.startswith("WALLET disallowed")) == (403, True), message


@pytest.mark.parametrize("is_needed", [True, False])
def test_whether_a_wallet_has_an_account_is_told_to_its_owner(is_needed: bool, kit: WalletKit) -> None:
    setting = {"verificationTokenRequiredForGetAccountPii": is_needed}
    other, wallet, key = new_kit(kit.server, new_parent(kit.server), **setting), new_wallet(), generate_api_key()
    user, token = other.account_of(wallet), other.token(wallet, key)
    claim = json.dumps(wallet_params(wallet))
    assert other.account("WALLET_AUTH_CLAIM", claim, walletAuthVerificationToken=token) == user.organization_id
    asked = {"filterType": "WALLET_AUTH_CLAIM", "filterValue": claim}
    bad = (other.token(new_wallet(), key), kit.token(wallet, key), other.token_of_code(key), "x.y.z")
    for text in bad:
        assert refusal(other.ask("account", **asked, walletAuthVerificationToken=text))[0] == 401
    for text in bad[1:]:
        assert refusal(other.ask("account", filterType="WALLET_AUTH_TOKEN", filterValue=text))[0] == 401
    without = other.ask("account", **asked)
    assert without.status_code == (401 if is_needed else 200), without.text
    assert refusal(other.ask("account", filterType="WALLET_AUTH_CLAIM", filterValue="{}"))[0] == 400


def test_a_signed_sign_up_names_its_wallets(kit: WalletKit) -> None:
    """The key of a code's token confirms the credentials, wallets among them."""
    key = bundles.fresh()
    public_key = bundles.compressed(key).hex()
    for signed_wallets, expected in ((True, 200), (False, 400)):
        wallet = new_wallet()
        pair = ApiKeyPair(public_key=public_key, private_key="")
        token = kit.token_of_code(pair)
        params = wallet_params(wallet, verificationToken=kit.token(wallet, generate_api_key()))
        signup = {"email": "ada@example.com", "walletAuthenticators": [params] if signed_wallets else []}
        message = {"signupV3": signup, "tokenId": claims(token)["id"], "type": "USAGE_TYPE_SIGNUP"}
        answer = kit.sign_up(
            params,
            userEmail="ada@example.com",
            verificationToken=token,
            clientSignature=client_signature(message, key),
        )
        assert answer.status_code == expected, answer.text
        assert expected == 200 or "walletAuthenticators" in answer.text
