"""Signatures of the three curves: ECDSA, Schnorr (BIP-340, BIP-341) and Ed25519.

Pure. Each signature is verified before it is returned, so that a fault of the machine cannot leak a key through a
wrong signature. It is verified under the public key on record, so that it is always by the key that the caller
named. Not here: which key may sign (`operations`), what is signed (`chains`).
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.asymmetric.utils import (
    Prehashed,
    decode_dss_signature,
    encode_dss_signature,
)

from keystead.api.enums import Curve
from keystead.api.errors import Internal, InvalidRequest
from keystead.chains.curves import GROUP_ORDERS
from keystead.chains.signatures import Signature, SignatureScheme
from keystead.chains.taproot import taproot_public_key, taproot_tweak
from keystead.keys.steps import Steps, complete
from keystead.primitives import secp256k1
from keystead.primitives.p256 import recovery_id
from keystead.primitives.secp256k1 import PUBLIC_KEYS_CACHED_MAX

_HALF: Final = 32
_PREHASHED = Prehashed(hashes.SHA256())
_DETERMINISTIC = ec.ECDSA(_PREHASHED, deterministic_signing=True)
_ECDSA = ec.ECDSA(_PREHASHED)

_SignDigest = Callable[[bytes], Signature]


class SignatureUnverified(Internal):
    """A new signature is wrong, or by the wrong key. It was discarded."""


def sign(
    curve: Curve,
    private_key: bytes,
    scheme: SignatureScheme,
    messages: Sequence[bytes],
    *,
    public_key: bytes,
) -> tuple[Signature, ...]:
    """Run `signatures` without interruption."""
    return complete(signatures(curve, private_key, scheme, messages, public_key=public_key))


def signatures(
    curve: Curve,
    private_key: bytes,
    scheme: SignatureScheme,
    messages: Sequence[bytes],
    *,
    public_key: bytes,
) -> Steps[tuple[Signature, ...]]:
    """One signature per message, in their order, by the 32 bytes of `private_key`, in one step for each signature.

    Each must verify under `public_key`: 33 or 65 bytes of SEC 1, or the 32 bytes of ed25519.

    Raises InvalidRequest for a scheme that the curve does not have and for a digest that is not 32 bytes. Raises
    SignatureUnverified and returns no signature if one does not verify.
    """
    signer_of = _SIGNERS.get((curve, scheme))
    if signer_of is None:
        raise InvalidRequest(f"a key of {curve} cannot sign with the scheme {scheme}")
    if scheme is not SignatureScheme.ED25519 and (odd := [m for m in messages if len(m) != _HALF]):
        raise InvalidRequest(f"a digest to sign has {_HALF} bytes, not {len(odd[0])}")
    signer, signed = signer_of(private_key, public_key), []
    for message in messages:
        signed.append(signer(message))
        yield
    return tuple(signed)


def _secp256k1(private_key: bytes, public_key: bytes) -> _SignDigest:
    def signature(digest: bytes) -> Signature:
        signed, id_ = secp256k1.sign_recoverable(private_key, digest)
        _require_verified(secp256k1.verifies(public_key, signed, digest) and id_ < 2)
        return Signature(signed[:_HALF], signed[_HALF:], id_)

    return signature


def _p256(private_key: bytes, public_key: bytes) -> _SignDigest:
    order = GROUP_ORDERS[Curve.P256]
    key = ec.derive_private_key(int.from_bytes(private_key), ec.SECP256R1())
    verifier = _p256_public_key(public_key)

    def signature(digest: bytes) -> Signature:
        r, s = decode_dss_signature(key.sign(digest, _DETERMINISTIC))
        s = min(s, order - s)
        try:
            verifier.verify(encode_dss_signature(r, s), digest, _ECDSA)
            parity = recovery_id(verifier, digest, r, s)
        except (InvalidSignature, ValueError):
            raise _unverified() from None
        return Signature(r.to_bytes(_HALF), s.to_bytes(_HALF), parity)

    return signature


@functools.lru_cache(maxsize=PUBLIC_KEYS_CACHED_MAX)
def _p256_public_key(public_key: bytes) -> ec.EllipticCurvePublicKey:
    return ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), public_key)


def _schnorr(private_key: bytes, public_key: bytes) -> _SignDigest:
    x_only = public_key[1 : 1 + _HALF]

    def signature(digest: bytes) -> Signature:
        signed = secp256k1.sign_schnorr(private_key, digest, os.urandom(_HALF))
        _require_verified(secp256k1.verifies_schnorr(x_only, signed, digest))
        return Signature(signed[:_HALF], signed[_HALF:])

    return signature


def _schnorr_key_path(private_key: bytes, public_key: bytes) -> _SignDigest:
    return _schnorr(taproot_private_key(private_key), taproot_public_key(public_key[1 : 1 + _HALF]))


def taproot_private_key(private_key: bytes) -> bytes:
    """The 32 bytes that sign for the output key of `private_key` without a script tree (BIP-341)."""
    order = GROUP_ORDERS[Curve.SECP256K1]
    public_key = secp256k1.public_key(private_key)
    scalar = int.from_bytes(private_key)
    if public_key[0] == 3:  # the internal key has an even y
        scalar = order - scalar
    return ((scalar + int.from_bytes(taproot_tweak(public_key[1:]))) % order).to_bytes(_HALF)


def _ed25519(private_key: bytes, public_key: bytes) -> _SignDigest:
    key = ed25519.Ed25519PrivateKey.from_private_bytes(private_key)
    verifier = ed25519.Ed25519PublicKey.from_public_bytes(public_key)

    def signature(message: bytes) -> Signature:
        signed = key.sign(message)
        try:
            verifier.verify(signed, message)
        except InvalidSignature:
            raise _unverified() from None
        return Signature(signed[:_HALF], signed[_HALF:])

    return signature


def _require_verified(verified: bool) -> None:
    if not verified:
        raise _unverified()


def _unverified() -> SignatureUnverified:
    return SignatureUnverified("a new signature does not verify and was discarded")


_SIGNERS: Final[dict[tuple[Curve, SignatureScheme], Callable[[bytes, bytes], _SignDigest]]] = {
    (Curve.SECP256K1, SignatureScheme.ECDSA): _secp256k1,
    (Curve.SECP256K1, SignatureScheme.SCHNORR): _schnorr,
    (Curve.SECP256K1, SignatureScheme.SCHNORR_KEY_PATH): _schnorr_key_path,
    (Curve.P256, SignatureScheme.ECDSA): _p256,
    (Curve.ED25519, SignatureScheme.ED25519): _ed25519,
}
