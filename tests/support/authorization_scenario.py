"""A parent organization, its sub-organizations, and callers who lack a right that an operation needs.

Here: the callers and their records, which are created through the API. Not here: what they try
(`test_adversaries`, `test_readers`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from keystead.stamps.signing import generate_api_key
from tests.support.callers import Caller, api_key_params, unique
from tests.support.databases import TABLES, Database, Rows, wait_for_deletions
from tests.support.issuers import taking_tokens
from tests.support.operation_examples import QUERIES, SUBMISSIONS, UNKNOWN_IDS, RecordIds, create_records
from tests.support.organization_fixtures import policy_params
from tests.support.servers import Server, bootstrap_installation, running, user_with_key


@dataclass(frozen=True)
class Actor:
    """A caller whose requests name the organization under attack, and the ids of that organization's records."""

    caller: Caller
    record_ids: RecordIds
    _parameters: dict[str, dict[str, Any]] = field(default_factory=dict)
    _query_fields: dict[str, dict[str, Any]] = field(default_factory=dict)

    def parameters(self, activity_type: str) -> dict[str, Any]:
        """Parameters of a valid example. They are created once, so that repeated attempts change nothing."""
        if activity_type not in self._parameters:
            self._parameters[activity_type] = SUBMISSIONS[activity_type](self.record_ids)
        return self._parameters[activity_type]

    def query_fields(self, name: str) -> dict[str, Any]:
        """The fields of a valid query. They are also created once."""
        if name not in self._query_fields:
            self._query_fields[name] = QUERIES[name](self.record_ids)
        return self._query_fields[name]


class AuthorizationScenario:
    """`root` and `sub_root` are the root users of a parent and of its sub-organization; `people` are by name."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.root = root = server.caller
        self.sub_root = sub_root = new_sub_organization(root)
        parent = Actor(root, create_records(root))
        sub = Actor(sub_root, create_records(sub_root))

        def against(victim: Actor, caller: Caller) -> Actor:
            there = caller.with_key(caller.key, caller.user_id, victim.caller.organization_id)
            return replace(victim, caller=there)

        stranger = generate_api_key()
        elsewhere = user_with_key(stranger)
        server.installation.add_organization(elsewhere)
        self.people: dict[str, Actor] = {
            "nobody": against(parent, root.with_key(generate_api_key())),
            "a root user of another organization": against(parent, root.with_key(stranger, elsewhere.user_id)),
            "a root user of a sub-organization": against(parent, sub_root),
            "a root user of the parent": against(sub, root),
            "a user of the parent": against(sub, root.new_user()),
            "a root user of a sister": against(sub, new_sub_organization(root)),
            "a root user of a dissolved sub-organization": Actor(self._dissolved(), UNKNOWN_IDS),
            "a user without rights": against(parent, root.new_user()),
            "a user without rights in a sub-organization": against(sub, sub_root.new_user()),
            "a user taken out of the root quorum": against(parent, self._once_root_user()),
            "a user who may do something else": against(parent, self._allowed("activity.action == 'ENCRYPT'")),
            "a user that one policy allows and another denies": against(parent, self._denied()),
            "a removed user who was a root user": against(parent, self._removed()),
            "a root user's removed key": against(parent, self._removed_key()),
            "a root user's expired key": against(parent, self._expired_key()),
            "a user, on that user": self._on_oneself(),
        }

    @property
    def database(self) -> Database:
        return self.server.installation.database

    def state(self, *without: str) -> dict[str, Rows]:
        """Every row of every table, without the rows that each process writes later: every ten seconds, and refused
        requests."""
        left_out = {*without, "process", "refused_request"}
        return {name: self.database.rows(f"SELECT * FROM {name}") for name in TABLES if name not in left_out}

    def _dissolved(self) -> Caller:
        gone = new_sub_organization(self.root)
        gone.submitted("delete_sub_organization", {"deleteWithoutExport": True})
        wait_for_deletions(self.database)
        return gone

    def _once_root_user(self) -> Caller:
        user = self.root.new_user()
        for members in ([self.root.user_id, user.user_id], [self.root.user_id]):
            self.root.submitted("update_root_quorum", {"threshold": 1, "userIds": members})
        return user

    def _allowed(self, condition: str) -> Caller:
        user = self.root.new_user()
        consensus = f"approvers.any(u, u.id == '{user.user_id}')"
        self.root.submitted("create_policy", policy_params(condition=condition, consensus=consensus))
        return user

    def _denied(self) -> Caller:
        """Votes are left out: a user that a consensus expression counts may vote."""
        user = self._allowed("activity.kind != 'CREATE_API_KEYS'")
        consensus = f"approvers.any(u, u.id == '{user.user_id}')"
        self.root.submitted("create_policy", policy_params(effect="EFFECT_DENY", condition="", consensus=consensus))
        return user

    def _removed(self) -> Caller:
        user = self._once_root_user()
        self.root.submitted("delete_users", {"userIds": [user.user_id]})
        return user

    def _new_key(self, **members: Any) -> tuple[Caller, str]:
        key = generate_api_key()
        keys = {"userId": self.root.user_id, "apiKeys": [api_key_params(key.public_key, **members)]}
        return self.root.with_key(key, self.root.user_id), self.root.result("create_api_keys", keys)["apiKeyIds"][0]

    def _removed_key(self) -> Caller:
        caller, api_key_id = self._new_key()
        assert caller.asked("whoami")["userId"] == self.root.user_id
        self.root.submitted("delete_api_keys", {"userId": self.root.user_id, "apiKeyIds": [api_key_id]})
        return caller

    def _expired_key(self) -> Caller:
        caller, _ = self._new_key(expirationSeconds="1")
        while caller.ask("whoami").status_code == 200:
            time.sleep(0.05)
        return caller

    def _on_oneself(self) -> Actor:
        """A user without rights, about whose own record and credentials every example is."""
        user = self.root.new_user()
        theirs = create_records(self.root, user)

        def fresh(kind: str) -> str:
            return user.user_id if kind == "user" else theirs.fresh(kind)

        return Actor(user, replace(theirs, fresh=fresh))


def new_sub_organization(
    root: Caller, *, more_api_keys: Sequence[Any] = (), contacts: Mapping[str, str] | None = None, **members: Any
) -> Caller:
    """The root user of a new sub-organization, who also holds `more_api_keys`. `contacts`: the members `userEmail`
    and `userPhoneNumber`; the parent writes them."""
    key = generate_api_key()
    user = {
        "userName": unique("user"),
        "apiKeys": [api_key_params(key.public_key), *more_api_keys],
        "authenticators": [],
        "oauthProviders": [],
        **(contacts or {}),
    }
    asked = {"subOrganizationName": unique("sub"), "rootUsers": [user], "rootQuorumThreshold": 1} | members
    made = root.result("create_sub_organization", asked)
    return root.with_key(key, made["rootUserIds"][0], made["subOrganizationId"])


def new_parent(server: Server) -> Caller:
    """The root user of a new organization without a parent."""
    user = user_with_key(key := generate_api_key())
    made = server.installation.add_organization(user)
    return server.caller.with_key(key, user.user_id, made.id)


@contextmanager
def running_scenario(make_database: Callable[[], Database], log: Path) -> Iterator[AuthorizationScenario]:
    installation = bootstrap_installation(make_database())
    with running(installation, log, taking_tokens(log.parent)) as server:
        yield AuthorizationScenario(server)
    installation.database.close()
