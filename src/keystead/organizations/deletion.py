"""The rules of deleting a sub-organization: when it may be deleted, and which records are removed.

Pure. Not here: its rows and look-ups (`attachments`, `storage.purger`).
"""

from __future__ import annotations

from msgspec.structs import replace

from keystead.api.errors import InvalidRequest
from keystead.organizations.kinds.data_key import Sealed, SealedDataKey
from keystead.organizations.kinds.profile import Profile, RootQuorum
from keystead.organizations.organization import Change, Organization, Put, Remove


def deletion_changes(organization: Organization, *, without_export: bool) -> tuple[Change, ...]:
    """The changes that delete every record of a sub-organization except its profile.

    Its data key is deleted too, so its sealed secrets can never be opened again. Raises InvalidRequest for an
    organization without a parent, or with a wallet or a private key that was not exported.
    """
    if organization.profile.parent_id is None:
        raise InvalidRequest(
            f"organization {organization.id} is not a sub-organization; only sub-organizations can be deleted"
        )
    unexported = [wallet for wallet in organization.wallets.in_order() if not wallet.exported]
    keys = [key for key in organization.private_keys.in_order() if not key.exported]
    if (unexported or keys) and not without_export:
        first = f"wallet {unexported[0].wallet_id}" if unexported else f"private key {keys[0].private_key_id}"
        raise InvalidRequest(
            f"{first} has not been exported; export every wallet and private key, or set "
            "`parameters.deleteWithoutExport`"
        )
    removed = [map_ for type_, map_ in organization.maps.items() if type_ not in (Profile, SealedDataKey)]
    return (
        *[Remove(map_.record, id_) for map_ in removed for id_ in map_],
        Put(replace(organization.profile, deleted=True, root_quorum=RootQuorum(1, ()), features={})),
        Put(SealedDataKey(Sealed("", b""))),
    )
