"""Requests whose cost is in the size of the organization: activities that change as much as one activity may.

Here: the organizations that this needs, and the requests.
"""

from __future__ import annotations

import itertools
import threading

import httpx

from keystead.stamps.signing import generate_api_key
from tests.support.callers import Caller, unique, user_params
from tests.support.organization_fixtures import RecordIds

USERS = 1_000
"""As many as one request gives a tag to."""

TAGS = 300
"""Tags of each user. The records of all users together take 12.3 MB, nearly as much as one activity may change."""

_USERS_AT_ONCE = 75
"""As many as a body has room for."""

_one_at_a_time = threading.Lock()
"""The callers of one organization share its preparation."""

_users: dict[str, list[str]] = {}
_given: dict[str, itertools.count[int]] = {}


def tag_of_many_users(caller: Caller, records: RecordIds) -> httpx.Response:
    """A tag is given to as many users as one request names, then taken from them."""
    user_ids, given = _prepared(caller)
    fields = ("addUserIds", "removeUserIds")
    adding, removing = fields if next(given) % 2 == 0 else reversed(fields)
    return caller.submit("update_user_tag", {"userTagId": records.user_tag_id, adding: user_ids, removing: []})


def _prepared(caller: Caller) -> tuple[list[str], itertools.count[int]]:
    """The ids of the users of the caller's organization, and how often they were named."""
    with _one_at_a_time:
        known = caller.organization_id
        if known not in _users:
            tags = [
                caller.result("create_user_tag", {"userTagName": unique("tag"), "userIds": []})["userTagId"]
                for _ in range(TAGS)
            ]
            made: list[str] = []
            while len(made) < USERS:
                keys = [generate_api_key().public_key for _ in range(min(_USERS_AT_ONCE, USERS - len(made)))]
                users = [user_params(key) | {"userTags": tags} for key in keys]
                made += caller.result("create_users", {"users": users})["userIds"]
            _users[known], _given[known] = made, itertools.count()
        return _users[known], _given[known]
