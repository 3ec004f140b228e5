"""One-time codes in the signer: the key to which an attempt is encrypted, opening an attempt, the stored digest.

Here: the functions that need the organization's data key. Not here: making a code and comparing digests
(`operations`), signing (`token_key`).
"""

from __future__ import annotations

import msgspec

from keystead.api.errors import InvalidRequest
from keystead.api.secret_fields import repr_without_secrets
from keystead.keys.bundles import BundleBroken, open_sealed
from keystead.keys.public_keys import new_p256_key
from keystead.keys.sealing import DataKey, Purpose, SealContext
from keystead.organizations.kinds.data_key import Sealed
from keystead.pipeline.signer_values import ClientMessage, OtpAttempt

_WRONG_ATTEMPT = "failed to decrypt bundle: field `parameters.encryptedOtpBundle`"


class _CodeAttempt(msgspec.Struct, frozen=True):
    otp_code: str
    public_key: str

    __repr__ = repr_without_secrets


def new_otp_key(data_key: DataKey, organization_id: str, otp_id: str) -> tuple[Sealed, bytes]:
    """A new P-256 key pair: its sealed private half, and its point (65 bytes). The randomness comes from the
    operating system."""
    secret, key = new_p256_key()
    point = key.uncompressed
    assert point is not None
    return data_key.seal(secret, otp_target_context(organization_id, otp_id)), point


def open_attempt(
    data_key: DataKey, organization_id: str, otp_id: str, sealed: Sealed, message: ClientMessage
) -> OtpAttempt:
    """The code and the key in an attempt. Raises InvalidRequest if it does not open or has other contents.

    Raises SealBroken if the stored key was changed.
    """
    secret = data_key.open(sealed, otp_target_context(organization_id, otp_id))
    try:
        plaintext = open_sealed(secret, message.encapped, message.ciphertext)
    except BundleBroken:
        raise InvalidRequest(
            f"{_WRONG_ATTEMPT}: it does not open with the key of this code; encrypt it to the key in "
            "otpEncryptionTargetBundle"
        ) from None
    try:
        attempt = msgspec.json.decode(plaintext, type=_CodeAttempt)
        return msgspec.convert({"code": attempt.otp_code, "public_key": attempt.public_key}, OtpAttempt)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise InvalidRequest(f'{_WRONG_ATTEMPT}: expected {{"otp_code": text, "public_key": text}} in it') from None


def code_digest(data_key: DataKey, organization_id: str, otp_id: str, code: str) -> bytes:
    """A digest of 32 bytes for this code's id. Without the data key it reveals nothing about the code."""
    context = SealContext(Purpose.ONE_TIME_CODE, organization_id=organization_id, record_id=otp_id)
    return data_key.digest(code.encode(), context)


def message_context(organization_id: str, message_id: str) -> SealContext:
    """The context of an outgoing message."""
    return SealContext(Purpose.MESSAGE, organization_id=organization_id, record_id=message_id)


def otp_target_context(organization_id: str, otp_id: str) -> SealContext:
    """The context of the key to which a client encrypts its attempts at a code."""
    return SealContext(Purpose.OTP_TARGET, organization_id=organization_id, record_id=otp_id)
