"""Checks that stored values open with the master key, for `keystead check`.

No plaintext leaves these functions: each says only whether a value opens. Not here: the list of the values and
where they are stored (`server.installation.checking`).
"""

from __future__ import annotations

from typing import assert_never

from keystead.keys.auth_proxy_keys import auth_proxy_key_context
from keystead.keys.importing import import_target_context, secret_context
from keystead.keys.material import open_wallet, private_key_context
from keystead.keys.one_time_codes import message_context, otp_target_context
from keystead.keys.sealing import DataKey, Master, SealBroken
from keystead.organizations.attachments import MNEMONIC_PURPOSE, PRIVATE_KEY_PURPOSE, SECRET_PURPOSE, SealedSecret
from keystead.organizations.contacts.one_time_codes import OneTimeCode
from keystead.organizations.contacts.outgoing_messages import OutgoingMessage
from keystead.organizations.kinds.auth_proxies import AuthProxy
from keystead.organizations.kinds.data_key import Sealed
from keystead.organizations.kinds.import_targets import ImportTarget
from keystead.signer.installation_keys import SEALED_VALUES

Owner = SealedSecret | AuthProxy | ImportTarget | OneTimeCode | OutgoingMessage
"""What has a value that a data key seals."""


def check_instance_value(master: Master, name: str, sealed: Sealed) -> None:
    """`name` is in SEALED_VALUES. Raises SealBroken."""
    master.open(sealed, SEALED_VALUES[name])


class OrganizationSeals:
    """Opens the values of one organization. Raises SealBroken if the master key does not open its data key."""

    def __init__(self, master: Master, organization_id: str, data_key: Sealed) -> None:
        self._organization_id = organization_id
        self._data_key: DataKey = master.open_data_key(data_key, organization_id)

    def check(self, owner: Owner) -> bool:
        """Whether the owner has a sealed value. Raises SealBroken if it does not open."""
        key, organization_id = self._data_key, self._organization_id
        match owner:
            case SealedSecret(record_id, purpose, sealed) if purpose == MNEMONIC_PURPOSE:
                open_wallet(key, organization_id, record_id, sealed)
            case SealedSecret(record_id, purpose, sealed) if purpose == PRIVATE_KEY_PURPOSE:
                key.open(sealed, private_key_context(organization_id, record_id))
            case SealedSecret(record_id, purpose, sealed) if purpose == SECRET_PURPOSE:
                key.open(sealed, secret_context(organization_id, record_id))
            case SealedSecret(record_id, purpose):
                raise SealBroken(f"sealed secret of {record_id}: its purpose {purpose!a} is unknown")
            case AuthProxy():
                key.open(owner.sealed_key, auth_proxy_key_context(organization_id, owner.user_id))
            case ImportTarget():
                context = import_target_context(organization_id, owner.id, owner.kind, owner.user_id)
                key.open(owner.sealed, context)
            case OneTimeCode():
                if owner.target is None:
                    return False
                key.open(owner.target, otp_target_context(organization_id, owner.id))
            case OutgoingMessage():
                if owner.sealed is None:
                    return False
                key.open(owner.sealed, message_context(organization_id, owner.id))
            case _:
                assert_never(owner)
        return True
