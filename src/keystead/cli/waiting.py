"""What an open activity waits for: whose approvals would count, and who must give a further proof.

Here: sentences from the server's answers. Not here: the votes (`activities`), whose approvals are missing
(`operations.activity_descriptions`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from keystead.api.enums import ActivityStatus
from keystead.cli.policies.rules import OrganizationRules, rules_of
from keystead.cli.texts import printable
from keystead.client.client import Client
from keystead.client.errors import ApiError

NAMED_MAX = 10
"""How many users one line names."""


def waits_for(client: Client, activity: dict[str, Any]) -> list[str]:
    """What the activity waits for, in lines; none if it waits for nothing, or if the server
    refuses the queries."""
    try:
        if activity["status"] == ActivityStatus.AUTHENTICATORS_NEEDED:
            return list(_proofs(client, activity["id"], rules_of(client)))
        if activity["status"] == ActivityStatus.CONSENSUS_NEEDED:
            return list(_approvals(client, activity["id"], rules_of(client)))
    except ApiError:
        # Before this, a vote may have been accepted: an error here must not hide that.
        pass
    return []


def _approvals(client: Client, activity_id: str, rules: OrganizationRules) -> Iterator[str]:
    described = client.query("describe_activities", activityIds=[activity_id])["activityDescriptions"]
    for way in [way for one in described for way in one.get("missingApprovals", [])]:
        names = _name_list([rules.user_name(user_id) for user_id in way["userIds"]])
        if "policyId" in way:
            yield f"approvals that the policy {printable(rules.policy_name(way['policyId']))!r} counts: {names}"
        else:
            yield f"{way['count']} of the root quorum: {names}"


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
