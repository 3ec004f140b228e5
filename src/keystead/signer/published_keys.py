"""The public halves of the installation's keys, as clients are configured with them."""

from __future__ import annotations

from keystead.chains.curves import PRIVATE_KEY_BYTES
from keystead.keys.public_keys import public_key
from keystead.pipeline.signer_values import PublicInstallationKey
from keystead.signer.installation_keys import InstallationKey


def published_key(key: InstallationKey, scalars: bytes) -> PublicInstallationKey:
    """`scalars`: the private keys of its value, 32 bytes each."""
    keys = [
        public_key(key.curve, scalars[at : at + PRIVATE_KEY_BYTES])
        for at in range(0, len(scalars), PRIVATE_KEY_BYTES)
    ]
    points = [one.uncompressed or one.compressed for one in keys]
    return PublicInstallationKey(
        name=key.name,
        use=key.use,
        public_key=points[-1].hex(),
        composite_public_key=b"".join(points).hex() if key.is_composite else None,
    )
