"""Where these settings say that the master keys are. Not here: opening them (`keys.custody`)."""

from __future__ import annotations

from keystead.keys.custody import Custody, KeySource, KeyText, source_at
from keystead.keys.master_key import MasterKeyError
from keystead.server.settings import Settings, SettingsError


def custody_of(settings: Settings) -> Custody:
    """Where these settings say the master keys are. Raises SettingsError if they name none, or none that can be."""
    if settings.master_key:
        sealing: KeySource = KeyText("KEYSTEAD_MASTER_KEY", settings.master_key)
    elif settings.master_key_file:
        sealing = _source(settings.master_key_file, settings)
    else:
        raise SettingsError("no master key: give --master-key-file or KEYSTEAD_MASTER_KEY_FILE")
    other = settings.other_master_key_file
    return Custody(sealing, (_source(other, settings),) if other else ())


def _source(place: str, settings: Settings) -> KeySource:
    try:
        return source_at(place, settings.pkcs11_pin)
    except MasterKeyError as refused:
        raise SettingsError(str(refused)) from None
