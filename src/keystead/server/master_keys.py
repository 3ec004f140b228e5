"""The master keys that the settings name. Not here: opening them (`signer`)."""

from __future__ import annotations

from keystead.server.settings import Settings, SettingsError
from keystead.signer.master_keys import KeyText, MasterKeyError, MasterKeySource, MasterKeySources, parse_source


def master_key_sources(settings: Settings) -> MasterKeySources:
    """Raises SettingsError if the settings name no master key, or one in a form that is not known."""
    if settings.master_key:
        sealing: MasterKeySource = KeyText("KEYSTEAD_MASTER_KEY", settings.master_key)
    elif settings.master_key_file:
        sealing = _source(settings.master_key_file, settings)
    else:
        raise SettingsError("no master key: give --master-key-file or KEYSTEAD_MASTER_KEY_FILE")
    other = settings.other_master_key_file
    return MasterKeySources(sealing, (_source(other, settings),) if other else ())


def _source(place: str, settings: Settings) -> MasterKeySource:
    try:
        return parse_source(place, settings.pkcs11_pin)
    except MasterKeyError as refused:
        raise SettingsError(str(refused)) from None
