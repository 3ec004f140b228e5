"""Refusals that name the field: strict JSON, types, unknown and missing members, ambiguous bodies."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from keystead.api.decoding import Label, Notes, decoder, refuse_ambiguous
from keystead.api.enums import AddressFormat
from keystead.api.errors import InvalidRequest
from keystead.api.identifiers import Uuid, new_id
from keystead.api.parameters import RequestStruct

ID = "0197b0a6-2b8b-7a52-8e2f-8a4b6e1f2c3d"


class Side(StrEnum):
    BUY = "SIDE_BUY"
    SELL = "SIDE_SELL"


class Item(RequestStruct, frozen=True):
    item_name: Label
    side: Side = Side.BUY


class Request(RequestStruct, frozen=True):
    organization_id: Uuid
    items: Annotated[tuple[Item, ...], Meta(max_length=2)] = ()
    notes: Notes | None = None
    order: Annotated[int, Meta(ge=0)] = 0
    network: AddressFormat | None = None


GOOD = [
    {},
    {"items": []},
    {"items": [{"itemName": "a"}]},
    {"items": [{"itemName": "Zoë 漢字 🔑", "side": "SIDE_BUY"}]},
    {"items": [{"itemName": "n" * 255}]},
    {"notes": None},
    {"notes": "line\r\n\tline"},
    {"notes": "n" * 2000},
    {"order": 2**63 - 1},
]


@pytest.mark.parametrize("members", GOOD, ids=str)
def test_good(members: dict[str, object]) -> None:
    assert decoder(Request).decode(json.dumps({"organizationId": ID, **members}).encode()).organization_id == ID


BAD = [
    ("{}", "invalid request body: missing field `organizationId`"),
    ('{"organizationId":1}', "malformed organization ID provided: `organizationId`: expected text, got a number"),
    (
        '{"organizationId":"x"}',
        "malformed organization ID provided: `organizationId`: expected a UUID in lower case with hyphens",
    ),
    (
        json.dumps({"organizationId": f"{ID}\n"}),
        "malformed organization ID provided: `organizationId`: expected a UUID",
    ),
    ("[]", "invalid request body: expected an object, got a list"),
    ("", "bad request body: not valid JSON: "),
    ("{", "bad request body: not valid JSON: "),
    ("[" * 100_000, "invalid request body: expected an object, got a list"),
]
BAD_MEMBERS = [
    ('"more":1', "invalid request body: unknown field `more`"),
    ('"organization_id":1', "invalid request body: unknown field `organization_id`: did you mean organizationId?"),
    (
        '"items":[{"itemName":"a","itmeName":"b"}]',
        "invalid request body: unknown field `items[0].itmeName`: did you mean itemName?",
    ),
    ('"items":{}', "invalid request body: field `items`: expected a list, got an object"),
    ('"items":[{},{}]', "invalid request body: missing field `items[0].itemName`"),
    (
        '"items":[{"itemName":"a"},{"itemName":2}]',
        "invalid request body: field `items[1].itemName`: expected text, got a number",
    ),
    ('"items":[{"itemName":"a","more":1}]', "invalid request body: unknown field `items[0].more`"),
    (
        '"items":[{"itemName":"a","side":"SELL"}]',
        "invalid request body: field `items[0].side`: unknown value 'SELL': expected SIDE_BUY or SIDE_SELL",
    ),
    (
        '"network":"testnet_p2tr"',
        "invalid request body: field `network`: unknown value 'testnet_p2tr': one of 38 words is expected",
    ),
    (
        '"network":"ADDRESS_FORMAT_ETHERIUM"',
        "invalid request body: field `network`: unknown value 'ADDRESS_FORMAT_ETHERIUM': one of 38 words is "
        "expected, perhaps ADDRESS_FORMAT_ETHEREUM or ",
    ),
    (
        '"items":[{"itemName":""}]',
        "invalid request body: field `items[0].itemName`: expected text of at least 1 character",
    ),
    (
        '"items":[{"itemName":"%s"}]' % ("n" * 256),
        "invalid request body: field `items[0].itemName`: expected text of at most 255 characters",
    ),
    (
        '"items":[{"itemName":"a\\u0000"}]',
        "invalid request body: field `items[0].itemName`: expected text without control characters",
    ),
    (
        '"items":[{"itemName":"a\\u2028b"}]',
        "invalid request body: field `items[0].itemName`: expected text without control characters",
    ),
    (
        '"items":[{"itemName":"a\\u0085b"}]',
        "invalid request body: field `items[0].itemName`: expected text without control characters",
    ),
    (
        '"items":[{"itemName":"a"},{"itemName":"a"},{"itemName":"a"}]',
        "invalid request body: field `items`: expected a list of at most 2 items",
    ),
    ('"notes":"a\\u0000"', "invalid request body: field `notes`: expected text without control characters"),
    (
        '"notes":"%s"' % ("n" * 2001),
        "invalid request body: field `notes`: expected text of at most 2000 characters",
    ),
    ('"order":-1', "invalid request body: field `order`: expected a whole number of at least 0"),
    ('"order":"1"', "invalid request body: field `order`: expected a whole number, got text"),
    ('"order":1.5', "invalid request body: field `order`: expected a whole number, got a number with a fraction"),
    ('"order":true', "invalid request body: field `order`: expected a whole number, got true or false"),
    ('"order":null', "invalid request body: field `order`: expected a whole number, got null"),
    ('"order":NaN', "bad request body: not valid JSON: "),
]


@pytest.mark.parametrize(
    ("body", "message"),
    BAD + [(f'{{"organizationId":"{ID}",{member}}}', message) for member, message in BAD_MEMBERS],
    ids=[message[:80] for _, message in BAD + BAD_MEMBERS],
)
def test_bad(body: str, message: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        decoder(Request).decode(body.encode())
    assert refused.value.message.startswith(message)
    is_id = message.startswith("malformed organization ID")
    assert refused.value.machine_code == ("INVALID_ORGANIZATION_ID" if is_id else "REQUEST_INVALID")


@pytest.mark.parametrize("body", [b'{"organizationId":"\xff"}', b"\xff", b"\xef\xbb\xbf{}", b'{"\xff":1}'])
def test_no_utf8(body: bytes) -> None:
    with pytest.raises(InvalidRequest):
        decoder(Request).decode(body)


def test_paths_begin_where_the_value_stands() -> None:
    with pytest.raises(InvalidRequest, match=r"missing field `parameters\.items\[0\]\.itemName`"):
        decoder(Request, within="parameters").decode(b'{"organizationId":"%s","items":[{}]}' % ID.encode())
    with pytest.raises(InvalidRequest, match="field `parameters`: expected an object, got a list"):
        decoder(Request, within="parameters").decode(b"[]")


AMBIGUOUS = [
    (b'{"a":1,"a":1}', "field `a` appears twice"),
    (b'{"a":1,"\\u0061":2}', "field `a` appears twice"),
    (b'{"a":[{"b":{"c":1,"d":2,"c":3}}]}', "field `c` appears twice"),
    (b'{"":1,"":2}', "field `` appears twice"),
    (b'{"a":"\xff"}', "not valid UTF-8 at byte 6"),
    (b'{"a":"\xed\xa0\x80"}', "not valid UTF-8 at byte 6"),
    (b"[" * 100_000, "nested too deeply"),
    (b'{"a":' * 100_000, "nested too deeply"),
    (b'{"a"}', "not valid JSON"),
    (b'{"%s":1,"%s":1}' % (b"n" * 5000, b"n" * 5000), f"field `{'n' * 100}` appears twice"),
]


@pytest.mark.parametrize(("body", "message"), AMBIGUOUS, ids=[message[:50] for _, message in AMBIGUOUS])
def test_ambiguous(body: bytes, message: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        refuse_ambiguous(body)
    assert message in refused.value.message


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


writings = st.fixed_dictionaries(
    {"separators": st.sampled_from([(",", ":"), (", ", ": ")]), "ensure_ascii": st.booleans()}
)


@given(json_values, writings)
def test_whatever_is_written_once_is_not_ambiguous(value: object, writing: dict[str, Any]) -> None:
    assert refuse_ambiguous(json.dumps(value, **writing).encode()) is None  # type: ignore[func-returns-value]


@given(st.dictionaries(st.text(), json_values, min_size=1, max_size=4), writings, st.data())
def test_a_member_written_twice_is_ambiguous(
    members: dict[str, object], writing: dict[str, Any], data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from(sorted(members)))
    written = json.dumps(members, **writing)
    again = json.dumps({name: data.draw(json_values)}, **writing)
    within = data.draw(st.sampled_from(["%s", "[%s]", '{"x":%s}'])) % (written[:-1] + "," + again[1:])
    with pytest.raises(InvalidRequest, match="appears twice"):
        refuse_ambiguous(within.encode())


@given(st.binary(max_size=40))
def test_any_bytes_are_decoded_or_refused(body: bytes) -> None:
    for read in (decoder(Request).decode, refuse_ambiguous):
        try:
            read(body)
        except InvalidRequest as refused:
            assert refused.message


def test_new_ids_are_version_7_and_sort_by_time() -> None:
    ids = [new_id() for _ in range(1000)]
    assert ids == sorted(set(ids))
    assert {text[14] for text in ids} == {"7"}
