"""A body with white space between its parts takes another path through the decoder, with the same result."""

from __future__ import annotations

import json
import types
import typing
from enum import Enum
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keystead.api.errors import InvalidRequest
from keystead.operations import CATALOGUE
from keystead.pipeline.operation import ActivityOperation
from keystead.pipeline.submission import read_submission

SUBMITTED = [operation for operation in CATALOGUE if isinstance(operation, ActivityOperation)]
UUID = "0190a0a0-aaaa-7aaa-8aaa-aaaaaaaaaaaa"
ANYTHING = [
    *(None, True, 0, -1, 1.0, 1.5, 1e300, 2**63, 2**64, -(2**70)),
    *("", "x", "1", "true", "null", "\u2028", "aGk=", UUID, "a@b.example", "2026-01-01T00:00:00Z"),
    *([], {}, [1], {"a": 1}, {"seconds": "1", "nanos": "2"}),
]
PLAIN: dict[Any, list[Any]] = {
    str: ["", "x", "a name", "1", UUID, "0x" + "ab" * 20, "m/44'/60'/0'/0/0", "a@b.example"],
    bool: [True, False],
    int: [0, 1, 5, 1.0, 2**40, -1],
    types.NoneType: [None],
}
"""Values of the types that have no members."""


def like(kind: Any, random: Random) -> Any:
    """A JSON value that could be of this type, or nearly."""
    if random.random() < 0.05:
        return random.choice(ANYTHING)
    origin, inside = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        return like(inside[0], random)
    if origin in (typing.Union, types.UnionType):
        return like(random.choice(inside), random)
    if origin in (tuple, list):
        return [like(inside[0], random) for _ in range(random.choice([0, 1, 1, 2]))]
    if origin is dict:
        return {"key": like(inside[1], random)}
    if origin is typing.Literal:
        return random.choice(inside)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return random.choice(list(kind)).value
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        hints = typing.get_type_hints(kind, include_extras=True)
        members = {
            field.encode_name: like(hints[field.name], random)
            for field in msgspec.structs.fields(kind)
            if (field.required and random.random() < 0.98) or random.random() < 0.5
        }
        return members | ({"unheard": "of"} if random.random() < 0.03 else {})
    return random.choice(PLAIN[kind])


def read(operation: ActivityOperation, body: bytes) -> Any:
    try:
        submission = read_submission(operation, body)
        return submission.version, submission.envelope.generate_app_proofs, submission.intent
    except InvalidRequest as refused:
        return refused.message


@pytest.mark.parametrize("operation", SUBMITTED, ids=lambda operation: operation.name)
@settings(max_examples=30)
@given(st.randoms(use_true_random=False))
def test_white_space_makes_no_difference(operation: ActivityOperation, random: Random) -> None:
    version = random.choice(operation.versions)
    body = {
        "type": version.activity_type,
        "timestampMs": "1790000000000",
        "organizationId": UUID,
        "parameters": like(version.intent, random),
    }
    written = [
        json.dumps(body, ensure_ascii=False, separators=separators).encode()
        for separators in [(",", ":"), (", ", ": ")]
    ]
    without, with_spaces = (read(operation, one) for one in written)
    assert repr(without) == repr(with_spaces)
