"""One organization as one value, and the changes that lead from one version of it to the next.

Here: the value, `apply`. Not here: the kinds of records (`record_kinds`), the rules that decide which changes are
allowed (`credentials`, `users`, `wallets`, …), large rows that are read by page, and the database.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property
from operator import attrgetter
from typing import Any, TypeVar, assert_never

import msgspec
from msgspec.structs import replace

from keystead.api.errors import NotFound
from keystead.organizations.kinds.auth_proxies import AuthProxies
from keystead.organizations.kinds.contract_interfaces import ContractInterfaces
from keystead.organizations.kinds.data_key import DataKeys, SealedDataKey
from keystead.organizations.kinds.import_targets import ImportTargets
from keystead.organizations.kinds.invitations import Invitations
from keystead.organizations.kinds.ip_allowlists import IpAllowlists
from keystead.organizations.kinds.oauth2_credentials import Oauth2Credentials
from keystead.organizations.kinds.policies import Policies
from keystead.organizations.kinds.private_keys import PrivateKeys
from keystead.organizations.kinds.profile import Profile, Profiles
from keystead.organizations.kinds.read_only_sessions import ReadOnlySessions
from keystead.organizations.kinds.session_profiles import SessionProfiles
from keystead.organizations.kinds.tags import Tags
from keystead.organizations.kinds.users import Passkeys, Users
from keystead.organizations.kinds.velocity_controls import VelocityControls
from keystead.organizations.kinds.wallets import Wallets
from keystead.organizations.kinds.webhook_endpoints import WebhookEndpoints
from keystead.organizations.record_kinds import RECORD_KINDS, RecordKinds
from keystead.organizations.record_map import RecordMap

_encode = msgspec.json.Encoder().encode

MapT = TypeVar("MapT", bound=RecordMap[Any])
RecordT = TypeVar("RecordT", bound=msgspec.Struct)

Record = msgspec.Struct
"""A value of the type that one of the organization's record kinds declares."""


class Put(msgspec.Struct, frozen=True, dict=True):
    """Add a record, or replace the one of the same kind and id."""

    record: Record

    @cached_property
    def body(self) -> bytes:
        """The record as JSON, as it is stored. Its size is limited, and then it is written, so it is kept."""
        return _encode(self.record)


class Remove(msgspec.Struct, frozen=True):
    """Remove the record of this type and id."""

    kind: type[Record]
    id: str


Change = Put | Remove


class Version(msgspec.Struct, frozen=True, order=True):
    """A state of an organization: a number without gaps, and the evaluation that allowed the change to it.

    The number alone would not distinguish two histories: a version that one process computed ahead of its
    commit, and one that another process committed. The id of the activity would not either: two processes may
    execute the same activity, each after a vote, with different results.
    """

    number: int
    changed_by: str


_BYTES, _COUNT = attrgetter("bytes"), attrgetter("by_id.size")


class Organization(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """Every record of an organization that rules read.

    `maps` has the records of each kind, by the type of the records; a kind without a property here is reached by
    `of`. A property is computed once for each version.
    """

    id: str
    version: Version
    maps: Mapping[type[Record], RecordMap[Any]]

    def of(self, kind: type[MapT]) -> MapT:
        """The records of a kind. Raises KeyError for a kind that this organization does not have."""
        return self.maps[kind.record]  # type: ignore[return-value] # `empty` put it there under this type

    def record(self, kind: type[RecordMap[RecordT]], id_: str) -> RecordT:
        """The record of this kind and id. Raises NotFound."""
        record = self.of(kind).get(id_)
        if record is None:
            raise self.not_found(kind, id_)
        return record

    def not_found(self, kind: type[RecordMap[Any]], id_: str) -> NotFound:
        """The refusal of an id that no record of this kind has."""
        return NotFound(f"unable to find {kind.called} {id_} in organization {self.id}")

    @cached_property
    def profile(self) -> Profile:
        return self.of(Profiles)[""]

    @cached_property
    def data_key(self) -> SealedDataKey:
        return self.of(DataKeys)[""]

    @cached_property
    def users(self) -> Users:
        return self.of(Users)

    @cached_property
    def passkeys(self) -> Passkeys:
        return self.of(Passkeys)

    @cached_property
    def wallets(self) -> Wallets:
        return self.of(Wallets)

    @cached_property
    def private_keys(self) -> PrivateKeys:
        return self.of(PrivateKeys)

    @cached_property
    def contract_interfaces(self) -> ContractInterfaces:
        return self.of(ContractInterfaces)

    @cached_property
    def ip_allowlists(self) -> IpAllowlists:
        return self.of(IpAllowlists)

    @cached_property
    def webhook_endpoints(self) -> WebhookEndpoints:
        return self.of(WebhookEndpoints)

    @cached_property
    def tags(self) -> Tags:
        return self.of(Tags)

    @cached_property
    def policies(self) -> Policies:
        return self.of(Policies)

    @cached_property
    def invitations(self) -> Invitations:
        return self.of(Invitations)

    @cached_property
    def import_targets(self) -> ImportTargets:
        return self.of(ImportTargets)

    @cached_property
    def session_profiles(self) -> SessionProfiles:
        return self.of(SessionProfiles)

    @cached_property
    def velocity_controls(self) -> VelocityControls:
        return self.of(VelocityControls)

    @cached_property
    def auth_proxies(self) -> AuthProxies:
        return self.of(AuthProxies)

    @cached_property
    def oauth2_credentials(self) -> Oauth2Credentials:
        return self.of(Oauth2Credentials)

    @cached_property
    def read_only_sessions(self) -> ReadOnlySessions:
        return self.of(ReadOnlySessions)

    @property
    def record_count(self) -> int:
        return sum(map(_COUNT, self.maps.values()))

    @cached_property
    def bytes(self) -> int:
        """The measured size of its records in memory."""
        return sum(map(_BYTES, self.maps.values()))


def from_records(
    organization_id: str, version: Version, records: Iterable[Record], kinds: RecordKinds = RECORD_KINDS
) -> Organization:
    """An organization from all of its records. Raises ValueError if the profile or the data key is missing."""
    builder = OrganizationBuilder(kinds)
    for record in records:
        builder.add(record)
    return builder.organization(organization_id, version)


class OrganizationBuilder:
    """Builds an organization from its records, which are added one by one."""

    def __init__(self, kinds: RecordKinds) -> None:
        self._maps = {type_: kind() for type_, kind in kinds.by_record_type.items()}

    def add(self, record: Record) -> None:
        self._maps[type(record)] = self._maps[type(record)].put(record)

    def organization(self, organization_id: str, version: Version) -> Organization:
        """The organization of the records so far. Raises ValueError if the profile or the data key is missing."""
        organization = Organization(id=organization_id, version=version, maps=dict(self._maps))
        if not organization.of(Profiles) or not organization.of(DataKeys):
            raise ValueError(f"organization {organization_id} has no profile or no data key")
        return organization


def records_of(organization: Organization) -> list[Record]:
    """Every record of the organization."""
    return [record for map_ in organization.maps.values() for record in map_.values()]


def apply(organization: Organization, changes: Iterable[Change], version: Version) -> Organization:
    """The organization after these changes, as `version`.

    Raises KeyError if a record to remove does not exist, or if the type of a record is not a record kind.
    """
    changing = ChangingOrganization(organization)
    for change in changes:
        changing.change(change)
    return changing.organization(version)


class ChangingOrganization:
    """An organization whose changes are applied one by one, as `apply` does it."""

    def __init__(self, before: Organization) -> None:
        self._id = before.id
        self._maps = dict(before.maps)

    def change(self, change: Change) -> None:
        maps = self._maps
        match change:
            case Put(record):
                maps[type(record)] = maps[type(record)].put(record)
            case Remove(type_, id_):
                maps[type_] = maps[type_].remove(id_)
            case _:
                assert_never(change)

    def organization(self, version: Version) -> Organization:
        """The organization after the changes so far, as `version`."""
        return Organization(id=self._id, version=version, maps=dict(self._maps))


def apply_unordered(organization: Organization, changes: Iterable[Change], version: Version) -> Organization:
    """The organization after changes without an order, as `version`."""
    emptied, ordered = ordered_changes(organization, changes)
    return apply(emptied, ordered, version)


def ordered_changes(organization: Organization, changes: Iterable[Change]) -> tuple[Organization, list[Change]]:
    """An order of changes that have none, for example those of several versions, and the organization to apply them
    to. There is at most one change of each record.

    A record to remove may not exist. An indexed value may have moved from one record to another meanwhile (an API
    key from one user to another), so the old state of every indexed record is removed before a new one is added.
    """
    removals: list[Remove] = []
    puts: list[Put] = []
    for change in changes:
        match change:
            case Put(record):
                map_ = organization.maps[type(record)]
                if map_.has_index and (id_ := map_.id_of(record)) in map_:
                    removals.append(Remove(type(record), id_))
                puts.append(change)
            case Remove(type_, id_):
                if id_ in organization.maps[type_]:
                    removals.append(change)
            case _:
                assert_never(change)
    # An empty map replaces one whose records are all removed: to remove 5,000 users one by one takes 0.6 s.
    counts = Counter(removal.kind for removal in removals)
    emptied = {type_ for type_, count in counts.items() if count == len(organization.maps[type_])}
    maps = {type_: type(map_)() if type_ in emptied else map_ for type_, map_ in organization.maps.items()}
    left = [removal for removal in removals if removal.kind not in emptied]
    return replace(organization, maps=maps), [*left, *puts]
