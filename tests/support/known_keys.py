"""Public test keys: the wallet of tests/vectors/addresses.json, put into a database with an organization.

Vectors of signatures can be compared byte for byte only under the keys they were made with. Not here: an import,
which would take the same mnemonic through the API.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from keystead.api.enums import AddressFormat, Curve, PathFormat
from keystead.api.identifiers import new_id
from keystead.api.records import PrivateKey, PrivateKeyAddress, Timestamp, Wallet, WalletAccount
from keystead.chains.paths import comparison_form
from keystead.organizations.attachments import (
    MNEMONIC_PURPOSE,
    PRIVATE_KEY_PURPOSE,
    Attachment,
    NewAccount,
    SealedSecret,
)
from keystead.organizations.organization import Organization, Put, Version, apply
from keystead.pipeline.store import Changes, Commit, CommitResult
from keystead.signer.local import LocalSigner
from keystead.storage.store import DatabaseStore
from tests.support.servers import Installation

VECTORS = Path(__file__).parents[1] / "vectors"
ADDRESSES: Any = json.loads((VECTORS / "addresses.json").read_text())
SIGNING: Any = json.loads((VECTORS / "signing.json").read_text())
_NOW = Timestamp.from_ms(1_763_751_180_123)


def add_known_wallet(installation: Installation, organization_id: str = "") -> Wallet:
    """The wallet of the vectors, with every account that they have an address of."""
    signer = LocalSigner(installation.master_key)

    async def add(store: DatabaseStore) -> Wallet:
        organization = await store.organization(organization_id or installation.organization_id)
        assert organization is not None
        made = await signer.restore_wallet(
            organization_id=organization.id,
            data_key=organization.data_key.sealed,
            wallet_id=(wallet_id := new_id()),
            mnemonic=ADDRESSES["mnemonic"],
            accounts=[],
        )
        wallet = Wallet(
            wallet_id=wallet_id,
            wallet_name="known",
            created_at=_NOW,
            updated_at=_NOW,
            exported=False,
            imported=True,
        )
        known = [
            _account(organization.id, wallet_id, account)
            for account in ADDRESSES["walletAccounts"]
            if "address" in account
        ]
        # Some are there twice, in two spellings of one path.
        accounts = {
            (one.account.curve, one.normalized_path, one.account.address_format): one for one in known
        }.values()
        secret = SealedSecret(wallet_id, MNEMONIC_PURPOSE, made.sealed_mnemonic)
        await _put(store, organization, wallet, secret, *accounts)
        return wallet

    return installation.database.with_store(add)


def _account(organization_id: str, wallet_id: str, known: Any) -> NewAccount:
    curve = Curve(known["curve"])
    account = WalletAccount(
        wallet_account_id=new_id(),
        organization_id=organization_id,
        wallet_id=wallet_id,
        curve=curve,
        path_format=PathFormat.BIP32,
        path=known["path"],
        address_format=AddressFormat(known["addressFormat"]),
        address=known["address"],
        created_at=_NOW,
        updated_at=_NOW,
        public_key=known.get("publicKeyCompressed") or known["publicKey"],
    )
    return NewAccount(account, comparison_form(curve, known["path"]))


def add_private_key(
    installation: Installation, curve: Curve, *formats: AddressFormat, tags: tuple[str, ...] = ()
) -> PrivateKey:
    """A new private key with addresses of these formats."""
    signer = LocalSigner(installation.master_key)

    async def add(store: DatabaseStore) -> PrivateKey:
        organization = await store.organization(installation.organization_id)
        assert organization is not None
        key_id = new_id()
        made = await signer.create_private_key(
            organization_id=organization.id,
            data_key=organization.data_key.sealed,
            private_key_id=key_id,
            curve=curve,
            address_formats=formats,
        )
        addresses = zip(formats, made.addresses, strict=True)
        key = PrivateKey(
            private_key_id=key_id,
            public_key=made.public_key,
            private_key_name=f"key {key_id[-6:]}",
            curve=curve,
            addresses=tuple(PrivateKeyAddress(format=form, address=address) for form, address in addresses),
            private_key_tags=tags,
            created_at=_NOW,
            updated_at=_NOW,
            exported=False,
            imported=False,
        )
        await _put(store, organization, key, SealedSecret(key_id, PRIVATE_KEY_PURPOSE, made.sealed))
        return key

    return installation.database.with_store(add)


async def _put(
    store: DatabaseStore, organization: Organization, record: Wallet | PrivateKey, *attachments: Attachment
) -> None:
    change = Put(record)
    version = Version(organization.version.number + 1, new_id())
    changed = Changes(
        after=apply(organization, [change], version),
        records=(change,),
        attachments=attachments,
        lookups_added=frozenset(),
    )
    result = await store.commit(
        Commit(organization_id=organization.id, decided_on=organization.version, activity=None, changes=changed)
    )
    assert result is CommitResult.COMMITTED
