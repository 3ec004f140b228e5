"""The shapes of activities: every type that policies or MFA policies decide about, in each variant, with the
keywords and parameters that it fills.

Data, and sets of shapes as the bits of an integer, so that an expression can be analyzed for all shapes at once.
Not here: the analysis (`linting.condition_analysis`), the values (`operations`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Final

import msgspec

from keystead.api.public_schema import ACTIVITY_TYPES
from keystead.policies.language.namespaces import PARAMS
from keystead.policies.resources import ROOT_ONLY, attributes_of

_SIGNERS = (("wallet", "wallet_account"), ("private_key",))
"""The keywords of the key that signs: of an account of a wallet, or of a private key."""
_TRANSACTIONS = {
    "TRANSACTION_TYPE_ETHEREUM": ("eth.tx",),
    "TRANSACTION_TYPE_SOLANA": ("solana.tx",),
    "TRANSACTION_TYPE_BITCOIN": ("bitcoin.tx",),
    "TRANSACTION_TYPE_TRON": ("tron.tx",),
    "TRANSACTION_TYPE_TEMPO": ("tempo.tx",),
}
_PAYLOADS: Mapping[str, tuple[str, ...]] = {
    "PAYLOAD_ENCODING_HEXADECIMAL": (),
    "PAYLOAD_ENCODING_TEXT_UTF8": (),
    "PAYLOAD_ENCODING_EIP712": ("eth.eip_712",),
    "PAYLOAD_ENCODING_EIP7702_AUTHORIZATION": ("eth.eip_7702_authorization",),
}
_VARIANTS: Mapping[str, tuple[str, Mapping[str, tuple[str, ...]]]] = {
    "SIGN_TRANSACTION": ("type", _TRANSACTIONS),
    "SIGN_RAW_PAYLOAD": ("encoding", _PAYLOADS),
    "SIGN_RAW_PAYLOADS": ("encoding", _PAYLOADS),
}
"""For some kinds: the parameter whose value determines the keywords, and the keywords of each value."""
_ALWAYS: Mapping[str, tuple[str, ...]] = {
    "ETH_SEND_TRANSACTION": ("eth.tx",),
    "SOL_SEND_TRANSACTION": ("solana.tx",),
    "EXPORT_WALLET": ("wallet",),
    "EXPORT_WALLET_ACCOUNT": ("wallet", "wallet_account"),
    "EXPORT_PRIVATE_KEY": ("private_key",),
    "EXPORT_SECRETS": ("secret",),
    "DELETE_SECRETS": ("secret",),
    "DELETE_WALLETS": ("wallets",),
}
"""For some kinds: the keywords that every activity of the kind fills."""


class ActivityShape(msgspec.Struct, frozen=True):
    """One activity type in one variant. `known`: the values that are known, by path. `present`: the paths that it
    fills and that some other shape does not fill."""

    kind: str
    known: Mapping[str, str]
    present: frozenset[str]


class ActivityShapes(msgspec.Struct, frozen=True):
    """All shapes. A set of shapes is an integer: bit n stands for shape n.

    `present`: for each path that not every shape fills, the set of shapes that fill it. `known`: for each path, its
    values and the set of shapes with each value. `governed`: the shapes that policies decide about.
    """

    shapes: tuple[ActivityShape, ...]
    governed: int
    present: Mapping[str, int]
    known: Mapping[str, Mapping[str, int]]

    @property
    def all_shapes(self) -> int:
        return (1 << len(self.shapes)) - 1

    def kinds_in(self, subset: int) -> tuple[frozenset[str], frozenset[str]]:
        """The kinds of activity whose shapes are all in this set, and the kinds with some shapes in it and some
        not."""
        inside = {shape.kind for bit, shape in enumerate(self.shapes) if subset >> bit & 1}
        outside = {shape.kind for bit, shape in enumerate(self.shapes) if not subset >> bit & 1}
        return frozenset(inside - outside), frozenset(inside & outside)


def _shapes_of(activity_type: str) -> Iterator[ActivityShape]:
    attributes = attributes_of(activity_type)
    assert attributes is not None
    kind = attributes.kind
    named = PARAMS.get(kind, {})
    params = frozenset(f"activity.params.{name}" for name in named)
    activity_values = {
        "activity.type": activity_type,
        "activity.kind": kind,
        "activity.resource": attributes.resource,
        "activity.action": attributes.action,
    }
    parameter, variants = _VARIANTS.get(kind, ("", {"": ()}))
    signers = _SIGNERS if attributes.action == "SIGN" else ((),)
    for (value, keywords), signer in product(variants.items(), signers):
        known = activity_values | ({f"activity.params.{parameter}": value} if parameter in named else {})
        yield ActivityShape(kind, known, params.union(keywords, signer, _ALWAYS.get(kind, ())))


def _bits(numbers: Iterable[int]) -> int:
    return sum(1 << number for number in numbers)


def _activity_shapes() -> ActivityShapes:
    decided = sorted(name for name in ACTIVITY_TYPES if attributes_of(name))
    shapes = [shape for activity_type in decided for shape in _shapes_of(activity_type)]
    present: dict[str, list[int]] = {path: [] for path in _keyword_paths()}
    known: dict[str, dict[str, list[int]]] = {}
    for bit, shape in enumerate(shapes):
        for path in shape.present:
            present.setdefault(path, []).append(bit)
        for path, value in shape.known.items():
            known.setdefault(path, {}).setdefault(value, []).append(bit)
    return ActivityShapes(
        shapes=tuple(shapes),
        governed=_bits(bit for bit, shape in enumerate(shapes) if shape.kind not in ROOT_ONLY),
        present={path: _bits(bits) for path, bits in present.items()},
        known={path: {value: _bits(bits) for value, bits in values.items()} for path, values in known.items()},
    )


def _keyword_paths() -> Iterator[str]:
    yield from (path for paths in (*_ALWAYS.values(), *_SIGNERS) for path in paths)
    yield from (path for variants in (_TRANSACTIONS, _PAYLOADS) for paths in variants.values() for path in paths)


ACTIVITY_SHAPES: Final = _activity_shapes()
