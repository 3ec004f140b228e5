"""Keys in the form for the signer: sealed, and with the public key that they must have.

Here: reading the sealed half, when context is loaded. Not here: which key is meant (`signing_keys`, the
operations).
"""

from __future__ import annotations

from keystead.api.records import PrivateKey, Wallet, WalletAccount
from keystead.organizations.attachments import MNEMONIC_PURPOSE, PRIVATE_KEY_PURPOSE, SealedSecret
from keystead.organizations.kinds.data_key import Sealed
from keystead.organizations.kinds.private_keys import PrivateKeys
from keystead.organizations.kinds.wallets import Wallets
from keystead.pipeline.context import ContextSource
from keystead.pipeline.signer_values import StandaloneKey, WalletKey


async def sealed_mnemonic(source: ContextSource, wallet: Wallet) -> Sealed:
    """The sealed mnemonic of a wallet. Raises NotFound if the wallet was deleted after this version of the
    organization."""
    row = await source.store.attached.get(SealedSecret, source.organization.id, wallet.wallet_id, MNEMONIC_PURPOSE)
    if row is None:
        raise source.organization.not_found(Wallets, wallet.wallet_id)
    return row.sealed


async def sealed_private_key(source: ContextSource, key: PrivateKey) -> Sealed:
    """The sealed bytes of a private key. Raises NotFound if the key was deleted after this version of the
    organization."""
    row = await source.store.attached.get(
        SealedSecret, source.organization.id, key.private_key_id, PRIVATE_KEY_PURPOSE
    )
    if row is None:
        raise source.organization.not_found(PrivateKeys, key.private_key_id)
    return row.sealed


def account_key(account: WalletAccount, mnemonic: Sealed) -> WalletKey:
    public_key = bytes.fromhex(account.public_key or "")
    return WalletKey(account.wallet_id, mnemonic, account.curve, account.path, public_key)


def standalone_key(key: PrivateKey, sealed: Sealed) -> StandaloneKey:
    return StandaloneKey(key.private_key_id, sealed, key.curve, bytes.fromhex(key.public_key))
