"""Wallet authenticators over HTTP on both stores: what proves one, who may attach and remove one, siblings."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from keystead.stamps.signing import generate_api_key
from tests.support.authorization_scenario import new_parent, new_sub_organization
from tests.support.callers import SDK_FORM, Caller, answered, now_ms, refusal, unique
from tests.support.login_wallets import (
    DOMAIN,
    WALLETS,
    LoginWallet,
    new_wallet,
    wallet_params,
)
from tests.support.wallet_kit import ORIGIN, WalletKit, claim_of, recorded, session_of

Sent = Callable[[WalletKit, LoginWallet, str], dict[str, str]]
UNPROVEN: dict[str, tuple[Sent, str]] = {
    "without a token": (lambda p, w, t: wallet_params(w), "missing field"),
    "an empty token": (lambda p, w, t: wallet_params(w, verificationToken=""), "missing field"),
    "another domain": (
        lambda p, w, t: wallet_params(w, verificationToken=t, domain="other.example.com"),
        f"logs in at {DOMAIN}, not what the request names",
    ),
    "another wallet": (
        lambda p, w, t: wallet_params(new_wallet(), verificationToken=t),
        "not what the request names",
    ),
    "another organization": (
        lambda p, w, t: wallet_params(
            w,
            verificationToken=p.token(w, generate_api_key(), organization_id=new_parent(p.server).organization_id),
        ),
        "it was issued in another organization",
    ),
    "expired": (
        lambda p, w, t: wallet_params(
            w, verificationToken=p.token(w, generate_api_key(), expires_at_ms=now_ms() - 1)
        ),
        "expired",
    ),
    "a token of a code": (
        lambda p, w, t: wallet_params(w, verificationToken=p.token_of_code(generate_api_key())),
        "invalid verification token",
    ),
    "a typing error": (
        lambda p, w, t: wallet_params(w, verificationToken=t, address=f"0x{w.written_address[2:].swapcase()}"),
        "check the address",
    ),
    "an URL": (lambda p, w, t: wallet_params(w, verificationToken=t, domain=ORIGIN), "the domain must be a host"),
}


@pytest.mark.parametrize("name", UNPROVEN)
def test_a_wallet_that_is_not_proven_is_not_attached(name: str, kit: WalletKit) -> None:
    """Neither by the user of a sub-organization nor by a sign-up through the proxy."""
    make, why = UNPROVEN[name]
    wallet, user = new_wallet(), new_sub_organization(kit.parent)
    asked = make(kit, wallet, kit.token(wallet, generate_api_key()))
    parameters = {"userId": user.user_id, "walletAuthenticators": [asked]}
    for answer in (user.submit("create_wallet_authenticators", parameters), kit.sign_up(asked)):
        status, message = refusal(answer)
        assert (status, why in message) == (400, True), message
    assert recorded(user) == []


def attach(user: Caller, *wallets: dict[str, str], user_id: str = "") -> httpx.Response:
    parameters = {"userId": user_id or user.user_id, "walletAuthenticators": list(wallets)}
    return user.submit("create_wallet_authenticators", parameters, SDK_FORM)


def test_a_token_attaches_once_and_its_key_still_logs_in(kit: WalletKit) -> None:
    wallet, key = new_wallet(), generate_api_key()
    token = kit.proven(wallet, key)
    params = wallet_params(wallet, verificationToken=token)
    user = new_sub_organization(kit.parent)
    ids = answered(attach(user, params))["activity"]["result"]["createWalletAuthenticatorsResult"]
    assert ids["walletAuthenticatorIds"] == [held["walletAuthenticatorId"] for held in recorded(user)]
    user.submitted("delete_wallet_authenticators", {"userId": user.user_id, **ids})
    for answer in (attach(user, params), attach(new_sub_organization(kit.parent), params), kit.sign_up(params)):
        status, message = refusal(answer)
        assert (status, "it was used before" in message) == (400, True), message
    answered(attach(user, wallet_params(wallet, verificationToken=kit.proven(wallet, generate_api_key()))))
    assert session_of(kit, kit.login(key, token))["user_id"] == user.user_id


def test_one_of_many_sign_ups_with_a_token_at_the_same_instant_is_made(kit: WalletKit) -> None:
    wallet = new_wallet()
    params = wallet_params(wallet, verificationToken=kit.proven(wallet, generate_api_key()))
    with ThreadPoolExecutor(5) as threads:
        answers = list(threads.map(lambda _: kit.sign_up(params), range(5)))
    assert sorted(answer.status_code for answer in answers) == [200, *[400] * 4], [one.text for one in answers]


@pytest.mark.parametrize("chain", WALLETS)
def test_a_wallet_is_one_users_among_siblings(chain: str, kit: WalletKit) -> None:
    wallet = new_wallet(chain)
    kit.account_of(wallet)
    for spelling in {wallet.written_address, wallet.address}:
        token = kit.token(wallet, generate_api_key())
        params = wallet_params(wallet, verificationToken=token, address=spelling, domain=DOMAIN.upper() + ":443")
        for answer in (attach(new_sub_organization(kit.parent), params), kit.sign_up(params)):
            status, message = refusal(answer)
            assert (status, "is held in another sub-organization" in message) == (400, True), message
    elsewhere = wallet_params(wallet, domain="other.example.com")
    claim = claim_of(wallet, "other.example.com")
    token = kit.token(wallet, generate_api_key(), wallet=claim)
    answered(attach(new_sub_organization(kit.parent), elsewhere | {"verificationToken": token}))


def test_a_user_of_the_parent_does_not_take_the_wallet_of_a_sub_organization(kit: WalletKit) -> None:
    """Neither for an own account, which its owner would be logged in to, nor with a token."""
    wallet, key = new_wallet(), generate_api_key()
    owner, attacker = kit.account_of(wallet), kit.parent.new_user()
    for token in ({}, {"verificationToken": kit.token(wallet, generate_api_key())}):
        status, message = refusal(attach(attacker, wallet_params(wallet, **token)))
        assert (status, "is held in another sub-organization" in message) == (400, True), message
    assert session_of(kit, kit.login(key, kit.proven(wallet, key)))["organization_id"] == owner.organization_id


def test_the_parent_names_wallets_without_tokens(kit: WalletKit) -> None:
    """Also one wallet in two sub-organizations, which the wallet then finds by name only."""
    wallet, made = new_wallet(), []
    for _ in range(2):
        root = {"userName": "Ada", "apiKeys": [], "authenticators": [], "oauthProviders": []}
        asked = {
            "subOrganizationName": unique("sub"),
            "rootUsers": [root | {"walletAuthenticators": [wallet_params(wallet)]}],
            "rootQuorumThreshold": 1,
        }
        made.append(kit.parent.result("create_sub_organization", asked))
    for one in made:
        key = generate_api_key()
        session = session_of(kit, kit.login(key, kit.proven(wallet, key), one["subOrganizationId"]))
        assert session["user_id"] == one["rootUserIds"][0]
    key = generate_api_key()
    status, message = refusal(kit.login(key, kit.proven(wallet, key)))
    assert (status, "more than one suborg associated with a wallet" in message) == (401, True), message


def test_users_of_a_parent_log_in_by_wallet_too(kit: WalletKit) -> None:
    wallet, key = new_wallet(), generate_api_key()
    user = kit.parent.new_user()
    answered(attach(user, wallet_params(wallet)))
    again = refusal(attach(kit.parent, wallet_params(wallet)))
    assert (again[0], "wallet authenticator already exists" in again[1]) == (409, True), again
    token = kit.proven(wallet, key)
    assert session_of(kit, kit.login(key, token))["user_id"] == user.user_id
    other = refusal(attach(user, wallet_params(new_wallet()), user_id=kit.parent.user_id))
    assert other[0] == 403, "one's own wallets only"


def test_the_parent_attaches_no_wallet_to_a_user_of_a_sub_organization(kit: WalletKit) -> None:
    user = new_sub_organization(kit.parent)
    parameters = {"userId": user.user_id, "walletAuthenticators": [wallet_params(new_wallet())]}
    answer = kit.parent.submit("create_wallet_authenticators", parameters, organizationId=user.organization_id)
    status, message = refusal(answer)
    assert (status, "organization mismatch" in message) == (400, True), message


def test_a_removed_wallet_logs_nobody_in_and_the_last_credential_stays(kit: WalletKit) -> None:
    wallet, key = new_wallet(), generate_api_key()
    user = kit.account_of(wallet)
    (held,) = recorded(user)
    removal = {"userId": user.user_id, "walletAuthenticatorIds": [held["walletAuthenticatorId"]]}
    keys = user.asked("get_user", userId=user.user_id)["user"]["apiKeys"]
    without_keys = {"userId": user.user_id, "apiKeyIds": [held["apiKeyId"] for held in keys]}
    user.submitted("delete_wallet_authenticators", removal)
    assert refusal(kit.login(key, kit.token(wallet, key), user.organization_id))[0] == 401
    assert refusal(user.submit("delete_wallet_authenticators", removal))[0] == 404
    token = kit.token(wallet, key)
    answered(attach(user, wallet_params(wallet, verificationToken=token)))
    user.submitted("delete_api_keys", without_keys)
    session_of(kit, kit.login(key, token))
    (held,) = recorded(user.with_key(key, user.user_id))
    removal["walletAuthenticatorIds"] = [held["walletAuthenticatorId"]]
    status, message = refusal(user.with_key(key, user.user_id).submit("delete_wallet_authenticators", removal))
    assert (status, "user missing valid credential" in message) == (400, True), message


def test_the_limit_of_wallets_of_a_user(kit: WalletKit) -> None:
    user = kit.parent.new_user()
    answered(attach(user, *[wallet_params(new_wallet("Solana")) for _ in range(10)]))
    status, message = refusal(attach(user, wallet_params(new_wallet())))
    assert (status, "10 are allowed per user" in message) == (429, True), message
