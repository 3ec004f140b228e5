"""The values by which an organization is found from its parent, for example by whoami and list_suborgs.

Here: which values are indexed. Not here: the index (`storage`), and which callers may use it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from enum import StrEnum
from typing import Literal

import msgspec

from keystead.api.records import User, WalletAccount
from keystead.chains.addresses.stored_forms import possible_forms, stored_form
from keystead.sessions.wallet_tokens import WalletClaim


class LookupKind(StrEnum):
    """EMAIL and PHONE_NUMBER list what is written, for users of the parent. ACCOUNT_EMAIL and ACCOUNT_PHONE_NUMBER
    find the account of a contact (`kinds.account_contacts`)."""

    PUBLIC_KEY = "public_key"
    CREDENTIAL_ID = "credential_id"
    ORGANIZATION_NAME = "organization_name"
    USER_NAME = "user_name"
    EMAIL = "email"
    PHONE_NUMBER = "phone_number"
    WALLET_ACCOUNT_ADDRESS = "wallet_account_address"
    OAUTH_IDENTITY = "oauth_identity"
    WALLET = "wallet"
    ACCOUNT_EMAIL = "account_email"
    ACCOUNT_PHONE_NUMBER = "account_phone_number"
    VERIFIED_EMAIL = "verified_email"
    VERIFIED_PHONE_NUMBER = "verified_phone_number"
    AUTH_PROXY = "auth_proxy"


AccountLookupKind = Literal[
    LookupKind.PUBLIC_KEY,
    LookupKind.CREDENTIAL_ID,
    LookupKind.OAUTH_IDENTITY,
    LookupKind.WALLET,
    LookupKind.ACCOUNT_EMAIL,
    LookupKind.ACCOUNT_PHONE_NUMBER,
    LookupKind.VERIFIED_EMAIL,
    LookupKind.AUTH_PROXY,
]
"""The kinds by which a request finds an organization. Their values were proved, or a user of the parent wrote them.
mypy refuses the other kinds where one of these is expected."""

AccountValue = tuple[AccountLookupKind, str]
"""The kind and the value of a look-up that finds an organization."""


CREDENTIALS = frozenset({LookupKind.PUBLIC_KEY, LookupKind.CREDENTIAL_ID, LookupKind.WALLET})
"""The kinds whose values only one sub-organization of a parent may have, unless a user of the parent gives a value
to several."""


class Lookup(msgspec.Struct, frozen=True):
    """A value by which an organization is found from outside, such as a public key.

    `holder_id` is the user or wallet account that has the value, "" for the organization itself."""

    kind: LookupKind
    value: str
    holder_id: str


def user_lookups(user: User) -> frozenset[Lookup]:
    """Every value by which this user is found. E-mail addresses are compared in lower case."""
    values = [Lookup(LookupKind.USER_NAME, user.user_name, user.user_id)]
    values += [Lookup(LookupKind.PUBLIC_KEY, key.credential.public_key, user.user_id) for key in user.api_keys]
    values += [
        Lookup(LookupKind.CREDENTIAL_ID, passkey.credential_id, user.user_id) for passkey in user.authenticators
    ]
    values += [
        Lookup(
            LookupKind.OAUTH_IDENTITY, identity_lookup_value(held.issuer, held.audience, held.subject), user.user_id
        )
        for held in user.oauth_providers
    ]
    values += [
        Lookup(
            LookupKind.WALLET, wallet_lookup_value(WalletClaim(held.type, held.address, held.domain)), user.user_id
        )
        for held in user.wallet_authenticators
    ]
    if user.user_email:
        values.append(Lookup(LookupKind.EMAIL, user.user_email.lower(), user.user_id))
    if user.user_phone_number:
        values.append(Lookup(LookupKind.PHONE_NUMBER, user.user_phone_number, user.user_id))
    return frozenset(values)


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


def identity_lookup_value(issuer: str, audience: str, subject: str) -> str:
    """The indexed value of an OAuth identity: a digest, because the three may be longer than an index entry."""
    return hashlib.sha256(json.dumps([issuer, audience, subject]).encode()).hexdigest()


def wallet_lookup_value(wallet: WalletClaim) -> str:
    """The indexed value of a wallet that logs in at a domain. `wallet`: in the form of the records."""
    return f"{wallet.type.removeprefix('WALLET_AUTHENTICATOR_TYPE_')} {wallet.address} {wallet.domain}"


def possible_values(kind: LookupKind, asked: str) -> tuple[str, ...]:
    """The indexed values that the text `asked` of a request may stand for. An address may have several stored
    forms."""
    return possible_forms(asked) if kind is LookupKind.WALLET_ACCOUNT_ADDRESS else (asked,)
