"""One organization as one value, and the changes that lead from one version of it to the next.

Here: the value, its indexes, `apply`. Not here: the rules that decide which changes may be (`credentials`,
`users`, `wallets`, …), large rows that are read by page, and the database.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

import msgspec
from immutables import Map
from msgspec.structs import replace

from keystead.api.enums import SmartContractInterfaceType
from keystead.api.records import ApiKey, Authenticator, Tag, Timestamp, User, Wallet


class RootQuorum(msgspec.Struct, frozen=True):
    """`threshold` of these users together may do anything."""

    threshold: int
    user_ids: tuple[str, ...]


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """What an organization says of itself. `features` maps feature names to their values."""

    name: str
    root_quorum: RootQuorum
    created_at: Timestamp
    parent_id: str | None = None
    features: dict[str, str] = {}


class Sealed(msgspec.Struct, frozen=True):
    """Ciphertext at rest: AES-256-GCM, nonce first, under the key named by `key_id`."""

    key_id: str
    ciphertext: bytes


class DataKey(msgspec.Struct, frozen=True):
    """The key that seals this organization's secrets, itself sealed under the master key."""

    sealed: Sealed


class Passkey(msgspec.Struct, frozen=True, kw_only=True):
    """What an authenticator's registration said beyond its record: `rp_id_hash` is SHA-256 of the relying party."""

    authenticator_id: str
    rp_id_hash: bytes


class ContractInterface(msgspec.Struct, frozen=True, kw_only=True):
    """A contract interface without its text, which is large and has a table of its own."""

    id: str
    address: str
    type: SmartContractInterfaceType
    label: str
    notes: str
    created_at: Timestamp
    updated_at: Timestamp


Record = Profile | DataKey | User | Passkey | Tag | Wallet | ContractInterface


class Put(msgspec.Struct, frozen=True):
    """Add a record, or replace the one of the same kind and id."""

    record: Record


Change = Put


class Kind(msgspec.Struct, frozen=True):
    """How one kind of record is stored: its word in the database, its type, and where its id is."""

    word: str
    record: type[Record]
    id_field: str | None

    def id_of(self, record: Record) -> str:
        """The record's id; "" for a kind of which there is one."""
        return str(getattr(record, self.id_field)) if self.id_field else ""


KINDS: tuple[Kind, ...] = (
    Kind("profile", Profile, None),
    Kind("data_key", DataKey, None),
    Kind("user", User, "user_id"),
    Kind("passkey", Passkey, "authenticator_id"),
    Kind("tag", Tag, "tag_id"),
    Kind("wallet", Wallet, "wallet_id"),
    Kind("contract_interface", ContractInterface, "id"),
)
KIND_OF: dict[type[Record], Kind] = {kind.record: kind for kind in KINDS}
KIND_NAMED: dict[str, Kind] = {kind.word: kind for kind in KINDS}


class Version(msgspec.Struct, frozen=True, order=True):
    """Which state of an organization: a number without gaps, and the activity that led to it.

    The number alone would not tell two histories apart: what one process foresaw and what another committed.
    """

    number: int
    changed_by: str


class Organization(msgspec.Struct, frozen=True, kw_only=True):
    """Every record of an organization that rules look at.

    `api_key_holders` maps a public key to its user's id and the key, `authenticator_holders` a credential id to its
    user's id and the passkey. Lists are in order of creation, since ids sort by time.
    """

    id: str
    version: Version
    profile: Profile
    data_key: DataKey
    users: Map[str, User]
    passkeys: Map[str, Passkey]
    tags: Map[str, Tag]
    wallets: Map[str, Wallet]
    contract_interfaces: Map[str, ContractInterface]
    api_key_holders: Map[str, tuple[str, ApiKey]]
    authenticator_holders: Map[str, tuple[str, Authenticator]]
    authenticators: Map[str, Authenticator]

    def users_in_order(self) -> list[User]:
        return [self.users[key] for key in sorted(self.users)]

    def wallets_in_order(self) -> list[Wallet]:
        return [self.wallets[key] for key in sorted(self.wallets)]

    def contract_interfaces_in_order(self) -> list[ContractInterface]:
        return [self.contract_interfaces[key] for key in sorted(self.contract_interfaces)]


def founded(organization_id: str, version: Version, records: Iterable[Record]) -> Organization:
    """An organization from all of its records. Raises ValueError where profile or data key is missing."""
    records = list(records)
    profile = next((record for record in records if isinstance(record, Profile)), None)
    data_key = next((record for record in records if isinstance(record, DataKey)), None)
    if profile is None or data_key is None:
        raise ValueError(f"organization {organization_id} has no profile or no data key")
    empty = Organization(
        id=organization_id,
        version=version,
        profile=profile,
        data_key=data_key,
        users=Map(),
        passkeys=Map(),
        tags=Map(),
        wallets=Map(),
        contract_interfaces=Map(),
        api_key_holders=Map(),
        authenticator_holders=Map(),
        authenticators=Map(),
    )
    return apply(empty, [Put(record) for record in records], version)


def apply(organization: Organization, changes: Iterable[Change], version: Version) -> Organization:
    """The organization after these changes, as `version`."""
    organization = replace(organization, version=version)
    for change in changes:
        match change.record:
            case Profile() as profile:
                organization = replace(organization, profile=profile)
            case DataKey() as data_key:
                organization = replace(organization, data_key=data_key)
            case User() as user:
                organization = _with_user(organization, user)
            case Passkey() as passkey:
                known_passkeys = organization.passkeys
                organization = replace(organization, passkeys=known_passkeys.set(passkey.authenticator_id, passkey))
            case Tag() as tag:
                organization = replace(organization, tags=organization.tags.set(tag.tag_id, tag))
            case Wallet() as wallet:
                organization = replace(organization, wallets=organization.wallets.set(wallet.wallet_id, wallet))
            case ContractInterface() as interface:
                known = organization.contract_interfaces
                organization = replace(organization, contract_interfaces=known.set(interface.id, interface))
            case _:
                assert_never(change.record)
    return organization


def _with_user(organization: Organization, user: User) -> Organization:
    """The user put, and the indexes of credentials with it."""
    keys = organization.api_key_holders
    holders, passkeys = organization.authenticator_holders, organization.authenticators
    if (before := organization.users.get(user.user_id)) is not None:
        for api_key in before.api_keys:
            keys = keys.delete(api_key.credential.public_key)
        for authenticator in before.authenticators:
            holders = holders.delete(authenticator.credential_id)
            passkeys = passkeys.delete(authenticator.authenticator_id)
    for api_key in user.api_keys:
        keys = keys.set(api_key.credential.public_key, (user.user_id, api_key))
    for authenticator in user.authenticators:
        holders = holders.set(authenticator.credential_id, (user.user_id, authenticator))
        passkeys = passkeys.set(authenticator.authenticator_id, authenticator)
    return replace(
        organization,
        users=organization.users.set(user.user_id, user),
        api_key_holders=keys,
        authenticator_holders=holders,
        authenticators=passkeys,
    )
