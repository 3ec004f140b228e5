"""The rules of wallets and private keys: what may be deleted.

Pure. Not here: how keys are made (`keys`), accounts as they are stored (`attachments`).
"""

from __future__ import annotations

from collections.abc import Iterable

from keystead.api.errors import InvalidRequest
from keystead.organizations.attachments import StoredAccount
from keystead.organizations.organization import Organization


def is_exported(stored: StoredAccount, organization: Organization) -> bool:
    """Whether the account's key was exported: on its own, or with its wallet's mnemonic."""
    return stored.exported or organization.wallets[stored.account.wallet_id].exported


def check_exported(
    kind: str, exported: Iterable[tuple[str, bool]], *, without_export: bool | None, machine_code: str
) -> None:
    """Raise InvalidRequest for the first record that was not exported, because its key would be lost.

    `exported`: the id of each record, and whether it was exported. `kind`: the name of the records in the message.
    """
    for record_id, is_exported_already in () if without_export else exported:
        if not is_exported_already:
            raise InvalidRequest(
                f"invalid request: {kind} {record_id} has not been exported; export it first, or set "
                "`parameters.deleteWithoutExport`",
                machine_code=machine_code,
            )
