"""Seals values again under another master key: the cryptographic part of a rotation.

Not here: the list of the values and where they are stored (`server.installation.rotation`).
"""

from __future__ import annotations

from keystead.keys.sealing import Master, MasterKeys, SealBroken, SealContext, data_key_context
from keystead.organizations.kinds.data_key import Sealed
from keystead.signer.installation_keys import SEALED_VALUES


class Resealer:
    """Opens values that `old` or `new` sealed, and seals them under `new`. Uses both keys in this process."""

    def __init__(self, old: Master, new: Master) -> None:
        self._keys = MasterKeys(new, [old])
        self.old_key_id = old.key_id
        self.new_key_id = new.key_id

    def is_current(self, sealed: Sealed) -> bool:
        """Whether the new key sealed it. The data key of a deleted organization is empty and counts as current."""
        return sealed.key_id in ("", self.new_key_id)

    def check(self, name: str, sealed: Sealed) -> None:
        """Raise SealBroken unless one of the keys opens this value. `name` is in SEALED_VALUES."""
        self._keys.open(sealed, SEALED_VALUES[name])

    def data_key(self, sealed: Sealed, organization_id: str) -> Sealed:
        """The data key, sealed under the new key. Raises SealBroken if neither key opens it."""
        return self._reseal(sealed, data_key_context(organization_id))

    def instance_value(self, name: str, sealed: Sealed) -> Sealed:
        """The value, sealed under the new key. `name` is in SEALED_VALUES. Raises SealBroken if neither key opens
        it."""
        return self._reseal(sealed, SEALED_VALUES[name])

    def _reseal(self, sealed: Sealed, context: SealContext) -> Sealed:
        resealed = self._keys.seal(self._keys.open(sealed, context), context)
        self._keys.open(resealed, context)  # a value that does not open must not replace one that does
        return resealed


__all__ = ["Resealer", "SealBroken"]
