"""The measured size of records is near what Python allocates for them."""

from __future__ import annotations

import gc
import json
import tracemalloc
from enum import Enum

import msgspec
import pytest

from keystead.api.records import User, Wallet
from keystead.organizations.memory_size import measured_bytes
from keystead.organizations.organization import Put, Version, apply
from tests.organizations.records import a_user, an_api_key, an_authenticator, an_organization
from tests.support.commit_samples import a_wallet

COUNT = 100


def allocated(kind: type[msgspec.Struct], bodies: list[bytes]) -> tuple[int, int]:
    """Bytes that an organization of these records takes more than one without: allocated, and measured."""
    decoder = msgspec.json.Decoder(kind)
    empty = an_organization()
    gc.collect()
    tracemalloc.start()
    full = apply(empty, [Put(decoder.decode(body)) for body in bodies], Version(2, "activity"))
    gc.collect()
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return taken, full.bytes - empty.bytes


def users(keys: int) -> list[bytes]:
    made = (
        a_user(
            user_name=f"User {number} " + "x" * 40,
            user_email=f"User{number}@example.com",
            user_phone_number=f"+4915{number:08}",
            api_keys=tuple(an_api_key() for _ in range(keys)),
            authenticators=(an_authenticator(),),
        )
        for number in range(COUNT)
    )
    return [msgspec.json.encode(user) for user in made]


CASES = {
    "users with a key": (User, users(1)),
    "users with ten keys": (User, users(10)),
    "wallets": (Wallet, [msgspec.json.encode(a_wallet()) for _ in range(COUNT)]),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_measured_is_near_allocated(case: tuple[type[msgspec.Struct], list[bytes]]) -> None:
    taken, measured = allocated(*case)
    assert 0.7 < measured / taken < 1.5, (taken, measured)


class Colour(Enum):
    RED = "red"


SIZES = [
    pytest.param("a" * 1_000, 1_000, id="ASCII"),
    pytest.param("ü" * 1_000, 1_000, id="other text"),
    pytest.param(b"x" * 1_000, 1_000, id="bytes"),
    pytest.param(("a" * 500, "b" * 500), 1_000, id="a tuple"),
    pytest.param({"a" * 500: "b" * 500}, 1_000, id="a dict"),
    pytest.param((None, True, Colour.RED), 0, id="values that exist once"),
    pytest.param(2**8_000, 1_000, id="a large number"),
]


@pytest.mark.parametrize(("value", "least"), SIZES)
def test_contents_count(value: object, least: int) -> None:
    assert least <= measured_bytes(value) <= 4 * least + 400


def test_what_records_do_not_hold_is_an_error() -> None:
    with pytest.raises(TypeError, match="Decoder"):
        measured_bytes(json.JSONDecoder())
