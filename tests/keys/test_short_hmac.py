"""HMAC of short keys: what the standard library makes of the same."""

from __future__ import annotations

import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keystead.keys.short_hmac import hmac_sha256, hmac_sha512


@given(st.binary(max_size=64), st.binary(max_size=300))
def test_sha256(key: bytes, message: bytes) -> None:
    assert hmac_sha256(key, message) == hmac.digest(key, message, "sha256")


@given(st.binary(max_size=128), st.binary(max_size=300))
def test_sha512(key: bytes, message: bytes) -> None:
    assert hmac_sha512(key, message) == hmac.digest(key, message, "sha512")


@pytest.mark.parametrize(("digest", "block"), [(hmac_sha256, 64), (hmac_sha512, 128)])
def test_a_key_longer_than_a_block_is_refused(digest: object, block: int) -> None:
    assert callable(digest)
    digest(bytes(block), b"")
    with pytest.raises(ValueError, match=f"{block + 1} bytes"):
        digest(bytes(block + 1), b"")
