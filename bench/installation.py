"""What is measured against: a founded installation with one organization of 10 wallets and 10 users.

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

WALLETS = USERS = 10

INTERFACES_MAX = 1_000_000
"""The server's limit is 1,000 per organization. A run creates more than that, in one organization."""

_ETHEREUM = {
    "curve": "CURVE_SECP256K1",
    "pathFormat": "PATH_FORMAT_BIP32",
    "path": "m/44'/60'/0'/0/0",
    "addressFormat": "ADDRESS_FORMAT_ETHEREUM",
}


class Installation(msgspec.Struct, frozen=True):
    """`settings` are what its server is started with; the rest is what requests name."""

    folder: Path
    settings: Mapping[str, str]
    organization_id: str
    key: ApiKeyPair
    authenticator_id: str

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
        authenticator_id = _furnish(client)
    key = ApiKeyPair(founded.api_public_key, founded.api_private_key)
    return Installation(folder, settings, founded.organization_id, key, authenticator_id)


def _furnish(client: Client) -> str:
    """Fill the organization; the id of its root user's authenticator."""
    for number in range(1, WALLETS + 1):
        client.submit("create_wallet", {"walletName": f"Wallet {number}", "accounts": [_ETHEREUM]})
    others = [_user(number) for number in range(2, USERS + 1)]
    client.submit("create_users", {"users": others})
    root = client.whoami().user_id
    client.submit("create_authenticators", {"userId": root, "authenticators": [_authenticator("Root passkey")]})
    users = client.list_users().users
    if len(users) != USERS or len(client.list_wallets().wallets) != WALLETS:
        raise BenchFailure("the organization to measure was not made as it should be")
    return next(user.authenticators[0].authenticator_id for user in users if user.user_id == root)


def _user(number: int) -> dict[str, object]:
    return {
        "userName": f"User {number}",
        "userEmail": f"user{number}@example.com",
        "apiKeys": [
            {
                "apiKeyName": f"Key {number}",
                "publicKey": generate_api_key().public_key,
                "curveType": "API_KEY_CURVE_P256",
            }
        ],
        "authenticators": [_authenticator(f"Passkey {number}")],
        "oauthProviders": [],
        "userTags": [],
    }


def _authenticator(name: str) -> dict[str, object]:
    return {"authenticatorName": name, **new_passkey()}
