"""A revocation on one server is in effect on the other as soon as the first has answered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from keystead.stamps.signing import generate_api_key
from tests.support.callers import Caller, answered, api_key_params, refusal, unique
from tests.support.organization_fixtures import policy_params
from tests.support.servers import Server, user_with_key

ROUNDS = 4


class Revocation(NamedTuple):
    """`user` may make tags until the revocation, which is what the root user submits."""

    user: Caller
    operation: str
    parameters: dict[str, Any]


def _allowed(root: Caller, **members: Any) -> tuple[Caller, str]:
    """A user with a policy that allows everything, and the policy's id."""
    user = root.new_user(**members)
    policy = policy_params(condition="", consensus=f"approvers.any(u, u.id == '{user.user_id}')")
    return user, root.result("create_policy", policy)["policyId"]


def policy_deleted(root: Caller) -> Revocation:
    user, policy_id = _allowed(root)
    return Revocation(user, "delete_policy", {"policyId": policy_id})


def policy_narrowed(root: Caller) -> Revocation:
    user, policy_id = _allowed(root)
    changed = {"policyId": policy_id, "policyCondition": "activity.kind == 'CREATE_WALLET'"}
    return Revocation(user, "update_policy", changed)


def policy_added(root: Caller) -> Revocation:
    user, _ = _allowed(root)
    consensus = f"approvers.any(u, u.id == '{user.user_id}')"
    return Revocation(user, "create_policy", policy_params(effect="EFFECT_DENY", condition="", consensus=consensus))


def tag_taken_off(root: Caller) -> Revocation:
    user = root.new_user()
    tag = {"userTagName": unique("tag"), "userIds": [user.user_id]}
    tag_id = root.result("create_user_tag", tag)["userTagId"]
    consensus = f"approvers.any(u, u.tags.contains('{tag_id}'))"
    root.submitted("create_policy", policy_params(condition="", consensus=consensus))
    taken_off = {"userTagId": tag_id, "addUserIds": [], "removeUserIds": [user.user_id]}
    return Revocation(user, "update_user_tag", taken_off)


def user_deleted(root: Caller) -> Revocation:
    user, _ = _allowed(root)
    return Revocation(user, "delete_users", {"userIds": [user.user_id]})


def key_deleted(root: Caller) -> Revocation:
    user, _ = _allowed(root)
    key = generate_api_key()
    keys = {"userId": user.user_id, "apiKeys": [api_key_params(key.public_key)]}
    made = root.result("create_api_keys", keys)
    return Revocation(user.with_key(key, user.user_id), "delete_api_keys", {"userId": user.user_id, **made})


def out_of_the_quorum(root: Caller) -> Revocation:
    user = root.new_user()
    root.submitted("update_root_quorum", {"threshold": 1, "userIds": [root.user_id, user.user_id]})
    return Revocation(user, "update_root_quorum", {"threshold": 1, "userIds": [root.user_id]})


def threshold_raised(root: Caller) -> Revocation:
    """In a sub-organization, whose quorum nobody else needs: the user alone is enough no longer."""
    key, other = generate_api_key(), generate_api_key()
    users = [
        {"userName": name, "apiKeys": [api_key_params(each.public_key)], "authenticators": [], "oauthProviders": []}
        for name, each in (("one", key), ("two", other))
    ]
    asked = {"subOrganizationName": unique("sub"), "rootUsers": users, "rootQuorumThreshold": 1}
    made = root.result("create_sub_organization", asked)
    user = root.with_key(key, made["rootUserIds"][0], made["subOrganizationId"])
    return Revocation(user, "update_root_quorum", {"threshold": 2, "userIds": made["rootUserIds"]})


REVOCATIONS: list[tuple[Callable[[Caller], Revocation], int]] = [
    (policy_deleted, 403),
    (policy_narrowed, 403),
    (policy_added, 403),
    (tag_taken_off, 403),
    (user_deleted, 401),
    (key_deleted, 401),
    (out_of_the_quorum, 403),
    (threshold_raised, 200),
]


@pytest.mark.parametrize(("prepare", "status"), REVOCATIONS, ids=[one.__name__ for one, _ in REVOCATIONS])
def test_revocation(prepare: Callable[[Caller], Revocation], status: int, servers: list[Server]) -> None:
    """By turns at either server. Where the last is still answered 200, the activity waits for others."""
    for number in range(ROUNDS):
        here, there = (servers[(number + offset) % 2] for offset in range(2))
        revocation = prepare(here.caller)
        user = Caller(there.http, revocation.user.organization_id, revocation.user.user_id, revocation.user.key)
        assert user.submitted("create_user_tag", {"userTagName": unique("tag"), "userIds": []})
        revoking = here.caller if user.organization_id == here.caller.organization_id else revocation.user
        revoking.submitted(revocation.operation, revocation.parameters)
        response = user.submit("create_user_tag", {"userTagName": unique("tag"), "userIds": []})
        if status == 200:
            assert answered(response)["activity"]["status"] == "ACTIVITY_STATUS_CONSENSUS_NEEDED"
        else:
            assert refusal(response)[0] == status


def test_an_address_taken_off_the_allow_list(servers: list[Server]) -> None:
    """The other server has the organization in memory, and has answered requests from this address."""
    here, there = servers
    key = generate_api_key()
    made = here.installation.add_organization(user := user_with_key(key))
    at_here = here.caller.with_key(key, user.user_id, made.id)
    at_there = there.caller.with_key(key, user.user_id, made.id)
    waiting = new_vote(at_here)
    for number in range(ROUNDS):
        at_here.submitted("set_ip_allowlist", {"rules": [{"cidr": "127.0.0.1/32"}], "enabled": True})
        if number == 0:
            at_there.submitted("create_user_tag", {"userTagName": "kept", "userIds": []})
        assert at_there.ask("list_users").status_code == 200
    at_here.submitted("set_ip_allowlist", {"rules": [{"cidr": "192.0.2.0/24"}], "enabled": True})
    sent = [
        at_there.submit("create_user_tag", {"userTagName": "refused", "userIds": []}),
        at_there.submit("approve_activity", {"fingerprint": waiting}),
        at_there.submit("remove_ip_allowlist", {}),
        at_there.ask("list_users"),
    ]
    why = "request not authorized: address 127.0.0.1 is not on the IP allow-list of this organization"
    assert all((found := refusal(response))[0] == 403 and found[1].startswith(why) for response in sent)
    loaded = here.installation.database.organization(made.id)
    assert [tag.tag_name for tag in loaded.tags.values()] == ["kept"]


def new_vote(root: Caller) -> str:
    """The fingerprint of an activity that waits for the root user's approval."""
    other = root.new_user()
    root.submitted("create_policy", policy_params(condition="", consensus="approvers.count() >= 2"))
    waiting = answered(other.submit("create_user_tag", {"userTagName": unique("tag"), "userIds": []}))["activity"]
    assert waiting["status"] == "ACTIVITY_STATUS_CONSENSUS_NEEDED"
    return str(waiting["fingerprint"])
