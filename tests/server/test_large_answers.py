"""Answers that are rendered record by record have the same bytes."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from keystead.api.records import User, Wire
from keystead.api.rendering import Form, answer
from keystead.operations.users import GetUserResponse, ListUsersResponse
from keystead.primitives.share import Share
from keystead.server.large_answers import LARGE, is_large, large_answer
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


def test_records_in_records_count() -> None:
    keys = USER.api_keys * 20
    assert is_large(ListUsersResponse(users=(replace(USER, api_keys=keys),) * 20))
    assert not is_large(ListUsersResponse(users=(USER,) * (LARGE // 2)))
    assert is_large(ListUsersResponse(users=(USER,) * (LARGE // 2 + 1)))
    assert not is_large(GetUserResponse(user=USER))
