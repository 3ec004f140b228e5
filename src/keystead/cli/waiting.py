"""What an open activity waits for: whose approvals would count, and who must give a further proof.

Here: sentences from the server's answers. To find the users that a consensus counts, its text is compiled here. Not
here: the votes (`votes`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from keystead.api.enums import ActivityStatus, VoteSelection
from keystead.api.records import Policy
from keystead.cli.rules import OrganizationRules, rules_of
from keystead.cli.texts import printable
from keystead.client.client import Client
from keystead.client.errors import ApiError
from keystead.policies.evaluation_context import EvaluationContext
from keystead.policies.expression import ExpressionSource, compile_stored
from keystead.policies.namespaces import Clause
from keystead.policies.request import credential_values, user_value

NAMED_MAX = 10
"""How many users one line names."""


def waits_for(client: Client, activity: dict[str, Any]) -> list[str]:
    """What the activity waits for, in lines; none if it waits for nothing, or if the server
    refuses the queries."""
    try:
        if activity["status"] == ActivityStatus.AUTHENTICATORS_NEEDED:
            return list(_proofs(client, activity["id"], rules_of(client)))
        if activity["status"] == ActivityStatus.CONSENSUS_NEEDED:
            return list(_approvals(client, activity, rules_of(client)))
    except ApiError:
        # Before this, a vote may have been accepted: an error here must not hide that.
        pass
    return []


def _approvals(client: Client, activity: dict[str, Any], rules: OrganizationRules) -> Iterator[str]:
    approving = {vote["userId"] for vote in activity["votes"] if vote["selection"] == VoteSelection.APPROVED.value}
    evaluations = client.query("get_policy_evaluations", activityId=activity["id"])["policyEvaluations"]
    deciding = evaluations[-1].get("policyIds", []) if evaluations else []
    for policy in rules.policies:
        if policy.policy_id in deciding:
            counted = [name for user_id, name in _counted_users(policy, rules) if user_id not in approving]
            if counted:
                yield f"approvals that the policy {printable(policy.policy_name)!r} counts: {_name_list(counted)}"
    quorum = rules.root_quorum
    missing = quorum.threshold - len(approving.intersection(quorum.user_ids))
    members = [rules.user_name(user_id) for user_id in quorum.user_ids if user_id not in approving]
    if 0 < missing <= len(members):
        yield f"{missing} of the root quorum: {_name_list(members)}"


def _counted_users(policy: Policy, rules: OrganizationRules) -> Iterator[tuple[str, str]]:
    """Id and name of every user that the consensus of a policy counts."""
    now_ms = time.time_ns() // 1_000_000
    credentials = {user.user_id: credential_values(user, now_ms) for user in rules.users}
    everybody = EvaluationContext(
        {
            "approvers": [user_value(user) for user in rules.users],
            "credentials": [credential for of_user in credentials.values() for credential in of_user],
        }
    )
    consensus = compile_stored(ExpressionSource(policy.consensus, Clause.CONSENSUS))
    for user in rules.users:
        if consensus.counts(everybody, user_value(user), credentials[user.user_id]):
            yield user.user_id, user.user_name


def _proofs(client: Client, activity_id: str, rules: OrganizationRules) -> Iterator[str]:
    for mfa_status in client.query("get_mfa_status", activityId=activity_id)["mfaStatuses"]:
        if mfa_status["satisfied"]:
            continue
        steps = [
            " or ".join(method["type"].removeprefix("AUTHENTICATION_TYPE_") for method in step["any"])
            for step in mfa_status["requiredMethods"]
        ]
        given = [method["type"].removeprefix("AUTHENTICATION_TYPE_") for method in mfa_status["satisfiedMethods"]]
        so_far = f"; given so far: {', '.join(given)}" if given else ""
        name = printable(rules.user_name(mfa_status["userId"]))
        yield printable(f"proofs of {name}, by approving with each: {'; '.join(steps)}{so_far}")


def _name_list(names: list[str]) -> str:
    more = f" and {len(names) - NAMED_MAX} more" if len(names) > NAMED_MAX else ""
    return ", ".join(map(printable, names[:NAMED_MAX])) + more
