"""Compact JWTs: every text of claims survives published clients' parser, and malformed tokens are refused."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keystead.sessions.compact_jwt import MalformedToken, read_compact, signing_input, with_signature


@given(st.dictionaries(st.text(max_size=8), st.text() | st.integers(), max_size=6))
def test_a_payload_is_read_by_a_parser_of_standard_base64(claims: dict[str, str | int]) -> None:
    payload = signing_input({"alg": "ES256"}, claims).decode().partition(".")[2]
    assert not {"-", "_"} & set(payload)
    assert json.loads(base64.b64decode(payload + "=" * (-len(payload) % 4), validate=True)) == claims


@pytest.mark.parametrize("text", ["?", "a?", "ab?", ">>>", "~~~~", "\x7f\x7f\x7f"])
def test_characters_that_lead_to_the_other_alphabet(text: str) -> None:
    payload = signing_input({}, {"scope": text}).decode().partition(".")[2]
    assert not {"-", "_"} & set(payload)


def test_a_token_is_parsed_into_the_parts_that_it_was_made_of() -> None:
    signed = signing_input({"alg": "ES256"}, {"exp": 1})
    token = read_compact(with_signature(signed, bytes(range(64))), characters_max=200)
    assert (token.signing_input, token.signature) == (signed, bytes(range(64)))
    assert (token.header, token.payload) == (b'{"alg":"ES256"}', b'{"exp":1}')


SIGNATURE = base64.urlsafe_b64encode(bytes(64)).decode().rstrip("=")


@pytest.mark.parametrize(
    "token",
    [
        pytest.param("", id="empty"),
        pytest.param("a.b", id="two parts"),
        pytest.param(f"YQ.YQ.{SIGNATURE}.YQ", id="four parts"),
        pytest.param(f"Y+.YQ.{SIGNATURE}", id="standard base64"),
        pytest.param(f"YQ.YQ.{SIGNATURE[:-2]}", id="a signature of 63 bytes"),
        pytest.param(f"ÿ.YQ.{SIGNATURE}", id="a character that is not ASCII"),
        pytest.param("YQ." * 100, id="too long"),
    ],
)
def test_malformed(token: str) -> None:
    with pytest.raises(MalformedToken):
        read_compact(token, characters_max=150)
