"""list_activities: newest first, by page, of some statuses or types."""

from __future__ import annotations

from typing import Any

import pytest

from keystead.api.identifiers import new_id
from keystead.stamps.signing import generate_api_key
from tests.support.callers import Caller, refusal
from tests.support.organization_fixtures import interface_params
from tests.support.servers import Server, user_with_key

TAG, INTERFACE = "ACTIVITY_TYPE_CREATE_USER_TAG", "ACTIVITY_TYPE_CREATE_SMART_CONTRACT_INTERFACE"
COMPLETED, WAITING = "ACTIVITY_STATUS_COMPLETED", "ACTIVITY_STATUS_CONSENSUS_NEEDED"


@pytest.fixture(scope="module")
def history(server: Server) -> tuple[Caller, list[str]]:
    """An organization with 25 activities, every fifth a contract interface; their ids, newest first."""
    key = generate_api_key()
    user = user_with_key(key)
    organization = server.installation.add_organization(user)
    caller = server.caller.with_key(key, user.user_id, organization.id)
    ids = [_submit(caller, number)["id"] for number in range(25)]
    return caller, ids[::-1]


def _submit(caller: Caller, number: int) -> Any:
    if number % 5 == 0:
        return caller.submitted("create_smart_contract_interface", interface_params())
    return caller.submitted("create_user_tag", {"userTagName": str(number), "userIds": []})


def pages(caller: Caller, **fields: Any) -> list[str]:
    return [activity["id"] for activity in caller.asked("list_activities", **fields)["activities"]]


PAGES: list[tuple[str, dict[str, Any], slice]] = [
    ("no options", {}, slice(0, 10)),
    ("a limit", {"limit": "3"}, slice(0, 3)),
    ("the highest limit", {"limit": "100"}, slice(0, 25)),
    ("after the fifth", {"after": 4}, slice(5, 15)),
    ("after the fifth, two", {"after": 4, "limit": "2"}, slice(5, 7)),
    ("after the last", {"after": 24}, slice(0, 0)),
    ("before the first", {"before": 0}, slice(0, 0)),
    ("empty cursors, as one client sends them", {"before": "", "after": "", "limit": ""}, slice(0, 10)),
    ("null everywhere", {"before": None, "after": None, "limit": None}, slice(0, 10)),
]


@pytest.mark.parametrize(("name", "options", "expected"), PAGES, ids=[name for name, *_ in PAGES])
def test_page(name: str, options: dict[str, Any], expected: slice, history: tuple[Caller, list[str]]) -> None:
    caller, ids = history
    asked = {key: ids[value] if isinstance(value, int) else value for key, value in options.items()}
    assert pages(caller, paginationOptions=asked) == ids[expected]


def test_before_gives_the_newer_ones(history: tuple[Caller, list[str]]) -> None:
    """`before` an activity are those listed ahead of it."""
    caller, ids = history
    found = pages(caller, paginationOptions={"before": ids[5], "limit": "100"})
    assert found == ids[:5]


@pytest.mark.parametrize("options", [{}, {"limit": "25"}], ids=str)
def test_reading_in_parts(options: dict[str, str], history: tuple[Caller, list[str]], caller: Caller) -> None:
    """A page that is read in several parts is the same page, towards older and towards newer activities."""
    caller, ids = history
    limit = int(options.get("limit", "10"))
    assert pages(caller, paginationOptions=options | {"after": ids[1]}) == ids[2 : 2 + limit]
    assert pages(caller, paginationOptions=options | {"before": ids[23]}) == ids[max(0, 23 - limit) : 23]


def test_walking_through(history: tuple[Caller, list[str]]) -> None:
    caller, ids = history
    walked: list[str] = []
    while page := pages(caller, paginationOptions={"limit": "7"} | ({"after": walked[-1]} if walked else {})):
        walked += page
    assert walked == ids


FILTERS: list[tuple[str, dict[str, list[str]], slice]] = [
    ("one type", {"filterByType": [INTERFACE]}, slice(4, None, 5)),
    ("a type that has no activity", {"filterByType": ["ACTIVITY_TYPE_CREATE_WALLET"]}, slice(0, 0)),
    ("a type that is not answered here", {"filterByType": ["ACTIVITY_TYPE_SIGN_RAW_PAYLOAD"]}, slice(0, 0)),
    ("a type that nobody knows", {"filterByType": ["ACTIVITY_TYPE_X"]}, slice(0, 0)),
    ("two types", {"filterByType": [TAG, INTERFACE]}, slice(0, None)),
    ("the same type twice", {"filterByType": [INTERFACE, INTERFACE]}, slice(4, None, 5)),
    ("one status", {"filterByStatus": [COMPLETED]}, slice(0, None)),
    ("a status that has no activity", {"filterByStatus": [WAITING]}, slice(0, 0)),
    ("type and status", {"filterByType": [INTERFACE], "filterByStatus": [COMPLETED, WAITING]}, slice(4, None, 5)),
    ("type and another status", {"filterByType": [INTERFACE], "filterByStatus": [WAITING]}, slice(0, 0)),
    ("empty lists", {"filterByType": [], "filterByStatus": []}, slice(0, None)),
]


@pytest.mark.parametrize(("name", "filters", "expected"), FILTERS, ids=[name for name, *_ in FILTERS])
def test_filter(
    name: str, filters: dict[str, list[str]], expected: slice, history: tuple[Caller, list[str]]
) -> None:
    caller, ids = history
    assert pages(caller, paginationOptions={"limit": "100"}, **filters) == ids[expected]


BAD: list[tuple[str, dict[str, Any], str]] = [
    ("limit zero", {"paginationOptions": {"limit": "0"}}, "`paginationOptions.limit`"),
    ("limit over 100", {"paginationOptions": {"limit": "101"}}, "`paginationOptions.limit`"),
    ("limit negative", {"paginationOptions": {"limit": "-1"}}, "`paginationOptions.limit`"),
    ("limit in words", {"paginationOptions": {"limit": "all"}}, "`paginationOptions.limit`"),
    ("limit is a number", {"paginationOptions": {"limit": 5}}, "`paginationOptions.limit`"),
    ("both cursors", {"paginationOptions": {"before": "a", "after": "b"}}, "`paginationOptions`"),
    ("unknown cursor", {"paginationOptions": {"after": new_id()}}, "`paginationOptions.after`"),
    ("cursor that is not an id", {"paginationOptions": {"before": "first"}}, "`paginationOptions.before`"),
    ("type with a control character", {"filterByType": [TAG, "ACTIVITY\0"]}, "`filterByType[1]`"),
    ("unknown status", {"filterByStatus": ["ACTIVITY_STATUS_X"]}, "`filterByStatus[0]`"),
]


@pytest.mark.parametrize(("name", "fields", "named"), BAD, ids=[name for name, *_ in BAD])
def test_refused(name: str, fields: dict[str, Any], named: str, caller: Caller) -> None:
    status, message = refusal(caller.ask("list_activities", **fields))
    assert (status, named in message) == (400, True), message


def test_cursor_of_another_organization(caller: Caller, history: tuple[Caller, list[str]]) -> None:
    assert refusal(caller.ask("list_activities", paginationOptions={"after": history[1][0]}))[0] == 400
