"""What only the operation can refuse: broken rules, and records that are not there. Nothing is written."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from keystead.api.identifiers import new_id
from keystead.stamps.signing import generate_api_key
from tests.support.callers import Caller, api_key_params, refusal, user_params
from tests.support.databases import Database
from tests.support.example_users import provider_by_claims, provider_by_token
from tests.support.organization_fixtures import (
    ERC20_TRANSFER,
    ETHEREUM_ACCOUNT,
    IDL,
    SOLANA_ACCOUNT,
    RecordIds,
    interface_params,
)
from tests.support.passkeys import SoftPasskey

pytestmark = pytest.mark.one_engine

Make = Callable[[RecordIds], dict[str, Any]]


class Case(NamedTuple):
    """`named`: a field's path, or another word that the message must have."""

    name: str
    operation: str
    parameters: Make
    named: str
    status: int = 400


SOLANA = {"type": "SMART_CONTRACT_INTERFACE_TYPE_SOLANA", "smartContractInterface": IDL}


SOLANA_ADDRESS = {
    "type": "SMART_CONTRACT_INTERFACE_TYPE_SOLANA",
    "smartContractAddress": "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA",
}


def abi_of_type(written: str) -> str:
    return json.dumps([{"type": "function", "name": "f", "inputs": [{"type": written}]}])


def idl_of_type(written: str) -> str:
    """`written` is the type's JSON."""
    return IDL.replace('"args": []', f'"args": [{{"name": "a", "type": {written}}}]')


def nested(name: str, depth: int) -> str:
    return f'{{"{name}":' * depth + '"u8"' + "}" * depth


def nested_tuple(depth: int) -> dict[str, Any]:
    innermost: dict[str, Any] = {"type": "bool"}
    return functools.reduce(lambda inner, _: {"type": "tuple", "components": [inner]}, range(depth), innermost)


def interface(name: str, named: str, status: int = 400, **members: Any) -> Case:
    return Case(name, "create_smart_contract_interface", lambda _: interface_params(**members), named, status)


def address(name: str, value: str, **members: Any) -> Case:
    return interface(name, "`parameters.smartContractAddress`", smartContractAddress=value, **members)


def text(name: str, value: str, **members: Any) -> Case:
    return interface(name, "`parameters.smartContractInterface`", smartContractInterface=value, **members)


INTERFACES = [
    address("address without 0x", "ab" * 20),
    address("address one digit short", "0x" + "a" * 39),
    address("address one digit long", "0x" + "a" * 41),
    address("address with a letter that is not a digit", "0x" + "g" * 40),
    address("address with the wrong letter case", "0xFB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"),
    address("Ethereum address for a Solana program", "0x" + "ab" * 20, **SOLANA),
    address("Solana address too short", "1" * 31, **SOLANA),
    address("Solana address with a letter that base58 lacks", "0" * 44, **SOLANA),
    text("interface empty", ""),
    text("interface no JSON", "transfer(address,uint256)"),
    text("interface an object", "{}"),
    text("interface a list of texts", '["transfer"]'),
    text("interface of an unknown type", ERC20_TRANSFER.replace("uint256", "uint257")),
    text("interface with a function without a name", '[{"type":"function","inputs":[],"outputs":[]}]'),
    text("interface one byte over the limit", "[" + " " * 409_599 + "]"),
    text("interface over the limit in bytes, not in characters", '["' + "é" * 204_799 + '"]'),
    text("interface nested 100,000 deep", "[" * 100_000),
    text("interface with NaN", '[{"name":"f","inputs":NaN}]'),
    text("interface of tuples nested 100 deep", json.dumps([{"name": "f", "inputs": [nested_tuple(100)]}])),
    text("interface of a type nested 10,000 deep", abi_of_type("(" * 10_000 + ")" * 10_000)),
    text("interface of a type of 100,000 brackets", abi_of_type("uint256" + "[]" * 100_000)),
    text("interface of a type of 100,000 members", abi_of_type("(" + "bool," * 100_000 + "x)")),
    text("IDL of a type nested 900 deep", idl_of_type(nested("vec", 900)), **SOLANA_ADDRESS),
    text("IDL of an unknown type nested 900 deep", idl_of_type(nested("x", 900)), **SOLANA_ADDRESS),
    text("IDL of an unknown type nested 970 deep", idl_of_type(nested("x", 970)), **SOLANA_ADDRESS),
    text("IDL for an Ethereum contract", IDL),
    text("ABI for a Solana program", ERC20_TRANSFER, **SOLANA_ADDRESS),
    text("IDL without types", '{"instructions":[]}', **SOLANA_ADDRESS),
    text("IDL of a type that it does not define", idl_of_type('{"defined":"Order"}'), **SOLANA_ADDRESS),
    interface("label with a line break", "`parameters.label`", label="a\nb"),
    interface("notes over the limit", "`parameters.notes`", notes="n" * 2001),
]


def users(name: str, named: str, status: int = 400, **members: Any) -> Case:
    def make(_: RecordIds) -> dict[str, Any]:
        return {"users": [user_params(generate_api_key().public_key) | members]}

    return Case(name, "create_users", make, named, status)


def keys(name: str, named: str, **members: Any) -> Case:
    def make(record_ids: RecordIds) -> dict[str, Any]:
        key = api_key_params(generate_api_key().public_key, expirationSeconds="60") | members
        return {"userId": record_ids.user_id, "apiKeys": [key]}

    return Case(name, "create_api_keys", make, named)


EMAIL, PHONE = "`parameters.users[0].userEmail`", "`parameters.users[0].userPhoneNumber`"
PUBLIC_KEY, EXPIRATION = "`parameters.apiKeys[0].publicKey`", "`parameters.apiKeys[0].expirationSeconds`"
UNCREDENTIALED = "user missing valid credential: field `parameters.users[0]`"
USERS = [
    users("e-mail without @", EMAIL, userEmail="ada.example.com"),
    users("e-mail without a domain", EMAIL, userEmail="ada@"),
    users("e-mail with a domain of one label", EMAIL, userEmail="ada@localhost"),
    users("e-mail with a space", EMAIL, userEmail="a da@example.com"),
    users("phone number without +", PHONE, userPhoneNumber="14155550123"),
    users("phone number in letters", PHONE, userPhoneNumber="+1415CALLME"),
    users("user without credentials", UNCREDENTIALED, apiKeys=[]),
    users(
        "user with nothing but a key that expires",
        UNCREDENTIALED,
        apiKeys=[api_key_params(generate_api_key().public_key, expirationSeconds="60")],
    ),
    users("unknown tag", "`parameters.users[0].userTags`", 404, userTags=[new_id()]),
    users("the same key twice", "is already an API key", apiKeys=[api_key_params("02" + "ab" * 32)] * 2),
    users(
        "over-many lasting keys",
        "maximum long-lived api keys",
        429,
        apiKeys=[api_key_params(generate_api_key().public_key) for _ in range(11)],
    ),
    users(
        "over-many authenticators",
        "maximum authenticators",
        429,
        authenticators=[SoftPasskey().params() for _ in range(11)],
    ),
    users(
        "the same identity twice",
        "oauth provider already exists",
        409,
        oauthProviders=[provider_by_token("twice")] * 2,
    ),
    users(
        "identity by claims that nothing proves",
        "invalid OIDC claims: field `parameters.users[0].oauthProviders[0].oidcClaims`",
        oauthProviders=[provider_by_claims()],
    ),
    users(
        "identity without claims and token",
        "`parameters.users[0].oauthProviders[0]`",
        oauthProviders=[{"providerName": "p"}],
    ),
    users(
        "identity by a text that is not a token",
        "invalid OIDC token: field `parameters.users[0].oauthProviders[0].oidcToken`",
        oauthProviders=[{"providerName": "p", "oidcToken": "a.b.c"}],
    ),
]
KEYS = [
    keys("key in an uncompressed form", PUBLIC_KEY, publicKey="04" + "11" * 64),
    keys("key without its first byte", PUBLIC_KEY, publicKey="11" * 32),
    keys("key that is not hex", PUBLIC_KEY, publicKey="0x" + "zz" * 33),
    keys("key with a space", PUBLIC_KEY, publicKey="02 " + "11" * 32),
    keys("key with tabs", PUBLIC_KEY, publicKey="02\t\t" + "11" * 32),
    keys("key of 32 bytes for P-256", PUBLIC_KEY, publicKey="11" * 32, curveType="API_KEY_CURVE_P256"),
    keys("key of 33 bytes for ed25519", PUBLIC_KEY, curveType="API_KEY_CURVE_ED25519"),
    keys("expiration zero", EXPIRATION, expirationSeconds="0"),
    keys("expiration negative", EXPIRATION, expirationSeconds="-1"),
    keys("expiration in words", EXPIRATION, expirationSeconds="soon"),
    keys("expiration empty", EXPIRATION, expirationSeconds=""),
    keys("expiration beyond all bounds", EXPIRATION, expirationSeconds="9" * 20),
]


def passkeys(name: str, **attestation: Any) -> Case:
    def make(record_ids: RecordIds) -> dict[str, Any]:
        params = SoftPasskey().params()
        return {
            "userId": record_ids.user_id,
            "authenticators": [params | {"attestation": params["attestation"] | attestation}],
        }

    return Case(name, "create_authenticators", make, "`parameters.authenticators[0].attestation`")


def wallets(name: str, named: str, status: int = 400, **members: Any) -> Case:
    return Case(name, "create_wallet", lambda _: {"walletName": new_id(), "accounts": []} | members, named, status)


def account(name: str, named: str, status: int = 400, **members: Any) -> Case:
    return wallets(name, named, status, accounts=[ETHEREUM_ACCOUNT | members])


WALLETS = [
    wallets("mnemonic of 13 words", "invalid mnemonic length: 13", mnemonicLength=13),
    wallets("mnemonic of no words", "mnemonic", mnemonicLength=0),
    wallets("mnemonic of very many words", "mnemonic", mnemonicLength=2**63),
    account("path without m", "`parameters.accounts[0].path`", path="44'/60'/0'/0/0"),
    account("path with a number too large", "`parameters.accounts[0].path`", path="m/2147483648"),
    account("path with an empty segment", "`parameters.accounts[0].path`", path="m//0"),
    account("path empty", "`parameters.accounts[0].path`", path=""),
    account("curve that does not fit the address", "`parameters.accounts[0].addressFormat`", curve="CURVE_ED25519"),
    account(
        "Spark on P-256",
        "`parameters.accounts[0].addressFormat`",
        curve="CURVE_P256",
        addressFormat="ADDRESS_FORMAT_SPARK_MAINNET",
    ),
    wallets(
        "the same path in two spellings",
        "`parameters.accounts[1].path`",
        accounts=[ETHEREUM_ACCOUNT, ETHEREUM_ACCOUNT | {"path": "m/44h/60H/00'/0/0"}],
    ),
    wallets(
        "two accounts of one name",
        "`parameters.accounts`",
        accounts=[ETHEREUM_ACCOUNT | {"name": "a"}, SOLANA_ACCOUNT | {"name": "a"}],
    ),
]

PASSKEYS = [
    passkeys("attestation is not CBOR", attestationObject="AAAA"),
    passkeys("attestation empty", attestationObject=""),
    passkeys("client data is not JSON", clientDataJson="AAAA"),
    passkeys("credential id is another", credentialId="AAAA"),
    passkeys("credential id empty", credentialId=""),
]

OTHERS = [
    Case(
        "MFA policy of an unknown user",
        "create_mfa_policy",
        lambda _: mfa_policy(new_id()),
        "unable to find user",
        404,
    ),
    Case(
        "key of an unknown user",
        "create_api_keys",
        lambda _: {"userId": new_id(), "apiKeys": [api_key_params("02" * 33)]},
        "unable to find user",
        404,
    ),
    Case(
        "authenticator of an unknown user",
        "create_authenticators",
        lambda _: {"userId": new_id(), "authenticators": [SoftPasskey().params()]},
        "unable to find user",
        404,
    ),
    Case(
        "identity of an unknown user",
        "create_oauth_providers",
        lambda _: {"userId": new_id(), "oauthProviders": [provider_by_token()]},
        "unable to find user",
        404,
    ),
    Case(
        "tag on an unknown user",
        "create_user_tag",
        lambda _: {"userTagName": new_id(), "userIds": [new_id()]},
        "unable to find user",
        404,
    ),
]


def mfa_policy(user_id: str) -> dict[str, Any]:
    return {
        "userId": user_id,
        "mfaPolicyName": "p",
        "condition": "true",
        "requiredAuthenticationMethods": [{"any": [{"type": "AUTHENTICATION_TYPE_PASSKEY"}]}],
        "order": 1,
    }


@pytest.mark.parametrize(
    "case", INTERFACES + USERS + KEYS + PASSKEYS + WALLETS + OTHERS, ids=lambda case: case.name
)
def test_refused(case: Case, caller: Caller, record_ids: RecordIds, database: Database) -> None:
    before = database.counts()
    status, message = refusal(caller.submit(case.operation, case.parameters(record_ids)))
    assert (status, case.named in message) == (case.status, True), message
    assert database.counts() == before
