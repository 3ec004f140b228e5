"""Many large activities, and somebody lists them: a page has a bound in bytes, others are answered meanwhile."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from keystead.operations.bounds import PAGE_BYTES_MAX
from keystead.stamps.signing import generate_api_key
from tests.support.authorization_scenario import new_sub_organization
from tests.support.callers import SDK_FORM, Caller, Headers, answered
from tests.support.organization_fixtures import interface_params
from tests.support.servers import Server, user_with_key

COUNT = 40
REQUEST_BYTES = 1_000_000
ANSWER_BYTES_MAX = 6 * PAGE_BYTES_MAX
"""An activity is shown with its intent and its votes, which repeat the request; the documented form has all of it
twice."""


@pytest.fixture(scope="module")
def waiting(server: Server) -> tuple[Caller, list[str]]:
    """An organization with 40 waiting activities of 1 MB each, and their ids, newest first."""
    root = _organization(server)
    second = root.new_user()
    root.submitted("update_root_quorum", {"threshold": 2, "userIds": [root.user_id, second.user_id]})
    ids = []
    for _ in range(COUNT):
        body = root.submit_body("create_smart_contract_interface", interface_params())
        body = body[:-1] + b" " * (REQUEST_BYTES - len(body)) + b"}"
        activity = answered(root.post("/public/v1/submit/create_smart_contract_interface", body))["activity"]
        assert activity["status"] == "ACTIVITY_STATUS_CONSENSUS_NEEDED"
        ids.append(activity["id"])
    return root, ids[::-1]


def _organization(server: Server) -> Caller:
    key = generate_api_key()
    user = user_with_key(key)
    organization = server.installation.add_organization(user)
    return server.caller.with_key(key, user.user_id, organization.id)


@pytest.mark.parametrize("form", [{}, SDK_FORM], ids=["documented", "sdk"])
def test_a_page_is_bounded_and_its_cursor_leads_on(form: Headers, waiting: tuple[Caller, list[str]]) -> None:
    caller, ids = waiting
    walked: list[str] = []
    for _ in range(3):
        options: dict[str, Any] = {"limit": "100"} | ({"after": walked[-1]} if walked else {})
        response = caller.ask("list_activities", form, paginationOptions=options)
        assert len(response.content) < ANSWER_BYTES_MAX
        walked += [activity["id"] for activity in answered(response)["activities"]]
    assert walked == ids[:3]
    newer = caller.asked("list_activities", form, paginationOptions={"limit": "100", "before": ids[5]})
    assert [activity["id"] for activity in newer["activities"]] == ids[4:5]


def test_others_are_answered_meanwhile(waiting: tuple[Caller, list[str]], server: Server) -> None:
    caller, _ = waiting
    other = new_sub_organization(server.caller)
    with ThreadPoolExecutor(8) as threads:
        asked = {"paginationOptions": {"limit": "100"}}
        lists = [threads.submit(caller.asked, "list_activities", None, **asked) for _ in range(8)]
        assert other.asked("whoami")["userId"] == other.user_id
        assert all(len(each.result()["activities"]) == 1 for each in lists)
