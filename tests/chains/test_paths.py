"""Paths: what is read, what is refused and how, and which spellings name the same key."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keystead.api.enums import Curve
from keystead.api.errors import InvalidRequest
from keystead.chains.bounds import PATH_DEPTH_MAX
from keystead.chains.paths import HARDENED, comparison_form, effective_segments, parse_path, path_text

H = HARDENED


class Read(NamedTuple):
    name: str
    path: str
    segments: tuple[int, ...]
    canonical: str


READ = [
    Read("ethereum", "m/44'/60'/0'/0/0", (44 | H, 60 | H, H, 0, 0), "m/44'/60'/0'/0/0"),
    Read("one segment", "m/0", (0,), "m/0"),
    Read("h for hardened", "m/44h/1", (44 | H, 1), "m/44'/1"),
    Read("H for hardened", "m/44H/1", (44 | H, 1), "m/44'/1"),
    Read("largest number", "m/2147483647'/2147483647", (H | H - 1, H - 1), "m/2147483647'/2147483647"),
    Read("leading zeros", "m/044'/0000000000", (44 | H, 0), "m/44'/0"),
    Read("deepest", "m" + "/0'" * PATH_DEPTH_MAX, (H,) * PATH_DEPTH_MAX, "m" + "/0'" * PATH_DEPTH_MAX),
    Read(
        "longest",
        "m" + "/2147483647'" * PATH_DEPTH_MAX,
        (2 * H - 1,) * PATH_DEPTH_MAX,
        "m" + "/2147483647'" * PATH_DEPTH_MAX,
    ),
]


@pytest.mark.parametrize("case", READ, ids=lambda case: case.name)
def test_read(case: Read) -> None:
    assert parse_path(case.path) == case.segments
    assert path_text(case.segments) == case.canonical


REFUSED = {
    "empty": "",
    "root alone": "m",
    "root and slash": "m/",
    "trailing slash": "m/0/",
    "double slash": "m//0",
    "leading slash": "/m/0",
    "no root": "44'/60'",
    "public root": "M/0",
    "number too large": "m/2147483648",
    "number far too large": "m/99999999999999999999",
    "negative": "m/-1",
    "plus sign": "m/+1",
    "hexadecimal": "m/0x2c",
    "underscore": "m/1_0",
    "letters": "m/abc",
    "mark alone": "m/'",
    "two marks": "m/0''",
    "mark before number": "m/'0",
    "typographic mark": "m/44’/0",
    "digit of another script": "m/٣",
    "space": "m/ 0",
    "line break": "m/0\n",
    "too deep": "m" + "/0" * (PATH_DEPTH_MAX + 1),
    "too long": "m/" + "0" * 10_000,
}


@pytest.mark.parametrize("path", REFUSED.values(), ids=REFUSED.keys())
def test_refused(path: str) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        parse_path(path)
    message = refusal.value.message
    assert message.startswith("invalid path")
    assert len(message) < 250
    assert message.isascii()
    assert message.isprintable()


SAME_KEY = [
    ("spelling of the mark", Curve.SECP256K1, "m/44'/0", "m/44h/0", True),
    ("leading zeros", Curve.SECP256K1, "m/44'/0", "m/044'/00", True),
    ("hardening differs", Curve.SECP256K1, "m/44'/0", "m/44'/0'", False),
    ("hardening differs", Curve.P256, "m/44'/0", "m/44'/0'", False),
    ("hardening differs, but is implied", Curve.ED25519, "m/44'/0", "m/44'/0'", True),
    ("another number", Curve.ED25519, "m/44'/0", "m/44'/1", False),
]


@pytest.mark.parametrize(("name", "curve", "one", "other", "same"), SAME_KEY)
def test_comparison_form(name: str, curve: Curve, one: str, other: str, same: bool) -> None:
    assert (comparison_form(curve, one) == comparison_form(curve, other)) is same


def test_comparison_form_refuses_text_that_is_not_a_path() -> None:
    with pytest.raises(InvalidRequest, match=r"^invalid path"):
        comparison_form(Curve.ED25519, "m")


def test_ed25519_hardens_every_segment() -> None:
    assert effective_segments(Curve.ED25519, (44 | H, 0)) == (44 | H, H)
    assert effective_segments(Curve.SECP256K1, (44 | H, 0)) == (44 | H, 0)


@settings(max_examples=50)
@given(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=PATH_DEPTH_MAX))
def test_canonical_text_reads_back(segments: list[int]) -> None:
    assert parse_path(path_text(segments)) == tuple(segments)
