"""Wallets. Not here: their accounts and their sealed mnemonics, which have tables of their own (`attachments`)."""

from __future__ import annotations

from keystead.api.records import Wallet
from keystead.organizations.limits import Limit
from keystead.organizations.record_map import RecordMap

WALLETS = Limit(name="wallets", default=10_000, description="Most wallets of an organization.", called="wallets")


class Wallets(RecordMap[Wallet], frozen=True):
    stored_name = "wallet"
    record = Wallet
    id_field = "wallet_id"
    limits = (WALLETS,)
    label_field = "wallet_name"
