"""The published Python client against a live server. Its pydantic models are strict: an answer that lacks a
required field, or has one of another type, fails the call itself.
"""

from __future__ import annotations

import functools
import importlib
import json
import secrets
import time
import uuid
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from turnkey_api_key_stamper import ApiKeyStamper, ApiKeyStamperConfig

from tests.compatibility.live import Live
from tests.compatibility.passkey import new_passkey
from tests.support.issuers import ISSUER

ERC20 = Path(__file__).with_name("erc20.json").read_text()
ETHEREUM = {
    "curve": "CURVE_SECP256K1",
    "pathFormat": "PATH_FORMAT_BIP32",
    "path": "m/44'/60'/0'/0/0",
    "addressFormat": "ADDRESS_FORMAT_ETHEREUM",
}
SOLANA = {
    "curve": "CURVE_ED25519",
    "pathFormat": "PATH_FORMAT_BIP32",
    "path": "m/44'/501'/0'/0'",
    "addressFormat": "ADDRESS_FORMAT_SOLANA",
}


@functools.cache
def sdk() -> Any:
    """The published client and its models. Imported late, since it takes long, which collecting must not.

    It defines a thousand pydantic models, which takes ten seconds unless each is built when it is first used.
    """
    pydantic = importlib.import_module("pydantic")
    pydantic.BaseModel.model_config["defer_build"] = True
    try:
        return importlib.import_module("turnkey_http")
    finally:
        del pydantic.BaseModel.model_config["defer_build"]


def client_with(live: Live, public_key: str, private_key: str, organization_id: str | None = None) -> Any:
    stamper = ApiKeyStamper(ApiKeyStamperConfig(api_public_key=public_key, api_private_key=private_key))
    return sdk().TurnkeyClient(live.base_url, stamper, organization_id or live.organization_id)


@pytest.fixture(scope="module")
def client(live: Live) -> Any:
    return client_with(live, live.api_public_key, live.api_private_key)


@pytest.fixture(scope="module")
def user_key() -> tuple[str, str]:
    return new_key()


@pytest.fixture(scope="module")
def user_id(client: Any, user_key: tuple[str, str]) -> str:
    """A user without any rights, made by the client's create_users."""
    user = {"userName": unique("user"), "apiKeys": [api_key(user_key[0])]}
    empty: dict[str, Any] = {"authenticators": [], "oauthProviders": [], "userTags": []}
    made = client.create_users(sdk().CreateUsersBody(users=[{**user, **empty}]))
    assert made.activity.status == "ACTIVITY_STATUS_COMPLETED"
    assert made.activity.type == "ACTIVITY_TYPE_CREATE_USERS_V3"
    return str(made.userIds[0])


@pytest.fixture(scope="module")
def wallet(client: Any) -> Any:
    """What the client's create_wallet answered."""
    return client.create_wallet(sdk().CreateWalletBody(walletName=unique("wallet"), accounts=[ETHEREUM, SOLANA]))


@pytest.fixture(scope="module")
def contract(client: Any) -> Any:
    """What the client's create_smart_contract_interface answered."""
    return client.create_smart_contract_interface(contract_body(ERC20))


def test_whoami(client: Any, live: Live) -> None:
    answer = client.get_whoami(sdk().GetWhoamiBody())
    assert (answer.organizationId, answer.userId) == (live.organization_id, live.user_id)


def test_get_user(client: Any, live: Live) -> None:
    user = client.get_user(sdk().GetUserBody(userId=live.user_id)).user
    assert live.api_public_key in [key.credential.publicKey for key in user.apiKeys]


def test_create_users(client: Any, live: Live, user_id: str, user_key: tuple[str, str]) -> None:
    user = client.get_user(sdk().GetUserBody(userId=user_id)).user
    assert user.apiKeys[0].credential.publicKey == user_key[0]
    assert client_with(live, *user_key).get_whoami(sdk().GetWhoamiBody()).userId == user_id


def test_list_users(client: Any, live: Live, user_id: str) -> None:
    listed = [user.userId for user in client.get_users(sdk().GetUsersBody()).users]
    assert {live.user_id, user_id} <= set(listed)
    assert len(listed) == len(set(listed))


def test_create_api_keys(client: Any, user_id: str) -> None:
    key = api_key(new_key()[0]) | {"expirationSeconds": "3600"}
    made = client.create_api_keys(sdk().CreateApiKeysBody(userId=user_id, apiKeys=[key]))
    held = client.get_api_keys(sdk().GetApiKeysBody(userId=user_id)).apiKeys
    assert [key.expirationSeconds for key in held if key.apiKeyId == made.apiKeyIds[0]] == ["3600"]


def test_create_user_tag(client: Any, user_id: str) -> None:
    made = client.create_user_tag(sdk().CreateUserTagBody(userTagName=unique("tag"), userIds=[user_id]))
    assert made.userIds == [user_id]
    assert made.userTagId in client.get_user(sdk().GetUserBody(userId=user_id)).user.userTags


def test_create_authenticators_and_get_authenticator(client: Any, user_id: str) -> None:
    passkey = new_passkey()
    body = sdk().CreateAuthenticatorsBody(
        userId=user_id, authenticators=[{"authenticatorName": unique("passkey"), **passkey}]
    )
    authenticator_id = client.create_authenticators(body).authenticatorIds[0]
    authenticator = client.get_authenticator(
        sdk().GetAuthenticatorBody(authenticatorId=authenticator_id)
    ).authenticator
    assert authenticator.credentialId == passkey["attestation"]["credentialId"]
    assert authenticator.credential.type == "CREDENTIAL_TYPE_WEBAUTHN_AUTHENTICATOR"


def test_create_oauth_providers(client: Any, user_id: str) -> None:
    """A second audience of an identity, by claims beside its token."""
    subject = str(uuid.uuid4())
    claims = {"iss": ISSUER.url, "sub": subject, "aud": "keystead-tests"}
    providers = [
        {"providerName": unique("provider"), "oidcToken": ISSUER.token(int(time.time()), sub=subject)},
        {"providerName": unique("provider"), "oidcClaims": claims},
    ]
    made = client.create_oauth_providers(sdk().CreateOauthProvidersBody(userId=user_id, oauthProviders=providers))
    held = client.get_oauth_providers(sdk().GetOauthProvidersBody(userId=user_id)).oauthProviders
    assert [held.audience for held in held if held.providerId == made.providerIds[1]] == ["keystead-tests"]


def test_create_oauth_providers_by_token(client: Any, user_id: str) -> None:
    subject = unique("subject")
    provider = {"providerName": unique("provider"), "oidcToken": ISSUER.token(int(time.time()), sub=subject)}
    made = client.create_oauth_providers(sdk().CreateOauthProvidersBody(userId=user_id, oauthProviders=[provider]))
    held = client.get_oauth_providers(sdk().GetOauthProvidersBody(userId=user_id)).oauthProviders
    assert [held.subject for held in held if held.providerId == made.providerIds[0]] == [subject]


def test_create_mfa_policy(client: Any, user_id: str) -> None:
    body = sdk().CreateMfaPolicyBody(
        userId=user_id,
        mfaPolicyName=unique("policy"),
        condition="activity.type == 'ACTIVITY_TYPE_EXPORT_WALLET'",
        requiredAuthenticationMethods=[{"any": [{"type": "AUTHENTICATION_TYPE_PASSKEY"}]}],
        order=0,
    )
    made = client.create_mfa_policy(body)
    held = client.get_mfa_policies(sdk().GetMfaPoliciesBody(userId=user_id)).mfaPolicies
    assert made.mfaPolicyId in [policy.mfaPolicyId for policy in held]


def test_create_wallet(wallet: Any) -> None:
    ethereum, solana = wallet.addresses
    assert (ethereum[:2], len(ethereum)) == ("0x", 42)
    assert 32 <= len(solana) <= 44


def test_get_wallet(client: Any, wallet: Any) -> None:
    got = client.get_wallet(sdk().GetWalletBody(walletId=wallet.walletId)).wallet
    assert (got.walletId, got.exported, got.imported) == (wallet.walletId, False, False)


def test_list_wallets(client: Any, wallet: Any) -> None:
    listed = [listed.walletId for listed in client.get_wallets(sdk().GetWalletsBody()).wallets]
    assert listed.count(wallet.walletId) == 1


def test_list_wallet_accounts(client: Any, wallet: Any) -> None:
    accounts = client.get_wallet_accounts(sdk().GetWalletAccountsBody(walletId=wallet.walletId)).accounts
    assert {account.address for account in accounts} == set(wallet.addresses)


def test_create_smart_contract_interface(client: Any, contract: Any) -> None:
    assert contract.activity.status == "ACTIVITY_STATUS_COMPLETED"
    body = sdk().GetSmartContractInterfaceBody(smartContractInterfaceId=contract.smartContractInterfaceId)
    got = client.get_smart_contract_interface(body).smartContractInterface
    assert json.loads(got.smartContractInterface) == json.loads(ERC20)


def test_list_smart_contract_interfaces(client: Any, contract: Any) -> None:
    listed = client.get_smart_contract_interfaces(sdk().GetSmartContractInterfacesBody()).smartContractInterfaces
    ids = [interface.smartContractInterfaceId for interface in listed]
    assert ids.count(contract.smartContractInterfaceId) == 1


def test_get_activity(client: Any, contract: Any) -> None:
    activity = client.get_activity(sdk().GetActivityBody(activityId=contract.activity.id)).activity
    assert activity.fingerprint == contract.activity.fingerprint
    assert int(activity.createdAt.seconds) <= time.time() + 1


def test_list_activities(client: Any, contract: Any) -> None:
    body = sdk().GetActivitiesBody(
        filterByType=[contract.activity.type],
        filterByStatus=["ACTIVITY_STATUS_COMPLETED"],
        paginationOptions={"limit": "100"},
    )
    activities = client.get_activities(body).activities
    assert {activity.type for activity in activities} == {contract.activity.type}
    assert [activity.id for activity in activities].count(contract.activity.id) == 1


def test_unknown_authenticator_is_404(client: Any) -> None:
    authenticator_id = str(uuid.uuid4())
    with pytest.raises(sdk().TurnkeyNetworkError, match=authenticator_id) as refused:
        client.get_authenticator(sdk().GetAuthenticatorBody(authenticatorId=authenticator_id))
    assert refused.value.status_code == 404


def test_bad_contract_interface_is_400(client: Any) -> None:
    with pytest.raises(sdk().TurnkeyNetworkError, match="smartContractInterface") as refused:
        client.create_smart_contract_interface(contract_body("no ABI"))
    assert refused.value.status_code == 400


def test_unregistered_key_is_401(live: Live) -> None:
    stranger = new_key()
    with pytest.raises(sdk().TurnkeyNetworkError, match="could not find public key in organization") as refused:
        client_with(live, *stranger).get_wallets(sdk().GetWalletsBody())
    assert refused.value.status_code == 401


def test_unknown_organization_is_404(live: Live) -> None:
    elsewhere = str(uuid.uuid4())
    with pytest.raises(sdk().TurnkeyNetworkError, match=elsewhere) as refused:
        client_with(live, live.api_public_key, live.api_private_key, elsewhere).get_users(sdk().GetUsersBody())
    assert refused.value.status_code == 404


def unique(name: str) -> str:
    return f"{name} {secrets.token_hex(4)}"


def new_key() -> tuple[str, str]:
    """A P-256 API key: compressed public key and private key, both hex."""
    private = ec.generate_private_key(ec.SECP256R1())
    public = private.public_key().public_bytes(Encoding.X962, PublicFormat.CompressedPoint)
    return public.hex(), f"{private.private_numbers().private_value:064x}"


def api_key(public_key: str) -> dict[str, str]:
    return {"apiKeyName": unique("key"), "publicKey": public_key, "curveType": "API_KEY_CURVE_P256"}


def contract_body(interface: str) -> Any:
    return sdk().CreateSmartContractInterfaceBody(
        smartContractAddress=f"0x{secrets.token_hex(20)}",
        smartContractInterface=interface,
        type="SMART_CONTRACT_INTERFACE_TYPE_ETHEREUM",
        label=unique("ERC-20"),
    )
