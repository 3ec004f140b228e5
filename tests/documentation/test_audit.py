"""The SQL of docs/production.md, run on both databases: who did what, when, with which decision."""

from __future__ import annotations

import json
from typing import Any

from keystead.api.records import Evaluation, PolicyOutcome, Timestamp
from keystead.pipeline.store import Commit, CommitResult
from keystead.storage.store import DatabaseStore
from tests.documentation.blocks import blocks_of
from tests.support.callers import Caller, unique
from tests.support.databases import Database, SqliteDatabase
from tests.support.organization_fixtures import policy_params
from tests.support.source_tree import ROOT

SQLITE, POSTGRES = [block.text for block in blocks_of(ROOT / "docs" / "production.md") if block.language == "sql"]
CREATED = ("VOTE_SELECTION_APPROVED", "ACTIVITY_TYPE_CREATE_USER_TAG", "ACTIVITY_STATUS_COMPLETED", "allow")
DENIED = (None, None, None, None, "deny: nothing allows it")


def tag() -> dict[str, Any]:
    return {"userTagName": unique("audited ü"), "userIds": []}


def row_of(activity_id: str, database: Database) -> tuple[Any, ...]:
    """The row that the documented query of this database shows for a decision."""
    query = SQLITE if isinstance(database, SqliteDatabase) else POSTGRES
    (found,) = [row for row in database.rows(query) if row[2] == activity_id]
    return found


def shown(activity_id: str, database: Database) -> tuple[Any, ...]:
    """Who, the vote, the type, the status and the verdict."""
    return row_of(activity_id, database)[3:8]


def test_who_did_what_and_when(caller: Caller, database: Database) -> None:
    parameters = tag()
    activity = caller.submitted("create_user_tag", parameters)
    names = {user["userId"]: user["userName"] for user in caller.asked("list_users")["users"]}
    assert shown(activity["id"], database) == (names[caller.user_id], *CREATED)
    decided_at, organization_id, *_, rule, request = row_of(activity["id"], database)
    assert organization_id == caller.organization_id
    assert rule == "enough members of the root quorum approve"
    assert json.loads(request)["parameters"] == parameters
    assert str(decided_at)[:19] == activity["createdAt"][:19].replace("T", " ")


def test_what_policies_allow_and_deny(caller: Caller, database: Database) -> None:
    name = unique("Ada ü")
    user = caller.new_user(userName=name)
    refused = user.submit("create_user_tag", tag())
    assert refused.status_code == 403
    assert shown(refused.json()["details"][0]["activityId"], database) == DENIED
    policy = policy_params(condition="", consensus=f"approvers.any(u, u.id == '{user.user_id}')")
    policy_id = caller.result("create_policy", policy)["policyId"]
    activity = user.submitted("create_user_tag", tag())
    caller.submitted("delete_policy", {"policyId": policy_id})
    assert shown(activity["id"], database) == (name, *CREATED)


def test_a_reason_that_quotes_a_character_which_text_of_postgresql_cannot_hold(
    caller: Caller, database: Database
) -> None:
    organization = database.organization(caller.organization_id)
    reason = "eth.tx.contract_call_args['\u0000'] is absent: \\u0000 (line 1, column 1)"
    ids = unique("evaluation"), unique("activity")
    evaluation = Evaluation(
        id=ids[0],
        activity_id=ids[1],
        organization_id=organization.id,
        vote_id=unique("vote"),
        policy_evaluations=(PolicyOutcome(policy_id="p", outcome="OUTCOME_ERROR", reason=reason),),
        created_at=Timestamp.from_ms(0),
        verdict="deny: nothing allows it",
        rule="no policy allows it",
        policy_ids=(),
    )

    async def write(store: DatabaseStore) -> CommitResult:
        return await store.commit(
            Commit(
                organization_id=organization.id,
                decided_on=organization.version,
                activity=None,
                evaluations=(evaluation,),
            )
        )

    assert database.with_store(write) is CommitResult.COMMITTED
    assert shown(evaluation.activity_id, database) == DENIED
