"""The keys of the installation itself, and the values that are sealed under its master key.

Here: the list of these keys. Creating, resealing and publishing follow from it. Not here: using a key (`local`),
where the sealed values are stored (`server`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from keystead.api.enums import Curve
from keystead.keys.sealing import Purpose, SealBroken, SealContext
from keystead.organizations.kinds.data_key import Sealed
from keystead.pipeline.signer_values import Id


class InstallationKey(msgspec.Struct, frozen=True, kw_only=True):
    """A key of the installation.

    `name`: its instance value in the database, and its published name. `use`: the published text about its use.
    `is_composite`: the value holds two keys, the encryption key and then the signing key, because some clients are
    configured with both. `made_at_start`: installations of earlier versions lack it; the first server of this
    version that starts makes it.
    """

    name: str
    purpose: Purpose
    use: str
    curve: Curve = Curve.P256
    is_composite: bool = False
    made_at_start: bool = False

    @property
    def context(self) -> SealContext:
        return SealContext(self.purpose)


PROOF_KEY: Final = InstallationKey(
    name="proof_key", purpose=Purpose.PROOF_KEY, use="signs app proofs", is_composite=True
)
BUNDLE_KEY: Final = InstallationKey(
    name="bundle_key", purpose=Purpose.BUNDLE_KEY, use="signs export and import bundles", is_composite=True
)
SESSION_KEY: Final = InstallationKey(
    name="session_key", purpose=Purpose.SESSION_KEY, use="signs session tokens of logins"
)
VERIFICATION_KEY: Final = InstallationKey(
    name="verification_key",
    purpose=Purpose.VERIFICATION_KEY,
    use="signs verification tokens and the bundles that one-time codes are encrypted to",
)
CLIENT_SECRET_KEY: Final = InstallationKey(
    name="client_secret_key", purpose=Purpose.CLIENT_SECRET_KEY, use="OAuth2 client secrets are encrypted to it"
)

IDENTITY_KEY: Final = InstallationKey(
    name="identity_key", purpose=Purpose.IDENTITY_KEY, use="signs ID tokens about people of OAuth2 providers"
)

WEBHOOK_KEY: Final = InstallationKey(
    name="webhook_key",
    purpose=Purpose.WEBHOOK_KEY,
    use="signs webhooks",
    curve=Curve.ED25519,
    made_at_start=True,
)

INSTALLATION_KEYS: Final = (
    PROOF_KEY,
    BUNDLE_KEY,
    SESSION_KEY,
    VERIFICATION_KEY,
    CLIENT_SECRET_KEY,
    IDENTITY_KEY,
    WEBHOOK_KEY,
)
"""Every key of an installation. A new key is added here and used in `local`."""

MASTER_KEY_CHECK: Final = "master_key_check"
"""The instance value that tests a master key: a sealed constant."""

CHECK_CONTEXT: Final = SealContext(Purpose.CHECK)

SEALED_VALUES: Final[Mapping[str, SealContext]] = {
    **{key.name: key.context for key in INSTALLATION_KEYS},
    MASTER_KEY_CHECK: CHECK_CONTEXT,
}
"""Every instance value that the master key seals, by name."""


MADE_AT_START: Final = frozenset(key.name for key in INSTALLATION_KEYS if key.made_at_start)
"""The values that an installation of an earlier version lacks until a server of this version has started."""


class SealedInstallationKeys(msgspec.Struct, frozen=True):
    """The sealed values of an installation: the check value, and its keys by name."""

    master_key_check: Sealed
    keys: Annotated[dict[Id, Sealed], Meta(max_length=100)]

    def values(self) -> dict[str, Sealed]:
        """The sealed values by the names in SEALED_VALUES."""
        return {**self.keys, MASTER_KEY_CHECK: self.master_key_check}


class WrongMasterKey(SealBroken):
    """The master key is not the one under which the installation's values are sealed."""
