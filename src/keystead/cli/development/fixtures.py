"""`keystead fixtures export`: prints the organization of the credentials as a file for `keystead dev --fixtures`.

Here: reading everything from the server, and opening the exported secrets. Not here: the form of the file
(`server.development.fixture_file`).
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from keystead.api.enums import CredentialType
from keystead.cli.credentials import CredentialsFile, chosen_credentials
from keystead.cli.failure import Failure
from keystead.cli.groups import group
from keystead.cli.requests import open_client
from keystead.client.client import Client
from keystead.client.credentials import Credentials
from keystead.client.shapes import ApiKey, Pagination, PrivateKey, User, Wallet, WalletAccount
from keystead.primitives import hpke

PAGE = 100

app = group("Keep an organization as a file that a server makes again: `keystead dev --fixtures`.")


@app.command("export")
def export(credentials: CredentialsFile = None) -> None:
    """Print the organization as fixtures, in JSON.

    They hold users, tags, wallets, keys, policies and contract interfaces. The output includes the mnemonics of
    wallets and the private keys, and the server marks the wallets as exported. Records that fixtures cannot hold
    are left out, and named on standard error.
    """
    own_key = chosen_credentials(credentials, os.environ)
    with open_client(credentials) as client:
        print(
            json.dumps({"organizations": [_Export(client, own_key).organization()]}, indent=2, ensure_ascii=False)
        )


class _ExportEnvelope(msgspec.Struct):
    data: str


class _Content(msgspec.Struct, rename="camel"):
    encapped_public: str
    ciphertext: str


class _Export:
    """The export of one organization, by one of its root users."""

    def __init__(self, client: Client, own_key: Credentials) -> None:
        self._client = client
        self._own_key = own_key
        self._secret = ec.generate_private_key(ec.SECP256R1())
        self._target = self._secret.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)

    def organization(self) -> dict[str, Any]:
        """The organization in the form of a fixture file. Raises Failure and KeysteadError."""
        me = self._client.whoami()
        proxies = self._client.list_auth_proxy_configs().auth_proxy_configs
        of_proxies = {proxy.user_id for proxy in proxies} | {proxy.policy_id for proxy in proxies}
        users = [user for user in self._client.list_users().users if user.user_id not in of_proxies]
        users.sort(key=lambda user: user.user_id != me.user_id)  # the first user makes everything
        tags = self._client.list_user_tags().user_tags
        names = {user.user_id: ("user", user.user_name) for user in users}
        quorum = self._client.get_organization_configs().configs.quorum
        names |= {tag.tag_id: ("tag", tag.tag_name) for tag in tags}
        key_tags = self._client.list_private_key_tags().private_key_tags
        names |= {tag.tag_id: ("privateKeyTag", tag.tag_name) for tag in key_tags}
        keys = self._client.list_private_keys().private_keys
        return {
            "organizationName": me.organization_name,
            "users": [self._user(user) for user in users],
            "rootUsers": [names[user_id][1] for user_id in quorum.user_ids],
            "threshold": quorum.threshold,
            "userTags": [
                {
                    "userTagName": tag.tag_name,
                    "users": [user.user_name for user in users if tag.tag_id in user.user_tags],
                }
                for tag in tags
            ],
            "wallets": [self._wallet(wallet) for wallet in self._client.list_wallets().wallets],
            "privateKeys": [self._private_key(key) for key in keys],
            "privateKeyTags": [
                {
                    "privateKeyTagName": tag.tag_name,
                    "privateKeys": [key.private_key_name for key in keys if tag.tag_id in key.private_key_tags],
                }
                for tag in key_tags
            ],
            "policies": list(self._policies(names, of_proxies)),
            "smartContractInterfaces": [
                {
                    "label": interface.label,
                    "smartContractAddress": interface.smart_contract_address,
                    "type": interface.type,
                    "smartContractInterface": interface.smart_contract_interface,
                    "notes": interface.notes,
                }
                for interface in self._client.list_smart_contract_interfaces().smart_contract_interfaces
            ],
        }

    def _user(self, user: User) -> dict[str, Any]:
        keys = [self._api_key(key) for key in user.api_keys if self._is_kept(user, key)]
        exported = {"userName": user.user_name, "apiKeys": keys}
        if user.user_email is not None:
            exported["userEmail"] = user.user_email
        if user.user_phone_number is not None:
            exported["userPhoneNumber"] = user.user_phone_number
        for what, left_out in (
            ("passkeys", user.authenticators),
            ("OAuth providers", user.oauth_providers),
            ("wallet authenticators", user.wallet_authenticators),
        ):
            if left_out:
                _report_left_out(f"{what} of user {user.user_name}")
        if not keys:
            del exported["apiKeys"]
            _report_left_out(f"every credential of user {user.user_name}; fixtures make a key")
        return exported

    def _is_kept(self, user: User, key: ApiKey) -> bool:
        is_kept = key.credential.type == CredentialType.API_KEY_P256 and key.expiration_seconds is None
        if not is_kept:
            _report_left_out(f"API key {key.api_key_name} of user {user.user_name}: it expires, or is not P-256")
        return is_kept

    def _api_key(self, key: ApiKey) -> dict[str, str]:
        public_key = key.credential.public_key
        if public_key == self._own_key.api_public_key:
            return {"apiKeyName": key.api_key_name, "privateKey": self._own_key.api_private_key.lower()}
        return {"apiKeyName": key.api_key_name, "publicKey": public_key}

    def _wallet(self, wallet: Wallet) -> dict[str, Any]:
        exported = self._client.export_wallet(wallet_id=wallet.wallet_id, target_public_key=self._target.hex())
        return {
            "walletName": wallet.wallet_name,
            "mnemonic": self._open(exported.export_bundle).decode(),
            "accounts": [
                {
                    "curve": account.curve,
                    "pathFormat": account.path_format,
                    "path": account.path,
                    "addressFormat": account.address_format,
                    **({} if account.name is None else {"name": account.name}),
                }
                for account in self._accounts(wallet.wallet_id)
            ],
        }

    def _accounts(self, wallet_id: str) -> Iterator[WalletAccount]:
        """All accounts of a wallet, oldest first. The server sends the newest first."""
        accounts: list[WalletAccount] = []
        before = None
        while True:
            options = Pagination(limit=str(PAGE), before=before)
            page = self._client.list_wallet_accounts(wallet_id=wallet_id, pagination_options=options).accounts
            accounts += page
            if len(page) < PAGE:
                yield from sorted(accounts, key=lambda account: account.wallet_account_id)
                return
            before = min(account.wallet_account_id for account in page)

    def _private_key(self, key: PrivateKey) -> dict[str, Any]:
        exported = self._client.export_private_key(
            private_key_id=key.private_key_id, target_public_key=self._target.hex()
        )
        return {
            "privateKeyName": key.private_key_name,
            "curve": key.curve,
            "addressFormats": [address.format for address in key.addresses],
            "privateKey": self._open(exported.export_bundle).hex(),
        }

    def _policies(self, names: Mapping[str, tuple[str, str]], of_proxies: set[str]) -> Iterator[dict[str, Any]]:
        for policy in self._client.list_policies().policies:
            if policy.policy_id in of_proxies:
                continue
            exported = {"policyName": policy.policy_name, "effect": policy.effect, "notes": policy.notes}
            for member, text in (("condition", policy.condition), ("consensus", policy.consensus)):
                if text:
                    for id_, (kind, name) in names.items():
                        text = text.replace(id_, f"{{{kind}:{name}}}")
                    exported[member] = text
            if policy.time:
                exported["time"] = policy.time
            yield exported

    def _open(self, bundle: str) -> bytes:
        """The plaintext of an export bundle. Raises Failure.

        The bundle's signature is not verified, because this client trusts its connection to the server."""
        envelope = msgspec.json.decode(bundle, type=_ExportEnvelope)
        content = msgspec.json.decode(bytes.fromhex(envelope.data), type=_Content)
        scalar = self._secret.private_numbers().private_value.to_bytes(32)
        try:
            return hpke.open_sealed(
                scalar, self._target, bytes.fromhex(content.encapped_public), bytes.fromhex(content.ciphertext)
            )
        except hpke.HpkeError as broken:
            raise Failure(f"an export bundle of the server does not open: {broken}") from None


def _report_left_out(what: str) -> None:
    print(f"left out: {what}", file=sys.stderr)
