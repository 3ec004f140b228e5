"""What policies see of wallets, their accounts and private keys: `wallet`, `wallet_account`, `private_key`.

Not here: which activity fills which keyword (its own module), the types of the fields
(`policies.language.namespaces`)."""

from __future__ import annotations

from typing import Any

from keystead.api.records import PrivateKey, Wallet, WalletAccount
from keystead.chains.paths import HARDENED, parse_path


def wallet_keywords(wallet: Wallet) -> dict[str, Any]:
    return {
        "id": wallet.wallet_id,
        "label": wallet.wallet_name,
        "imported": wallet.imported,
        "exported": wallet.exported,
    }


def wallet_account_keywords(account: WalletAccount) -> dict[str, Any]:
    """The path as the request wrote it, level by level."""
    segments = parse_path(account.path)
    return {
        "address": account.address,
        "path_indexes": tuple([segment & ~HARDENED for segment in segments]),
        "path_hardened": tuple([bool(segment & HARDENED) for segment in segments]),
    }


def private_key_keywords(key: PrivateKey) -> dict[str, Any]:
    return {
        "id": key.private_key_id,
        "label": key.private_key_name,
        "tags": key.private_key_tags,
        "imported": key.imported,
        "exported": key.exported,
    }
