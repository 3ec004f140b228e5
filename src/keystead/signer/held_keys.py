"""The keys that the signer holds between calls, what they open, and the public halves that clients get.

Not here: the calls (`local`), which keys an installation has (`installation_keys`).
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from types import MappingProxyType

from keystead.api.enums import Curve
from keystead.api.errors import Internal, Unavailable
from keystead.chains.curves import GROUP_ORDERS, PRIVATE_KEY_BYTES
from keystead.keys.bundles import BundleKey
from keystead.keys.client_secrets import ClientSecretKey
from keystead.keys.derivation import KnownParents
from keystead.keys.proof_key import ProofKey, WebhookKey
from keystead.keys.public_keys import public_key
from keystead.keys.sealing import DataKey, Master, MasterKeyMissing, SealBroken
from keystead.keys.token_key import TokenSigningKey
from keystead.organizations.kinds.data_key import Sealed
from keystead.pipeline.signer_values import PublicInstallationKey
from keystead.signer.installation_keys import (
    BUNDLE_KEY,
    CHECK_CONTEXT,
    CLIENT_SECRET_KEY,
    IDENTITY_KEY,
    INSTALLATION_KEYS,
    PROOF_KEY,
    SESSION_KEY,
    VERIFICATION_KEY,
    WEBHOOK_KEY,
    InstallationKey,
    SealedInstallationKeys,
)
from keystead.signer.long_calls import LongCalls


def published_key(installation_key: InstallationKey, scalars: bytes) -> PublicInstallationKey:
    """The public half of an installation key. `scalars`: the private keys of its value, 32 bytes each."""
    public_keys = [
        public_key(installation_key.curve, scalars[start : start + PRIVATE_KEY_BYTES])
        for start in range(0, len(scalars), PRIVATE_KEY_BYTES)
    ]
    points = [key.uncompressed or key.compressed for key in public_keys]
    return PublicInstallationKey(
        name=installation_key.name,
        use=installation_key.use,
        public_key=points[-1].hex(),
        composite_public_key=b"".join(points).hex() if installation_key.is_composite else None,
    )


_CHECK_TEXT = b"keystead"


class HeldKeys:
    """The master key and the opened installation keys.

    `installation_keys`: by name, as `new_installation_keys` makes them. A call that needs a missing key is
    refused. `entropy(n)` returns n random bytes for mnemonics and for these keys; a development server with a seed
    passes its own. Data keys, import targets, credentials and nonces always come from the operating system. Long
    work goes through `long_calls`; the signers of one process share it.

    Raises SealBroken if `master_key` does not open the installation keys.
    """

    def __init__(
        self,
        master_key: Master,
        installation_keys: Mapping[str, Sealed] = MappingProxyType({}),
        *,
        entropy: Callable[[int], bytes] = secrets.token_bytes,
        long_calls: LongCalls | None = None,
    ) -> None:
        self._master_key = master_key
        self._entropy = entropy
        self._long_calls = long_calls or LongCalls()
        self._parents = KnownParents()
        opened = {
            key.name: master_key.open(installation_keys[key.name], key.context)
            for key in INSTALLATION_KEYS
            if key.name in installation_keys
        }
        self._published = tuple(
            published_key(key, opened[key.name]) for key in INSTALLATION_KEYS if key.name in opened
        )
        self._proof_key = ProofKey(opened[PROOF_KEY.name]) if PROOF_KEY.name in opened else None
        self._bundle_key = BundleKey(opened[BUNDLE_KEY.name]) if BUNDLE_KEY.name in opened else None
        self._client_secret_key = (
            ClientSecretKey(opened[CLIENT_SECRET_KEY.name]) if CLIENT_SECRET_KEY.name in opened else None
        )
        self._webhook_key = WebhookKey(opened[WEBHOOK_KEY.name]) if WEBHOOK_KEY.name in opened else None
        self._token_keys = {
            key.name: TokenSigningKey(opened[key.name])
            for key in (SESSION_KEY, VERIFICATION_KEY, IDENTITY_KEY)
            if key.name in opened
        }

    def check_value(self) -> Sealed:
        """A constant sealed under the master key. It is stored with the data and tested at each start."""
        return self._master_key.seal(_CHECK_TEXT, CHECK_CONTEXT)

    def new_installation_keys(self) -> SealedInstallationKeys:
        """The sealed values of a new installation under this master key."""
        return SealedInstallationKeys(
            self.check_value(), {key.name: self.new_installation_key(key) for key in INSTALLATION_KEYS}
        )

    def new_installation_key(self, key: InstallationKey) -> Sealed:
        """One or two new private keys of 32 bytes, sealed under the master key."""
        scalars = [self._private_key(key.curve) for _ in range(2 if key.is_composite else 1)]
        return self._master_key.seal(b"".join(scalars), key.context)

    async def missing_installation_keys(self) -> dict[str, Sealed]:
        """New sealed keys, by name: one for each key that is made at the start and that this signer lacks."""
        present = {key.name for key in self._published}
        missing = [key for key in INSTALLATION_KEYS if key.made_at_start and key.name not in present]
        return {key.name: self.new_installation_key(key) for key in missing}

    def opens(self, check: Sealed) -> bool:
        """Whether this master key sealed `check`, and therefore the data that is stored with it."""
        try:
            return self._master_key.open(check, CHECK_CONTEXT) == _CHECK_TEXT
        except SealBroken:
            return False

    def _open_data_key(self, sealed: Sealed, organization_id: str) -> DataKey:
        """Raises Unavailable if this process lacks the master key that sealed it, SealBroken if it was changed."""
        try:
            return self._master_key.open_data_key(sealed, organization_id)
        except MasterKeyMissing as missing:
            raise Unavailable(f"{missing}; sending the same request again is safe") from None

    def _token_key(self, key: InstallationKey) -> TokenSigningKey:
        if key.name not in self._token_keys:
            raise Internal(f"this server has no key that {key.use}")
        return self._token_keys[key.name]

    def _require_bundle_key(self) -> BundleKey:
        if self._bundle_key is None:
            raise Internal("this server has no bundle key")
        return self._bundle_key

    def _private_key(self, curve: Curve) -> bytes:
        """A private key of 32 bytes, by rejection sampling: reduction modulo the order would favour small
        scalars."""
        while True:
            candidate = self._entropy(PRIVATE_KEY_BYTES)
            if curve not in GROUP_ORDERS or 0 < int.from_bytes(candidate) < GROUP_ORDERS[curve]:
                return candidate
