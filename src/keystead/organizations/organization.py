"""One organization as one value, and the changes that lead from one version of it to the next.

Here: the value, its indexes, `apply`. Not here: the rules that decide which changes may be (`credentials`,
`users`, `wallets`, …), large rows that are read by page, and the database.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, assert_never

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from keystead.api.enums import AccessType, SmartContractInterfaceType
from keystead.api.records import ApiKey, Authenticator, Policy, PrivateKey, Tag, Timestamp, User, Wallet
from keystead.chains.addresses.stored_forms import stored_form
from keystead.organizations.persistent_map import PersistentMap


class RootQuorum(msgspec.Struct, frozen=True):
    """`threshold` of these users together may do anything."""

    threshold: int
    user_ids: tuple[str, ...]


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """What an organization says of itself. `features` maps feature names to their values.

    A deleted organization stays on record, empty, and is nowhere found.
    """

    name: str
    root_quorum: RootQuorum
    created_at: Timestamp
    parent_id: str | None = None
    deleted: bool = False
    features: dict[str, str] = {}


class Sealed(msgspec.Struct, frozen=True):
    """Ciphertext at rest: AES-256-GCM, nonce first, under the key named by `key_id`."""

    key_id: Annotated[str, Meta(max_length=64)]
    ciphertext: Annotated[bytes, Meta(max_length=65_536)]


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


class Invitation(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody was asked to join, by the user `sender_id`."""

    id: str
    receiver_user_name: str
    receiver_user_email: str
    receiver_user_tags: tuple[str, ...]
    access_type: AccessType
    sender_id: str
    created_at: Timestamp


class ImportKind(StrEnum):
    """What an import brings in. Stored: a name stays with its meaning."""

    WALLET = "wallet"
    PRIVATE_KEY = "private-key"


class ImportTarget(msgspec.Struct, frozen=True, kw_only=True):
    """A key that its user may seal one import to. `sealed` is its private half; it goes once it has opened one."""

    id: Annotated[str, Meta(max_length=128)]
    kind: ImportKind
    user_id: Annotated[str, Meta(max_length=128)]
    sealed: Sealed
    created_at_ms: Annotated[int, Meta(ge=0, le=2**53)]


Record = (
    Profile
    | DataKey
    | User
    | Passkey
    | Tag
    | Wallet
    | PrivateKey
    | ContractInterface
    | Policy
    | Invitation
    | ImportTarget
)


class Put(msgspec.Struct, frozen=True):
    """Add a record, or replace the one of the same kind and id."""

    record: Record


class Remove(msgspec.Struct, frozen=True):
    """Take the record of this kind and id away."""

    kind: type[User | Passkey | Tag | Wallet | PrivateKey | ContractInterface | Policy | Invitation | ImportTarget]
    id: str


Change = Put | Remove


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
    Kind("private_key", PrivateKey, "private_key_id"),
    Kind("contract_interface", ContractInterface, "id"),
    Kind("policy", Policy, "policy_id"),
    Kind("invitation", Invitation, "id"),
    Kind("import_target", ImportTarget, "id"),
)
KIND_OF: dict[type[Record], Kind] = {kind.record: kind for kind in KINDS}
KIND_NAMED: dict[str, Kind] = {kind.word: kind for kind in KINDS}


class Version(msgspec.Struct, frozen=True, order=True):
    """Which state of an organization: a number without gaps, and the evaluation that allowed what led to it.

    The number alone would not tell two histories apart: what one process foresaw and what another committed. Nor
    would the activity: two processes may execute the same one, each upon a vote, and come to different records.
    """

    number: int
    changed_by: str


class Organization(msgspec.Struct, frozen=True, kw_only=True):
    """Every record of an organization that rules look at.

    `api_key_holders` maps a public key to its user's id and the key, `authenticator_holders` a credential id to its
    user's id and the passkey, `interface_of_contract` a contract to its interface's id, `private_key_of_address` an
    address, as `addresses.stored_form` has it, to the id of the oldest private key that has it. Lists are in order
    of creation, since ids sort by time.
    """

    id: str
    version: Version
    profile: Profile
    data_key: DataKey
    users: PersistentMap[str, User]
    passkeys: PersistentMap[str, Passkey]
    tags: PersistentMap[str, Tag]
    wallets: PersistentMap[str, Wallet]
    private_keys: PersistentMap[str, PrivateKey]
    private_key_of_address: PersistentMap[str, str]
    contract_interfaces: PersistentMap[str, ContractInterface]
    interface_of_contract: PersistentMap[str, str]
    policies: PersistentMap[str, Policy]
    invitations: PersistentMap[str, Invitation]
    import_targets: PersistentMap[str, ImportTarget]
    api_key_holders: PersistentMap[str, tuple[str, ApiKey]]
    authenticator_holders: PersistentMap[str, tuple[str, Authenticator]]
    authenticators: PersistentMap[str, Authenticator]

    def users_in_order(self) -> list[User]:
        return [self.users[key] for key in sorted(self.users)]

    def wallets_in_order(self) -> list[Wallet]:
        return [self.wallets[key] for key in sorted(self.wallets)]

    def private_keys_in_order(self) -> list[PrivateKey]:
        return [self.private_keys[key] for key in sorted(self.private_keys)]

    def policies_in_order(self) -> list[Policy]:
        return [self.policies[key] for key in sorted(self.policies)]

    def tags_in_order(self) -> list[Tag]:
        return [self.tags[key] for key in sorted(self.tags)]

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
        users=PersistentMap(),
        passkeys=PersistentMap(),
        tags=PersistentMap(),
        wallets=PersistentMap(),
        private_keys=PersistentMap(),
        private_key_of_address=PersistentMap(),
        contract_interfaces=PersistentMap(),
        interface_of_contract=PersistentMap(),
        policies=PersistentMap(),
        invitations=PersistentMap(),
        import_targets=PersistentMap(),
        api_key_holders=PersistentMap(),
        authenticator_holders=PersistentMap(),
        authenticators=PersistentMap(),
    )
    return apply(empty, [Put(record) for record in records], version)


def contract_of(interface: ContractInterface) -> str:
    """The contract of an interface, in one text: as `contract_key` gives it."""
    return contract_key(interface.type, interface.address)


def contract_key(kind: SmartContractInterfaceType, address: str) -> str:
    """One text for all spellings: Ethereum addresses are the same in any letter case, Solana's are not."""
    return f"{kind}:{address.lower() if kind is SmartContractInterfaceType.ETHEREUM else address}"


def records_of(organization: Organization) -> list[Record]:
    """Every record of the organization."""
    records: list[Record] = [organization.profile, organization.data_key, *organization.users.values()]
    for field in _MAPS.values():
        records += getattr(organization, field).values()
    return records


def apply(organization: Organization, changes: Iterable[Change], version: Version) -> Organization:
    """The organization after these changes, as `version`."""
    organization = replace(organization, version=version)
    for change in changes:
        match change:
            case Put(record):
                organization = _with(organization, record)
            case Remove(kind, id_):
                organization = _without(organization, kind, id_)
    return organization


def _with(organization: Organization, record: Record) -> Organization:
    match record:
        case Profile():
            return replace(organization, profile=record)
        case DataKey():
            return replace(organization, data_key=record)
        case User():
            return _with_user(organization, record)
        case PrivateKey():
            return _with_private_key(organization, record)
        case ContractInterface():
            return replace(
                organization,
                contract_interfaces=organization.contract_interfaces.set(record.id, record),
                interface_of_contract=organization.interface_of_contract.set(contract_of(record), record.id),
            )
        case Passkey() | Tag() | Wallet() | Policy() | Invitation() | ImportTarget():
            kind, field = KIND_OF[type(record)], _MAPS[type(record)]
            return replace(organization, **{field: getattr(organization, field).set(kind.id_of(record), record)})
        case _:
            assert_never(record)


_MAPS: dict[type[Record], str] = {
    Passkey: "passkeys",
    Tag: "tags",
    Wallet: "wallets",
    PrivateKey: "private_keys",
    ContractInterface: "contract_interfaces",
    Policy: "policies",
    Invitation: "invitations",
    ImportTarget: "import_targets",
}


def _without(organization: Organization, kind: type[Record], id_: str) -> Organization:
    if kind is User:
        bare = _without_credentials(organization, organization.users[id_])
        return replace(bare, users=bare.users.delete(id_))
    if kind is PrivateKey:
        return _without_private_key(organization, id_)
    if kind is ContractInterface:
        gone = organization.contract_interfaces[id_]
        of_contract = organization.interface_of_contract.delete(contract_of(gone))
        organization = replace(organization, interface_of_contract=of_contract)
    return replace(organization, **{_MAPS[kind]: getattr(organization, _MAPS[kind]).delete(id_)})


def _with_private_key(organization: Organization, key: PrivateKey) -> Organization:
    """The key put, and found by its addresses unless an older one has them. A key never changes its addresses."""
    found_by = organization.private_key_of_address
    for form in _forms(key):
        if key.private_key_id < found_by.get(form, "~"):
            found_by = found_by.set(form, key.private_key_id)
    return replace(
        organization,
        private_keys=organization.private_keys.set(key.private_key_id, key),
        private_key_of_address=found_by,
    )


def _without_private_key(organization: Organization, id_: str) -> Organization:
    gone, left = organization.private_keys[id_], organization.private_keys.delete(id_)
    found_by = organization.private_key_of_address
    for form in _forms(gone):
        if found_by.get(form) == id_:
            heirs = [key.private_key_id for key in left.values() if form in _forms(key)]
            found_by = found_by.set(form, min(heirs)) if heirs else found_by.delete(form)
    return replace(organization, private_keys=left, private_key_of_address=found_by)


def _forms(key: PrivateKey) -> set[str]:
    return {stored_form(each.format, each.address) for each in key.addresses}


def _with_user(organization: Organization, user: User) -> Organization:
    """The user put, and the indexes of credentials with it."""
    before = organization.users.get(user.user_id)
    bare = organization if before is None else _without_credentials(organization, before)
    keys, holders, passkeys = bare.api_key_holders, bare.authenticator_holders, bare.authenticators
    for api_key in user.api_keys:
        keys = keys.set(api_key.credential.public_key, (user.user_id, api_key))
    for authenticator in user.authenticators:
        holders = holders.set(authenticator.credential_id, (user.user_id, authenticator))
        passkeys = passkeys.set(authenticator.authenticator_id, authenticator)
    return replace(
        bare,
        users=bare.users.set(user.user_id, user),
        api_key_holders=keys,
        authenticator_holders=holders,
        authenticators=passkeys,
    )


def _without_credentials(organization: Organization, user: User) -> Organization:
    """The organization whose indexes do not know this user's credentials."""
    keys, holders = organization.api_key_holders, organization.authenticator_holders
    passkeys = organization.authenticators
    for api_key in user.api_keys:
        keys = keys.delete(api_key.credential.public_key)
    for authenticator in user.authenticators:
        holders = holders.delete(authenticator.credential_id)
        passkeys = passkeys.delete(authenticator.authenticator_id)
    return replace(organization, api_key_holders=keys, authenticator_holders=holders, authenticators=passkeys)
