"""The API key of an authentication proxy: the signer makes it, and stamps the proxy's requests with it.

Not here: the requests (`operations`), where the sealed key is stored.
"""

from __future__ import annotations

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from keystead.api.enums import Curve
from keystead.chains.curves import PRIVATE_KEY_BYTES
from keystead.keys.public_keys import public_key
from keystead.keys.sealing import DataKey, Purpose, SealContext
from keystead.organizations.kinds.data_key import Sealed
from keystead.pipeline.signer_values import AuthProxyKey


def new_auth_proxy_key(data_key: DataKey, organization_id: str, proxy_id: str, scalar: bytes) -> AuthProxyKey:
    """The sealed key with these 32 bytes as its private half."""
    return AuthProxyKey(
        sealed=data_key.seal(scalar, auth_proxy_key_context(organization_id, proxy_id)),
        public_key=public_key(Curve.P256, scalar).compressed.hex(),
    )


def auth_proxy_signature(
    data_key: DataKey, organization_id: str, proxy_id: str, sealed: Sealed, body: bytes
) -> bytes:
    """ECDSA over SHA-256 of the request's body, in DER. Raises SealBroken if the sealed key was changed."""
    scalar = data_key.open(sealed, auth_proxy_key_context(organization_id, proxy_id))
    assert len(scalar) == PRIVATE_KEY_BYTES
    key = ec.derive_private_key(int.from_bytes(scalar), ec.SECP256R1())
    return key.sign(body, ec.ECDSA(hashes.SHA256(), deterministic_signing=True))


def auth_proxy_key_context(organization_id: str, proxy_id: str) -> SealContext:
    """The context of a proxy's sealed key."""
    return SealContext(Purpose.AUTH_PROXY_KEY, organization_id, proxy_id)
