"""Who may read: every query of the catalogue, sent by every kind of caller. Allowed callers get the root user's
answer."""

from __future__ import annotations

import pytest

from keystead.operations import CATALOGUE
from tests.server.test_adversaries import ADVERSARIES
from tests.support.authorization_scenario import Actor, AuthorizationScenario
from tests.support.callers import refusal
from tests.support.operation_examples import NEVER_FOUND, QUERIES

READERS = (
    "a root user of the parent",
    "a user of the parent",
    "a user without rights",
    "a user without rights in a sub-organization",
    "a user taken out of the root quorum",
    "a user who may do something else",
    "a user that one policy allows and another denies",
    "a user, on that user",
)
"""Everybody else of the adversaries may read nothing."""

NAMES = [operation.name for operation in CATALOGUE if operation.kind == "query"]
ABOUT_THE_CALLER = frozenset({"whoami"})
NOT_IN_A_SUB_ORGANIZATION = frozenset({"check_ip_allowlist"})
FINDS_ITSELF = {
    ("a root user of a sub-organization", name) for name in ("whoami", "get_activity", "get_mfa_status")
}
"""Who is meant although the organization is not theirs: a sub-organization's user, asking with the parent's id."""


def asked(somebody: Actor, name: str) -> tuple[int, object]:
    """Status, and the answer, or the machine code of the refusal."""
    response = somebody.caller.ask(name, **QUERIES[name](somebody.record_ids))
    if response.status_code == 200:
        answer = response.json()
        answer.pop("evaluatedAtMs", None)  # the moment of the answer
        return 200, answer
    details = response.json()["details"]
    return refusal(response)[0], details[0]["turnkeyErrorCode"] if details else ""


def test_everybody_asks(scenario: AuthorizationScenario) -> None:
    assert set(NAMES) == set(QUERIES)
    assert set(READERS) <= set(scenario.people)


@pytest.mark.parametrize("name", READERS)
def test_reader(name: str, scenario: AuthorizationScenario) -> None:
    reader = scenario.people[name]
    root = next(
        one for one in (scenario.root, scenario.sub_root) if one.organization_id == reader.caller.organization_id
    )
    as_root = Actor(root, reader.record_ids)
    for query in NAMES:
        status, answer = asked(reader, query)
        is_refused = query in NOT_IN_A_SUB_ORGANIZATION and root is scenario.sub_root
        is_refused = query in NOT_IN_A_SUB_ORGANIZATION and root is scenario.sub_root
        assert status == (404 if query in NEVER_FOUND else 400 if is_refused else 200), query
        if query not in ABOUT_THE_CALLER:
            assert (status, answer) == asked(as_root, query), query


@pytest.mark.parametrize("name", [name for name in ADVERSARIES if name not in READERS])
def test_no_reader(name: str, scenario: AuthorizationScenario) -> None:
    stranger = scenario.people[name]
    for query in NAMES:
        QUERIES[query](stranger.record_ids)  # makes the records that the query is about
    before = scenario.state()
    answers = {query: asked(stranger, query) for query in NAMES if (name, query) not in FINDS_ITSELF}
    assert answers == dict.fromkeys(answers, ADVERSARIES[name])
    assert scenario.state() == before


def test_whoami_of_a_sub_organizations_user_who_names_the_parent(scenario: AuthorizationScenario) -> None:
    status, answer = asked(scenario.people["a root user of a sub-organization"], "whoami")
    assert isinstance(answer, dict)
    assert (status, answer["userId"]) == (200, scenario.sub_root.user_id)
    assert answer["organizationId"] == scenario.sub_root.organization_id


def test_whoami_of_a_parents_user_who_names_a_sub_organization(scenario: AuthorizationScenario) -> None:
    """The user, and the organization whose user that is."""
    status, answer = asked(scenario.people["a root user of the parent"], "whoami")
    assert isinstance(answer, dict)
    assert (status, answer["userId"]) == (200, scenario.root.user_id)
    assert answer["organizationId"] == scenario.root.organization_id
