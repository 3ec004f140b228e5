"""The list of all record kinds: one line for each.

Here: the list, and what follows from it. Not here: a kind's declaration (`kinds`), the base class of kinds
(`record_map`).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from keystead.organizations.attached_rows import AttachedTable
from keystead.organizations.attachments import ATTACHED_TABLES
from keystead.organizations.kinds.account_contacts import AccountContactsMap
from keystead.organizations.kinds.auth_proxies import AuthProxies
from keystead.organizations.kinds.contract_interfaces import ContractInterfaces
from keystead.organizations.kinds.credential_registrations import CredentialRegistrationsMap
from keystead.organizations.kinds.data_key import DataKeys
from keystead.organizations.kinds.import_targets import ImportTargets
from keystead.organizations.kinds.invitations import Invitations
from keystead.organizations.kinds.ip_allowlists import IpAllowlists
from keystead.organizations.kinds.oauth2_credentials import Oauth2Credentials
from keystead.organizations.kinds.policies import Policies
from keystead.organizations.kinds.private_keys import PrivateKeys
from keystead.organizations.kinds.profile import Profiles
from keystead.organizations.kinds.read_only_sessions import ReadOnlySessions
from keystead.organizations.kinds.secrets import Secrets
from keystead.organizations.kinds.session_profiles import SessionProfiles
from keystead.organizations.kinds.tags import Tags
from keystead.organizations.kinds.users import Passkeys, Users
from keystead.organizations.kinds.velocity_controls import VelocityControls
from keystead.organizations.kinds.wallets import Wallets
from keystead.organizations.kinds.webhook_endpoints import WebhookEndpoints
from keystead.organizations.limits import Limit
from keystead.organizations.record_map import RecordMap

RecordKind = type[RecordMap[Any]]


class RecordKinds:
    """A set of record kinds, and the tables of their attached rows. Immutable. Tests make one with their own kind.

    `by_record_type`: the kinds by the type of their records. `by_stored_name`: by their names in the database.
    """

    __slots__ = ("attached_tables", "by_record_type", "by_stored_name")

    by_record_type: Mapping[type[msgspec.Struct], RecordKind]
    by_stored_name: Mapping[str, RecordKind]
    attached_tables: tuple[AttachedTable, ...]

    def __init__(
        self, kinds: tuple[RecordKind, ...], attached_tables: tuple[AttachedTable, ...] = ATTACHED_TABLES
    ) -> None:
        """Raises ValueError if two kinds have the same stored name or the same type of records."""
        self.by_record_type = MappingProxyType({kind.record: kind for kind in kinds})
        self.by_stored_name = MappingProxyType({kind.stored_name: kind for kind in kinds})
        self.attached_tables = attached_tables
        if len(self.by_record_type) != len(kinds) or len(self.by_stored_name) != len(kinds):
            raise ValueError("two record kinds have the same stored name or the same type of records")

    @property
    def limits(self) -> tuple[Limit, ...]:
        """Every limit that a kind declares, in the order of the kinds."""
        return tuple(limit for kind in self.by_stored_name.values() for limit in kind.limits)


KINDS = (
    Profiles,
    DataKeys,
    Users,
    Passkeys,
    CredentialRegistrationsMap,
    Wallets,
    PrivateKeys,
    ContractInterfaces,
    Tags,
    Policies,
    Invitations,
    ImportTargets,
    AccountContactsMap,
    SessionProfiles,
    ReadOnlySessions,
    AuthProxies,
    Oauth2Credentials,
    IpAllowlists,
    WebhookEndpoints,
    Secrets,
    VelocityControls,
)
"""Every record kind. The server needs no other list of them. The tests of the stores need a record of each kind
(docs/extending.md)."""

RECORD_KINDS = RecordKinds(KINDS)
