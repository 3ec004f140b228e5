"""The public halves of the installation's keys, as clients are configured with them."""

from __future__ import annotations

from keystead.chains.curves import PRIVATE_KEY_BYTES
from keystead.keys.public_keys import public_key
from keystead.pipeline.signer_values import PublicInstallationKey
from keystead.signer.installation_keys import InstallationKey


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
