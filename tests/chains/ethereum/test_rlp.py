"""RLP: every value has one encoding, and decoding is linear in the length. An independent library agrees."""

from __future__ import annotations

import pytest
import rlp as independent
from hypothesis import given
from hypothesis import strategies as st

from keystead.chains.bounds import RLP_DEPTH_MAX
from keystead.chains.ethereum.rlp import Item, NotRlp, decode, encode, integer

ITEMS: st.SearchStrategy[Item] = st.recursive(
    st.binary(max_size=70), lambda inner: st.lists(inner, max_size=6), max_leaves=30
)


@given(ITEMS)
def test_there_and_back_as_the_independent_library_has_it(item: Item) -> None:
    written = independent.encode(item, infer_serializer=False)
    assert encode(item) == written
    depth = _depth(item)
    if depth <= RLP_DEPTH_MAX:
        assert decode(written) == item
    else:
        with pytest.raises(NotRlp, match="deep"):
            decode(written)


def _depth(item: Item) -> int:
    return 0 if isinstance(item, bytes) else 1 + max(map(_depth, item), default=0)


@given(st.binary(max_size=40) | st.binary(max_size=40).map(lambda data: b"\xc8" + data))
def test_what_is_accepted_is_written_the_same_way_again(data: bytes) -> None:
    try:
        item = decode(data)
    except NotRlp:
        return
    assert encode(item) == data
    assert independent.decode(data) == item


REFUSED = [
    ("nothing", ""),
    ("a byte that needs no prefix", "8100"),
    ("a short string written long", "b80161"),
    ("a length with a zero in front", "b90038" + "61" * 56),
    ("a short list written long", "f80180"),
    ("a string beyond the end", "8261"),
    ("a length beyond the end", "bf"),
    ("a length of 2^64 - 1", "bf" + "ff" * 8),
    ("a list beyond the end", "c2"),
    ("an item beyond its list", "c18261" + "62"),
    ("a byte too many", "8000"),
    ("lists in lists without end", "c1" * 7 + "c0"),
]


@pytest.mark.parametrize(("name", "data"), REFUSED, ids=[name for name, _ in REFUSED])
def test_refused(name: str, data: str) -> None:
    with pytest.raises(NotRlp):
        decode(bytes.fromhex(data))


def test_integers() -> None:
    assert [integer(value).hex() for value in (0, 1, 127, 128, 256)] == ["", "01", "7f", "80", "0100"]


def test_half_a_megabyte_of_brackets_is_refused() -> None:
    deep = b"\xc0"
    for _ in range(2_000):
        deep = _wrapped(deep)
    for data in (deep, _wrapped(b"\xc0" * 250_000) + b"\xc0" * 250_000, b"\xc1" * 500_000):
        with pytest.raises(NotRlp):
            decode(data)


def _wrapped(payload: bytes) -> bytes:
    if len(payload) < 56:
        return bytes([0xC0 + len(payload)]) + payload
    length = integer(len(payload))
    return bytes([0xF7 + len(length)]) + length + payload
