"""The lifecycle of each kind of record over HTTP, in both forms: created, read, listed, changed, deleted, not
found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from keystead.stamps.signing import generate_api_key
from tests.support.callers import SDK_FORM, Caller, api_key_params, refusal, unique, user_params
from tests.support.example_users import provider_by_token
from tests.support.operation_examples import interface_params
from tests.support.organization_fixtures import mfa_policy_params, policy_params
from tests.support.passkeys import SoftPasskey

Params = dict[str, Any]


class Change(NamedTuple):
    """An update, and the members of the record that it changes; None: a member that is then empty or absent."""

    operation: str
    parameters: Params
    members: Params


class Kind(NamedTuple):
    """`id` names the record. `of_user`: the requests also name the user that it belongs to. `got_of_user`: so does
    `get`."""

    name: str
    create: str
    parameters: Callable[[], Params]
    created: str
    """The member of the result with the id, or with ids."""
    id: str
    get: str
    list: str
    member: str
    """What lists call the records."""
    delete: str
    deleted: str
    changes: tuple[Change, ...] = ()
    of_user: bool = False
    got_of_user: bool = False


KINDS = [
    Kind(
        "policy",
        "create_policy",
        policy_params,
        "policyId",
        "policyId",
        "get_policy",
        "list_policies",
        "policies",
        "delete_policy",
        "policyId",
        (
            Change("update_policy", {"policyNotes": "changed"}, {"notes": "changed"}),
            Change("update_policy", {"policyEffect": "EFFECT_DENY"}, {"effect": "EFFECT_DENY"}),
            Change(
                "update_policy",
                {"policyConsensus": "approvers.count() >= 2"},
                {"consensus": "approvers.count() >= 2"},
            ),
            Change("update_policy", {"policyConsensus": ""}, {"consensus": ""}),
            Change("update_policy", {"time": "time.now == time.now"}, {"time": "time.now == time.now"}),
            Change("update_policy", {"time": ""}, {"time": None}),
            Change("update_policy", {"policyCondition": None, "policyName": None}, {}),
        ),
    ),
    Kind(
        "policies",
        "create_policies",
        lambda: {"policies": [policy_params()]},
        "policyIds",
        "policyId",
        "get_policy",
        "list_policies",
        "policies",
        "delete_policies",
        "policyIds",
    ),
    Kind(
        "user",
        "create_users",
        lambda: {"users": [user_params(generate_api_key().public_key)]},
        "userIds",
        "userId",
        "get_user",
        "list_users",
        "users",
        "delete_users",
        "userIds",
        (
            Change("update_user_name", {"userName": "renamed"}, {"userName": "renamed"}),
            Change("update_user_email", {"userEmail": "new@example.com"}, {"userEmail": "new@example.com"}),
            Change(
                "update_user_phone_number", {"userPhoneNumber": "+14155550199"}, {"userPhoneNumber": "+14155550199"}
            ),
            Change("update_user", {"userName": "again", "userTagIds": []}, {"userName": "again"}),
            Change("update_user_email", {"userEmail": ""}, {"userEmail": None}),
            Change("update_user_phone_number", {"userPhoneNumber": ""}, {"userPhoneNumber": None}),
        ),
    ),
    Kind(
        "user tag",
        "create_user_tag",
        lambda: {"userTagName": unique("tag"), "userIds": []},
        "userTagId",
        "tagId",
        "",
        "list_user_tags",
        "userTags",
        "delete_user_tags",
        "userTagIds",
        (
            Change(
                "update_user_tag",
                {"newUserTagName": "renamed", "addUserIds": [], "removeUserIds": []},
                {"tagName": "renamed"},
            ),
        ),
    ),
    Kind(
        "contract interface",
        "create_smart_contract_interface",
        interface_params,
        "smartContractInterfaceId",
        "smartContractInterfaceId",
        "get_smart_contract_interface",
        "list_smart_contract_interfaces",
        "smartContractInterfaces",
        "delete_smart_contract_interface",
        "smartContractInterfaceId",
    ),
    Kind(
        "API key",
        "create_api_keys",
        lambda: {"apiKeys": [api_key_params(generate_api_key().public_key)]},
        "apiKeyIds",
        "apiKeyId",
        "get_api_key",
        "get_api_keys",
        "apiKeys",
        "delete_api_keys",
        "apiKeyIds",
        of_user=True,
    ),
    Kind(
        "authenticator",
        "create_authenticators",
        lambda: {"authenticators": [SoftPasskey().params()]},
        "authenticatorIds",
        "authenticatorId",
        "get_authenticator",
        "get_authenticators",
        "authenticators",
        "delete_authenticators",
        "authenticatorIds",
        of_user=True,
    ),
    Kind(
        "OAuth provider",
        "create_oauth_providers",
        lambda: {"oauthProviders": [provider_by_token()]},
        "providerIds",
        "providerId",
        "",
        "get_oauth_providers",
        "oauthProviders",
        "delete_oauth_providers",
        "providerIds",
        of_user=True,
    ),
    Kind(
        "MFA policy",
        "create_mfa_policy",
        lambda: mfa_policy_params("", [{"type": "AUTHENTICATION_TYPE_API_KEY"}]),
        "mfaPolicyId",
        "mfaPolicyId",
        "get_mfa_policy",
        "get_mfa_policies",
        "mfaPolicies",
        "delete_mfa_policy",
        "mfaPolicyId",
        (
            Change("update_mfa_policy", {"order": 7}, {"order": 7}),
            Change("update_mfa_policy", {"mfaPolicyName": "renamed"}, {"mfaPolicyName": "renamed"}),
            Change("update_mfa_policy", {"condition": "", "notes": ""}, {"condition": "", "notes": None}),
        ),
        of_user=True,
        got_of_user=True,
    ),
]


class Life:
    """One record of a kind; reads are in one form."""

    def __init__(self, kind: Kind, caller: Caller, headers: dict[str, str]) -> None:
        self.kind, self.caller, self.headers = kind, caller, headers
        self.of_user = {"userId": caller.new_user().user_id} if kind.of_user else {}
        made = caller.result(kind.create, kind.parameters() | self.of_user)[kind.created]
        self.id = made[0] if isinstance(made, list) else made

    @property
    def named(self) -> Params:
        """The record, as requests name it."""
        name = "userTagId" if self.kind.id == "tagId" else self.kind.id
        return {name: self.id, **self.of_user}

    def listed(self) -> Any:
        """The record as the list has it; None if it has not."""
        records = self.caller.asked(self.kind.list, self.headers, **self.of_user)[self.kind.member]
        found = [record for record in records if record[self.kind.id] == self.id]
        assert len(found) <= 1
        return found[0] if found else None

    def got(self) -> Any:
        """The record; the same alone and in the list."""
        if self.kind.get:
            (record,) = self.caller.asked(self.kind.get, self.headers, **self.asked_for).values()
            assert record == self.listed()
        return self.listed()

    @property
    def asked_for(self) -> Params:
        """The record, as `get` names it."""
        return {self.kind.id: self.id} | (self.of_user if self.kind.got_of_user else {})


@pytest.mark.parametrize("headers", [{}, SDK_FORM], ids=["documented", "sdk"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_life(kind: Kind, headers: dict[str, str], caller: Caller) -> None:
    life = Life(kind, caller, headers)
    record = life.got()
    for change in kind.changes:
        caller.submitted(change.operation, life.named | change.parameters)
        changed = life.got()
        emptied = {name for name, value in change.members.items() if value is None}
        assert not any(changed.get(name) for name in emptied)
        expected = record | {name: value for name, value in change.members.items() if value is not None}
        ignored = {"updatedAt", *emptied}
        assert without(changed, ignored) == without(expected, ignored)
        record = changed
    gone = {kind.deleted: [life.id] if kind.deleted.endswith("Ids") else life.id, **life.of_user}
    result = caller.result(kind.delete, gone)
    assert result[kind.deleted] == gone[kind.deleted]
    assert life.listed() is None
    if kind.get:
        assert refusal(caller.ask(kind.get, **life.asked_for))[0] == 404
    assert refusal(caller.submit(kind.delete, gone))[0] == 404


def without(record: Params, names: set[str]) -> Params:
    return {name: value for name, value in record.items() if name not in names}
