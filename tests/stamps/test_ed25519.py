"""Weak Ed25519 keys: the forgery that they allow, and the refusal of every stamp by one of them."""

from __future__ import annotations

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from keystead.api.enums import ApiKeyCurve
from keystead.api.errors import Unauthenticated
from keystead.stamps.api_key import Stamp, verify_stamp
from keystead.stamps.ed25519 import check_public_key
from keystead.stamps.schemes import StampScheme
from keystead.stamps.signing import generate_api_key

P = 2**255 - 19
SIGN = 1 << 255


def encoded(number: int) -> bytes:
    return number.to_bytes(32, "little")


ORDER_8 = [
    bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"),
    bytes.fromhex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"),
]
LOW_ORDER = {
    "the identity": encoded(1),
    "order 2": encoded(P - 1),
    "order 4": encoded(0),
    "order 4, negative": encoded(SIGN),
    **{f"order 8, {number}": key for number, key in enumerate(ORDER_8)},
    **{
        f"order 8, {number}, negative": encoded(int.from_bytes(key, "little") | SIGN)
        for number, key in enumerate(ORDER_8)
    },
}
NOT_CANONICAL = {
    "the identity, plus p": encoded(P + 1),
    "the identity, negative": encoded(1 | SIGN),
    "order 2, negative": encoded((P - 1) | SIGN),
    "zero, plus p": encoded(P),
    "three, plus p": encoded(P + 3),
    "the largest": encoded(2**256 - 1),
}
WEAK = LOW_ORDER | NOT_CANONICAL


@pytest.mark.parametrize("key", LOW_ORDER.values(), ids=LOW_ORDER)
def test_the_library_takes_forgeries(key: bytes) -> None:
    """Without any private key: S is zero and R one of eight points. This is why such keys are refused."""
    forged = 0
    for number in range(64):
        for point in LOW_ORDER.values():
            try:
                Ed25519PublicKey.from_public_bytes(key).verify(point + bytes(32), b"message %d" % number)
                forged += 1
            except InvalidSignature:
                pass
    assert forged > 8


@pytest.mark.parametrize("key", WEAK.values(), ids=WEAK)
def test_a_weak_key_is_refused(key: bytes) -> None:
    with pytest.raises(ValueError, match="Ed25519 key"):
        check_public_key(key)


@pytest.mark.parametrize("key", WEAK.values(), ids=WEAK)
def test_no_stamp_by_a_weak_key_counts(key: bytes) -> None:
    """Even if the key was registered before this was checked."""
    for number in range(16):
        for point in LOW_ORDER.values():
            stamp = Stamp(key.hex(), StampScheme.API_ED25519, (point + bytes(32)).hex())
            with pytest.raises(Unauthenticated, match="could not verify api key signature"):
                verify_stamp(stamp, b"message %d" % number)


def test_other_valid_keys_are_accepted() -> None:
    for number in range(50):
        pair = generate_api_key(ApiKeyCurve.ED25519, seed=b"%d" % number)
        check_public_key(bytes.fromhex(pair.public_key))
