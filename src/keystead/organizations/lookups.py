"""By what an organization can be found from its parent: the index that whoami and list_suborgs ask.

Here: which values are indexed. Not here: the index (`storage`), and who may ask.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from enum import StrEnum

import msgspec

from keystead.api.records import User, WalletAccount
from keystead.chains.addresses.stored_forms import possible_forms, stored_form


class LookupKind(StrEnum):
    PUBLIC_KEY = "public_key"
    CREDENTIAL_ID = "credential_id"
    ORGANIZATION_NAME = "organization_name"
    USER_NAME = "user_name"
    EMAIL = "email"
    PHONE_NUMBER = "phone_number"
    WALLET_ACCOUNT_ADDRESS = "wallet_account_address"
    OAUTH_IDENTITY = "oauth_identity"


class Lookup(msgspec.Struct, frozen=True):
    """`holder_id` is the user or wallet account that has the value, "" for the organization itself."""

    kind: LookupKind
    value: str
    holder_id: str


def lookups(user: User) -> frozenset[Lookup]:
    """Every value by which this user can be found. E-mail addresses are compared in lower case."""
    found = [Lookup(LookupKind.USER_NAME, user.user_name, user.user_id)]
    found += [Lookup(LookupKind.PUBLIC_KEY, key.credential.public_key, user.user_id) for key in user.api_keys]
    found += [Lookup(LookupKind.CREDENTIAL_ID, one.credential_id, user.user_id) for one in user.authenticators]
    found += [
        Lookup(LookupKind.OAUTH_IDENTITY, identity_looked_up(one.issuer, one.audience, one.subject), user.user_id)
        for one in user.oauth_providers
    ]
    if user.user_email:
        found.append(Lookup(LookupKind.EMAIL, user.user_email.lower(), user.user_id))
    if user.user_phone_number:
        found.append(Lookup(LookupKind.PHONE_NUMBER, user.user_phone_number, user.user_id))
    return frozenset(found)


def name_lookup(organization_name: str) -> Lookup:
    return Lookup(LookupKind.ORGANIZATION_NAME, organization_name, "")


def account_lookups(accounts: Iterable[WalletAccount]) -> frozenset[Lookup]:
    return frozenset(
        Lookup(
            LookupKind.WALLET_ACCOUNT_ADDRESS,
            stored_form(account.address_format, account.address),
            account.wallet_account_id,
        )
        for account in accounts
    )


def identity_looked_up(issuer: str, audience: str, subject: str) -> str:
    """An OAuth identity is found by a digest of the three: together they may be longer than an index entry."""
    return hashlib.sha256(json.dumps([issuer, audience, subject]).encode()).hexdigest()


def possible_values(kind: LookupKind, asked: str) -> tuple[str, ...]:
    """What a value that is asked for may be indexed as: an address has several forms, as where it is to sign."""
    return possible_forms(asked) if kind is LookupKind.WALLET_ACCOUNT_ADDRESS else (asked,)
