"""Plain CBOR, as authenticators write it, is read to its end. CBOR that costs more than its bytes is refused."""

from __future__ import annotations

from typing import Any, NamedTuple

import cbor2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keystead.stamps.bounds import CBOR_NESTING_MAX
from keystead.stamps.cbor import plain_item_end

SHARED, REFERENCE = b"\xd8\x1c", b"\xd8\x1d"


def shared_pairs(levels: int) -> bytes:
    """A map with one key, a list: each pair holds the pair before it twice, so hashing takes 2^levels steps."""
    pairs = [SHARED + b"\x82" + 2 * (REFERENCE + cbor2.dumps(level)) for level in range(levels)]
    items = [SHARED + b"\x81\x00", *pairs]
    return b"\xa1\x98" + bytes([len(items)]) + b"".join(items) + b"\x00"


def pattern(sets: int) -> bytes:
    """A regular expression that takes 4 ms for each set to compile, and 7 bytes."""
    return b"\xd8\x23" + cbor2.dumps("(?i)" + "[\0-\uffff]" * sets)


class Refused(NamedTuple):
    name: str
    data: bytes
    why: str


REFUSED = [
    Refused("nothing", b"", "ends too early"),
    Refused("shared values as a key", shared_pairs(60), "key of a map"),
    Refused("shared values", shared_pairs(60)[1:], "tags"),
    Refused("a regular expression", pattern(5_000), "tags"),
    Refused("a decimal fraction", b"\xc4\x82\x00" + b"\xc2" + cbor2.dumps(b"\xff" * 40_000), "tags"),
    Refused("a message of mail", b"\xd8\x24" + cbor2.dumps("a: b\n\n"), "tags"),
    Refused("a tag behind other items", b"\x83\x01\x02\xc1\x00", "tags"),
    Refused("a list as a key", b"\xa1\x80\x00", "key of a map"),
    Refused("a list of a length that is not said", b"\x9f\xff", "definite"),
    Refused("bytes of a length that is not said", b"\x5f\xff", "definite"),
    Refused("a reserved length", b"\x1c", "definite"),
    Refused("a length that is cut off", b"\x19\x01", "ends too early"),
    Refused("bytes that are cut off", b"\x42\x00", "ends too early"),
    Refused("2^64 bytes", b"\x5b" + b"\xff" * 8, "ends too early"),
    Refused("2^64 items", b"\x9b" + b"\xff" * 8, "ends too early"),
    Refused("a map that is cut off", b"\xa2\x01\x02\x03", "ends too early"),
    Refused("lists in lists", b"\x81" * (CBOR_NESTING_MAX + 1) + b"\x00", "nested"),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_refused(case: Refused) -> None:
    with pytest.raises(ValueError, match=case.why):
        plain_item_end(case.data)


def test_where_an_item_ends() -> None:
    first, second = cbor2.dumps({1: 2, 3: -7, -1: [b"x", "y", None, True, 1.5]}), cbor2.dumps("more")
    assert plain_item_end(first + second) == len(first)
    assert plain_item_end(first + second, len(first)) == len(first + second)


_SCALARS = st.none() | st.booleans() | st.integers(-(2**64), 2**64 - 1) | st.floats() | st.binary() | st.text()
_KEYS = st.integers(-(2**64), 2**64 - 1) | st.text() | st.binary()
_PLAIN = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_KEYS, inner, max_size=4),
    max_leaves=CBOR_NESTING_MAX - 1,
)


@given(_PLAIN)
def test_what_an_independent_writer_writes(value: Any) -> None:
    data = cbor2.dumps(value)
    assert plain_item_end(data) == len(data)


@given(st.binary(max_size=60))
def test_what_is_plain_an_independent_reader_reads_to_the_same_end(data: bytes) -> None:
    try:
        end = plain_item_end(data)
    except ValueError:
        return
    try:
        read = cbor2.loads(data[:end])
    except cbor2.CBORDecodeError:  # text that is not UTF-8, a simple value without a meaning
        return
    assert plain_item_end(cbor2.dumps(read)) == len(cbor2.dumps(read))
