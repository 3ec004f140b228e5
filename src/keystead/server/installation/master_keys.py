"""The master keys that the settings name. Not here: opening them (`signer`)."""

from __future__ import annotations

from keystead.server.settings.settings import Settings, SettingsError
from keystead.signer.master_keys import KeyText, MasterKeyError, MasterKeySource, MasterKeySources, parse_source


def master_key_sources(settings: Settings) -> MasterKeySources:
    """The master keys of these settings. Raises SettingsError if they name none, or one in an unknown form."""
    if settings.master_key:
        sealing: MasterKeySource = KeyText("KEYSTEAD_MASTER_KEY", settings.master_key)
    elif settings.master_key_file:
        sealing = _source(settings.master_key_file, settings)
    else:
        raise SettingsError("no master key: set --master-key-file or KEYSTEAD_MASTER_KEY_FILE")
    other = settings.other_master_key_file
    return MasterKeySources(sealing, (_source(other, settings),) if other else ())


def _source(place: str, settings: Settings) -> MasterKeySource:
    try:
        return parse_source(place, settings.pkcs11_pin)
    except MasterKeyError as refused:
        raise SettingsError(str(refused)) from None
