"""Issuers' keys in a file of the operator, for installations without access to the internet, and for tests.

Here: reading the file, `{"https://issuer": {"keys": [...]}, ...}`. Not here: the keys themselves (`key_sets`).
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from keystead.identities.key_sets import BadKeySet, KeySet


def pinned_key_sets(file: Path) -> dict[str, KeySet]:
    """The keys of each issuer in the file. Raises ValueError, naming the issuer, or OSError."""
    try:
        by_issuer = msgspec.json.decode(file.read_bytes(), type=dict[str, msgspec.Raw])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise ValueError("expected a JSON object with a JWK Set by issuer") from None
    key_sets = {}
    for issuer, jwks in by_issuer.items():
        try:
            key_sets[issuer] = KeySet(jwks)
        except BadKeySet as bad:
            raise ValueError(f"issuer {issuer[:200]!r}: {bad}") from None
    return key_sets
