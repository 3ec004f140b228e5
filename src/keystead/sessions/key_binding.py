"""How an ID token is bound to a client's key: its nonce is a digest of the key's text.

Not here: the token's signature and times (`identities`).
"""

from __future__ import annotations

import hmac
from hashlib import sha256


def nonce_of(public_key: str) -> str:
    """The nonce for a key: lower-case hex of SHA-256 over the key's text as sent, not over its decoded bytes."""
    return sha256(public_key.encode()).hexdigest()


def is_bound(nonce: str | None, tknonce: str | None, public_key: str) -> bool:
    """Whether the claim `nonce` or the claim `tknonce` names this key."""
    expected = nonce_of(public_key)
    return any(
        given is not None and hmac.compare_digest(given.encode(), expected.encode()) for given in (nonce, tknonce)
    )
