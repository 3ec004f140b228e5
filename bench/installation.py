"""What is measured against: a founded installation with one organization of 10 wallets, users and policies each.

Here: making it, the way an operator and a client would. Not here: the hundred thousand others (`crowd`).
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Set
from pathlib import Path

import msgspec

from bench.failure import BenchFailure
from bench.server import KEYSTEAD, environment, running
from keystead.client import Client
from keystead.client.credentials import credentials_in
from keystead.stamps.signing import ApiKeyPair, generate_api_key
from tests.clients.passkey import new_passkey

WALLETS = USERS = POLICIES = 10
ABI_BYTES = 5_000

CONTRACT = "0x" + "c0" * 20
"""Has an ABI, and policies read calls to it."""

INTERFACES_MAX = 1_000_000
"""The server's limit is 1,000 per organization. A run creates more than that, in one organization."""

_ETHEREUM = {
    "curve": "CURVE_SECP256K1",
    "pathFormat": "PATH_FORMAT_BIP32",
    "path": "m/44'/60'/0'/0/0",
    "addressFormat": "ADDRESS_FORMAT_ETHEREUM",
}


class Installation(msgspec.Struct, frozen=True):
    """`settings` are what its server is started with; the rest is what requests name.

    `key` is the root user's, before whom no policy counts; `user_key` is that of a user who may sign by a policy.
    """

    folder: Path
    settings: Mapping[str, str]
    organization_id: str
    key: ApiKeyPair
    user_key: ApiKeyPair
    authenticator_id: str
    sign_with: str

    @property
    def database_url(self) -> str:
        return self.settings["KEYSTEAD_DATABASE_URL"]

    @property
    def master_key_file(self) -> Path:
        return Path(self.settings["KEYSTEAD_MASTER_KEY_FILE"])


def new_installation(database_url: str, folder: Path, cores: Set[int]) -> Installation:
    """Found one in an empty database; its files go to `folder`, its first server runs on these cores."""
    folder.mkdir()
    credentials = folder / "credentials.json"
    settings = {
        "KEYSTEAD_DATABASE_URL": database_url,
        "KEYSTEAD_MASTER_KEY_FILE": str(folder / "master.key"),
        "KEYSTEAD_LIMIT_CONTRACT_INTERFACES": str(INTERFACES_MAX),
    }
    made = subprocess.run(
        [KEYSTEAD, "init", "--organization-name", "Bench", "--credentials", credentials],
        env=environment({name: value for name, value in settings.items() if "LIMIT" not in name}),
        capture_output=True,
        text=True,
    )
    if made.returncode != 0:
        raise BenchFailure(f"keystead init failed: {made.stderr}")
    founded = credentials_in(credentials)
    with (
        running(settings, folder, cores) as server,
        Client(server.base_url, founded.api_public_key, founded.api_private_key, founded.organization_id) as client,
    ):
        user_key = generate_api_key()
        authenticator_id = _furnish(client, user_key)
        sign_with = client.list_wallet_accounts().accounts[0].address
    return Installation(
        folder=folder,
        settings=settings,
        organization_id=founded.organization_id,
        key=ApiKeyPair(founded.api_public_key, founded.api_private_key),
        user_key=user_key,
        authenticator_id=authenticator_id,
        sign_with=sign_with,
    )


def _furnish(client: Client, user_key: ApiKeyPair) -> str:
    """Fill the organization; the id of its root user's authenticator."""
    for number in range(1, WALLETS + 1):
        client.submit("create_wallet", {"walletName": f"Wallet {number}", "accounts": [_ETHEREUM]})
    keys = [user_key, *(generate_api_key() for _ in range(3, USERS + 1))]
    others = [_user(number, key) for number, key in enumerate(keys, 2)]
    client.submit("create_users", {"users": others})
    root = client.whoami().user_id
    client.submit("create_authenticators", {"userId": root, "authenticators": [_authenticator("Root passkey")]})
    users = client.list_users().users
    if len(users) != USERS or len(client.list_wallets().wallets) != WALLETS:
        raise BenchFailure("the organization to measure was not made as it should be")
    _let_sign(client, next(user.user_id for user in users if user.user_name == "User 2"))
    return next(user.authenticators[0].authenticator_id for user in users if user.user_id == root)


def _let_sign(client: Client, user_id: str) -> None:
    """Ten policies, two of which let this user sign: payloads, and small transfers of the contract's token."""
    client.submit(
        "create_smart_contract_interface",
        {
            "smartContractAddress": CONTRACT,
            "smartContractInterface": ABI,
            "type": "SMART_CONTRACT_INTERFACE_TYPE_ETHEREUM",
            "label": "Token",
        },
    )
    conditions = [
        "activity.action == 'SIGN' && activity.params.encoding == 'PAYLOAD_ENCODING_HEXADECIMAL'",
        "eth.tx.function_name == 'transferFrom0' && eth.tx.contract_call_args['_value'] < 1000",
        *(f"activity.resource == 'WALLET' && wallet.label == 'Wallet {n}'" for n in range(3, POLICIES + 1)),
    ]
    policies = [
        {
            "policyName": f"Policy {number}",
            "effect": "EFFECT_ALLOW",
            "condition": condition,
            "consensus": f"approvers.any(user, user.id == '{user_id}')",
        }
        for number, condition in enumerate(conditions, 1)
    ]
    client.submit("create_policies", {"policies": policies})


def _user(number: int, key: ApiKeyPair) -> dict[str, object]:
    return {
        "userName": f"User {number}",
        "userEmail": f"user{number}@example.com",
        "apiKeys": [
            {
                "apiKeyName": f"Key {number}",
                "publicKey": key.public_key,
                "curveType": "API_KEY_CURVE_P256",
            }
        ],
        "authenticators": [_authenticator(f"Passkey {number}")],
        "oauthProviders": [],
        "userTags": [],
    }


def _authenticator(name: str) -> dict[str, object]:
    return {"authenticatorName": name, **new_passkey()}


def _abi(size: int) -> str:
    """An ABI of about this many bytes: functions as those of a token."""
    functions: list[Mapping[str, object]] = []
    while len(text := msgspec.json.encode(functions)) < size:
        functions.append(
            {
                "type": "function",
                "name": f"transferFrom{len(functions)}",
                "stateMutability": "nonpayable",
                "inputs": [
                    {"name": "_from", "type": "address", "internalType": "address"},
                    {"name": "_to", "type": "address", "internalType": "address"},
                    {"name": "_value", "type": "uint256", "internalType": "uint256"},
                ],
                "outputs": [{"name": "", "type": "bool", "internalType": "bool"}],
            }
        )
    return text.decode()


ABI = _abi(ABI_BYTES)
