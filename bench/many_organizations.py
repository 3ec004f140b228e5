"""A hundred thousand more organizations, written directly to the database. Through the API it would take an hour.

Here: small organizations (one user with a key, two wallets) as rows of the store's tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.installation import Installation
from bench.rows import Batch, shown, write
from keystead.api.enums import ApiKeyCurve
from keystead.api.identifiers import new_id
from keystead.api.parameters import ApiKeyParamsV2
from keystead.api.records import Timestamp, User, Wallet
from keystead.keys import sealing
from keystead.keys.master_key import load
from keystead.keys.sealing import MasterKey
from keystead.organizations.credentials.api_keys import new_api_key
from keystead.organizations.kinds.data_key import SealedDataKey
from keystead.organizations.kinds.profile import Profile, RootQuorum
from keystead.organizations.lookups import user_lookups
from keystead.organizations.organization import Record, Version, from_records
from keystead.stamps.signing import ApiKeyPair, generate_api_key
from keystead.storage.row_encoding import rows_of_new_organization
from keystead.storage.rows import Row

WALLETS = 2

Tenant = tuple[str, ApiKeyPair]
"""An organization's id, and the key of its one user."""

_AT_ONCE = 5_000
_MADE_AT = Timestamp.from_ms(1_767_225_600_000)


def new_tenants(count: int) -> list[Tenant]:
    return [(new_id(), generate_api_key()) for _ in range(count)]


def write_organizations(installation: Installation, tenants: Sequence[Tenant]) -> None:
    """Write these organizations to the installation's database."""
    batches = _batches(installation.master_key_file, tenants)
    write(installation.database_url, shown(batches, "organizations", _AT_ONCE, len(tenants)))


def _batches(master_key_file: Path, tenants: Sequence[Tenant]) -> Iterator[Batch]:
    master_key = load(master_key_file)
    for begin in range(0, len(tenants), _AT_ONCE):
        yield _rows(master_key, tenants[begin : begin + _AT_ONCE])


def _rows(master_key: MasterKey, tenants: Sequence[Tenant]) -> list[tuple[str, Row]]:
    rows: list[tuple[str, Row]] = []
    for organization_id, key in tenants:
        user = _user(key)
        records: list[Record] = [
            Profile(name="One of many", root_quorum=RootQuorum(1, (user.user_id,)), created_at=_MADE_AT),
            SealedDataKey(master_key.seal_data_key(sealing.DataKey.generate(), organization_id)),
            user,
            *(_wallet(number) for number in range(1, WALLETS + 1)),
        ]
        organization = from_records(organization_id, Version(1, new_id()), records)
        rows.extend(rows_of_new_organization(organization, (), user_lookups(user), {}).inserted)
    return rows


def _user(key: ApiKeyPair) -> User:
    params = ApiKeyParamsV2(api_key_name="Key", public_key=key.public_key, curve_type=ApiKeyCurve.P256)
    return User(
        user_id=new_id(),
        user_name="Root user",
        authenticators=(),
        api_keys=(new_api_key(params, new_id(), _MADE_AT, "key"),),
        user_tags=(),
        oauth_providers=(),
        mfa_policies=(),
        created_at=_MADE_AT,
        updated_at=_MADE_AT,
    )


def _wallet(number: int) -> Wallet:
    return Wallet(
        wallet_id=new_id(),
        wallet_name=f"Wallet {number}",
        created_at=_MADE_AT,
        updated_at=_MADE_AT,
        exported=False,
        imported=False,
    )
