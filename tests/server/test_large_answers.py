"""Answers that are rendered record by record have the same bytes."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from keystead.api.records import User, Wire
from keystead.api.rendering import Form, answer
from keystead.operations.users.users import GetUserResponse, ListUsersResponse
from keystead.primitives.share import Share
from keystead.server.answers import LARGE, is_large, large_answer
from keystead.stamps.signing import generate_api_key
from tests.support.servers import user_with_key


class Part(Wire, frozen=True):
    users: tuple[User, ...]
    names: tuple[str, ...] = ()
    note: str | None = None


class Nested(Wire, frozen=True):
    """Lists beside and in another value, as the answer of `get_organization` has them."""

    names: tuple[str, ...]
    part: Part
    last: str


USER = replace(user_with_key(generate_api_key()), user_email='a\0b,[]\\"@example.com')


@pytest.mark.parametrize("form", Form)
def test_the_same_bytes(form: Form) -> None:
    users = tuple(replace(USER, user_name=f"user {number}") for number in range(300))
    responses: list[Wire] = [
        ListUsersResponse(users=users),
        Nested(names=("a", "\0"), part=Part(users=users, names=("b",)), last="c"),
        Nested(names=(), part=Part(users=users, note="d"), last=""),
    ]
    for response in responses:
        rendered = asyncio.run(large_answer("", response, form, Share()))
        assert rendered == answer(response, form)


@pytest.mark.parametrize(("count", "expected"), [(LARGE, False), (LARGE + 1, True)])
def test_a_long_list_makes_an_answer_large(count: int, expected: bool) -> None:
    """Also in a value of the answer."""
    users = (USER,) * count
    for response in (
        ListUsersResponse(users=users),
        Nested(names=(), part=Part(users=users), last=""),
        Nested(names=(), part=Part(users=(), names=("a",) * count), last=""),
        GetUserResponse(user=replace(USER, api_keys=USER.api_keys * count)),
    ):
        assert is_large(response) is expected
