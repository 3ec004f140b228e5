"""From the seed of a wallet to the private key at a path: BIP-32 on secp256k1, SLIP-10 on P-256 and ed25519.

Pure. The child step is implemented here, because the usual library (bip_utils) takes most of a second to import
and several times as long for each key. Tests compare it with the published vectors and with that library. Not
here: paths as text (`chains.paths`), public keys (`public_keys`).
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from keystead.api.enums import Curve
from keystead.chains.curves import GROUP_ORDERS, PRIVATE_KEY_BYTES
from keystead.chains.paths import HARDENED, effective_segments
from keystead.keys.public_keys import public_key
from keystead.keys.steps import Steps, complete
from keystead.primitives.lru import Lru

_MASTER_SALTS = {
    Curve.SECP256K1: b"Bitcoin seed",
    Curve.P256: b"Nist256p1 seed",
    Curve.ED25519: b"ed25519 seed",
}


PARENTS_KEPT: Final = 4_096
"""Most cached public keys of parents: 33 bytes each, with their paths."""

ParentKey = Callable[[Curve, tuple[int, ...], bytes], bytes]
"""Returns the compressed public key of the private key at a path of one wallet."""


def computed_parent(curve: Curve, _: tuple[int, ...], private_key: bytes) -> bytes:
    return public_key(curve, private_key).compressed


class KnownParents:
    """A cache of the public keys of parents, by wallet and path. To compute them is most of the cost of an
    account's key.

    From a public key without its chain code no child can be derived, so nothing here is secret.
    """

    def __init__(self) -> None:
        self._kept = Lru[tuple[bytes, Curve, tuple[int, ...]], bytes](PARENTS_KEPT)

    def of(self, wallet: bytes) -> ParentKey:
        """The public keys of the wallet that these bytes identify. The same bytes must never identify another
        seed."""
        return partial(self._parent, wallet)

    def _parent(self, wallet: bytes, curve: Curve, path: tuple[int, ...], private_key: bytes) -> bytes:
        place = (wallet, curve, path)
        known = self._kept.get(place)
        if known is None:
            known = computed_parent(curve, path, private_key)
            self._kept.put(place, known)
        return known

    def forget(self) -> None:
        self._kept.clear()


class _ExtendedKey:
    """An extended private key, and its children that were derived so far."""

    __slots__ = ("chain_code", "children", "key", "public_key")

    def __init__(self, key: bytes, chain_code: bytes) -> None:
        self.key = key
        self.chain_code = chain_code
        self.children: dict[int, _ExtendedKey] = {}
        self.public_key: bytes | None = None


class DerivationTree:
    """The private keys of one wallet during one call. A common prefix of several paths is derived once."""

    def __init__(self, seed: bytes, parent_key: ParentKey = computed_parent) -> None:
        self._seed = seed
        self._parent_key = parent_key
        self._roots: dict[Curve, _ExtendedKey] = {}

    def private_key(self, curve: Curve, segments: Sequence[int]) -> Steps[bytes]:
        """The 32-byte private key at `segments` (from `paths.parse_path`), in one step for each child.

        On ed25519 every segment is derived hardened. Without segments, it is the master key.
        """
        if curve not in self._roots:
            self._roots[curve] = _ExtendedKey(*_master(curve, self._seed))
        node, path = self._roots[curve], effective_segments(curve, segments)
        for depth, segment in enumerate(path):
            if segment not in node.children:
                node.children[segment] = self._derive_child(curve, node, segment, path[:depth])
                yield
            node = node.children[segment]
        return node.key

    def _derive_child(self, curve: Curve, node: _ExtendedKey, segment: int, path: tuple[int, ...]) -> _ExtendedKey:
        """The child of the node at `path`."""
        if segment & HARDENED:
            return _ExtendedKey(*_child(curve, node.key, node.chain_code, segment, b"\0" + node.key))
        if node.public_key is None:
            node.public_key = self._parent_key(curve, path, node.key)
        return _ExtendedKey(*_child(curve, node.key, node.chain_code, segment, node.public_key))


def derive_private_key(
    curve: Curve, seed: bytes, segments: Sequence[int], parent_key: ParentKey = computed_parent
) -> bytes:
    """The 32-byte private key at `segments` under a seed of 16 to 64 bytes; see `DerivationTree.private_key`."""
    return complete(DerivationTree(seed, parent_key).private_key(curve, segments))


def _master(curve: Curve, seed: bytes) -> tuple[bytes, bytes]:
    order = GROUP_ORDERS.get(curve)
    block = hmac.digest(_MASTER_SALTS[curve], seed, "sha512")
    while order is not None and not 0 < int.from_bytes(block[:PRIVATE_KEY_BYTES]) < order:
        block = hmac.digest(_MASTER_SALTS[curve], block, "sha512")
    return block[:PRIVATE_KEY_BYTES], block[PRIVATE_KEY_BYTES:]


def _child(curve: Curve, key: bytes, chain_code: bytes, segment: int, parent: bytes) -> tuple[bytes, bytes]:
    """`parent`: the 33 bytes that represent the parent in the hash."""
    number = segment.to_bytes(4)
    order = GROUP_ORDERS.get(curve)
    block = hmac.digest(chain_code, parent + number, "sha512")
    if order is None:
        return block[:PRIVATE_KEY_BYTES], block[PRIVATE_KEY_BYTES:]
    while True:
        tweak = int.from_bytes(block[:PRIVATE_KEY_BYTES])
        child = (tweak + int.from_bytes(key)) % order
        if tweak < order and child:
            return child.to_bytes(PRIVATE_KEY_BYTES), block[PRIVATE_KEY_BYTES:]
        # If BIP-32 has no key at this number, SLIP-10 hashes again. That happens about once in 2^32 steps on
        # P-256; on secp256k1 it is too rare (2^-127) for the two rules to differ in practice.
        block = hmac.digest(chain_code, b"\x01" + block[PRIVATE_KEY_BYTES:] + number, "sha512")
