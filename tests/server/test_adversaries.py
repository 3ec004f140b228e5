"""Every submission of the catalogue, sent by callers without the right to it: refused, and nothing is changed.

The tables say what each is told. EXCEPTIONS may only get shorter: every row of it is something that anybody may do.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from keystead.operations import CATALOGUE
from keystead.pipeline.operation import ActivityOperation
from tests.support.authorization_scenario import Actor, AuthorizationScenario
from tests.support.callers import refusal
from tests.support.operation_examples import SUBMISSIONS

DENIED = (403, "type.googleapis.com/errors.v1.PolicyEnginePermissionError")
UNKNOWN = (401, "PUBLIC_KEY_NOT_FOUND")
NOT_HERE = (400, "ORGANIZATION_MISMATCH")

ADVERSARIES = {
    "nobody": UNKNOWN,
    "a root user of another organization": UNKNOWN,
    "a root user of a sub-organization": UNKNOWN,
    "a root user of the parent": NOT_HERE,
    "a user of the parent": NOT_HERE,
    "a root user of a sister": UNKNOWN,
    "a root user of a dissolved sub-organization": (404, "ORGANIZATION_NOT_FOUND"),
    "a user without rights": DENIED,
    "a user without rights in a sub-organization": DENIED,
    "a user taken out of the root quorum": DENIED,
    "a user who may do something else": DENIED,
    "a user that one policy allows and another denies": DENIED,
    "a removed user who was a root user": UNKNOWN,
    "a root user's removed key": UNKNOWN,
    "a root user's expired key": (401, "API_KEY_EXPIRED"),
}
"""Status, and the code or else the type of the first detail."""

ALLOWED = (200, "")
EXCEPTIONS = {
    "ACTIVITY_TYPE_CREATE_API_KEYS_V2": ALLOWED,
    "ACTIVITY_TYPE_CREATE_API_KEYS": ALLOWED,
    "ACTIVITY_TYPE_CREATE_AUTHENTICATORS_V2": ALLOWED,
    "ACTIVITY_TYPE_CREATE_AUTHENTICATORS": ALLOWED,
    "ACTIVITY_TYPE_CREATE_OAUTH_PROVIDERS_V2": ALLOWED,
    "ACTIVITY_TYPE_CREATE_OAUTH_PROVIDERS": ALLOWED,
    "ACTIVITY_TYPE_CREATE_WALLET_AUTHENTICATORS": ALLOWED,
    "ACTIVITY_TYPE_DELETE_API_KEYS": ALLOWED,
    "ACTIVITY_TYPE_DELETE_AUTHENTICATORS": ALLOWED,
    "ACTIVITY_TYPE_DELETE_OAUTH_PROVIDERS": ALLOWED,
    "ACTIVITY_TYPE_DELETE_WALLET_AUTHENTICATORS": ALLOWED,
    "ACTIVITY_TYPE_STAMP_LOGIN": ALLOWED,
    "ACTIVITY_TYPE_CREATE_READ_ONLY_SESSION": ALLOWED,
    "ACTIVITY_TYPE_CREATE_READ_WRITE_SESSION_V2": ALLOWED,
    "ACTIVITY_TYPE_APPROVE_ACTIVITY": ALLOWED,
    "ACTIVITY_TYPE_REJECT_ACTIVITY": ALLOWED,
}
"""What a user may do without a policy that allows it: change own credentials, begin own sessions,
and vote where the vote counts."""


def tried(somebody: Actor, activity_type: str) -> tuple[int, str]:
    """What came of a valid example."""
    operation = CATALOGUE.of_type(activity_type)
    assert operation is not None
    parameters = somebody.parameters(activity_type)
    response = somebody.caller.submit(operation.name, parameters, type=activity_type)
    if response.status_code == 200:
        return 200, ""
    status, _ = refusal(response)
    for detail in response.json()["details"]:
        return status, detail.get("turnkeyErrorCode", detail["@type"])
    return status, ""


TYPES = [name for operation in CATALOGUE for name in operation.activity_types]
FOR_ONESELF = frozenset(
    name
    for operation in CATALOGUE
    if isinstance(operation, ActivityOperation) and operation.precondition is not None
    for name in operation.activity_types
)
"""What nobody does in another's name. The examples are in the root user's."""


LOGINS = frozenset(
    name
    for operation in CATALOGUE
    if isinstance(operation, ActivityOperation) and (operation.before_session or operation.by_parent is not None)
    for name in operation.activity_types
)
"""What finds the caller's own sub-organization, or a parent's user may submit: `test_logins` and
`test_attested_logins` try these. Votes among them are tried here, too, by who belongs to the organization."""
BEGINS_OWN_SESSION = frozenset({"ACTIVITY_TYPE_STAMP_LOGIN", "ACTIVITY_TYPE_CREATE_READ_ONLY_SESSION"})
"""What every user may do: the session is the submitter's own."""


OF_PARENTS = frozenset(one for one in SUBMISSIONS if "AUTH_PROXY" in one)
"""A sub-organization has no authentication proxies, so there is nothing to try in one."""
IN_A_SUB_ORGANIZATION = ("a root user of a sister", "a user without rights in a sub-organization")


def types_tried(name: str) -> list[str]:
    if name in IN_A_SUB_ORGANIZATION:
        return [one for one in types_of(name) if one not in OF_PARENTS]
    if ADVERSARIES[name] == NOT_HERE:
        return [one for one in types_of(name) if one not in OF_PARENTS]
    return types_of(name)


def types_of(name: str) -> list[str]:
    if name == "a root user of a sub-organization" or ADVERSARIES[name] == NOT_HERE:
        return [one for one in TYPES if one not in LOGINS]
    return [one for one in TYPES if ADVERSARIES[name] != DENIED or one not in BEGINS_OWN_SESSION]


RECORD_OF_A_DENIAL = ("policy_evaluation", "snapshot")
"""Where what the policies said stays, though nothing was changed."""


def each_answered(types: Iterable[str], answer: tuple[int, str]) -> dict[str, tuple[int, str]]:
    """Before policies deny, the rule stands that they cannot change."""
    in_anothers_name = (403, "REQUEST_NOT_AUTHORIZED") if answer == DENIED else answer
    return {name: in_anothers_name if name in FOR_ONESELF else answer for name in types}


def test_everybody_is_tried(scenario: AuthorizationScenario) -> None:
    assert set(TYPES) == set(SUBMISSIONS)
    assert set(scenario.people) == {*ADVERSARIES, "a user, on that user"}


@pytest.mark.parametrize("name", ADVERSARIES)
def test_adversary(name: str, scenario: AuthorizationScenario) -> None:
    adversary, types = scenario.people[name], types_tried(name)
    for activity_type in types:
        adversary.parameters(activity_type)
    before = scenario.state(*RECORD_OF_A_DENIAL)
    answers = {activity_type: tried(adversary, activity_type) for activity_type in types}
    assert answers == each_answered(types, ADVERSARIES[name])
    assert scenario.state(*RECORD_OF_A_DENIAL) == before


def test_what_users_may_do_to_themselves(scenario: AuthorizationScenario) -> None:
    """This user is not an adversary: each allowed thing is done. Everything else is denied and changes nothing."""
    oneself = scenario.people["a user, on that user"]
    for activity_type in TYPES:
        oneself.parameters(activity_type)
    before = scenario.state(*RECORD_OF_A_DENIAL)
    denied = {each: tried(oneself, each) for each in TYPES if each not in EXCEPTIONS}
    assert denied == each_answered(denied, DENIED)
    assert scenario.state(*RECORD_OF_A_DENIAL) == before
    assert {each: tried(oneself, each) for each in EXCEPTIONS} == EXCEPTIONS
