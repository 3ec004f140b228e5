"""`keystead policy`: the list of its commands, and the commands `explain` and `test`.

Not here: `list`, `diff`, `apply` (`policy_changes`), `lint` (`policy_warnings`), the text of a decision
(`explaining`), reading files (`case_files`), running cases (`policies.testing`).
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from keystead.api.enums import VoteSelection
from keystead.api.identifiers import UUID_PATTERN
from keystead.api.records import Evaluation, Policy, User
from keystead.cli.credentials import CredentialsFile
from keystead.cli.failure import Failure
from keystead.cli.groups import group
from keystead.cli.policies import explaining
from keystead.cli.policies.case_files import case_file, malformed_files, policies_of
from keystead.cli.policies.policy_changes import apply, diff, list_policies
from keystead.cli.policies.policy_warnings import lint, print_warnings
from keystead.cli.policies.rules import OrganizationRules, live_warnings, rules_of
from keystead.cli.request_values import value_as_json, value_lines, values_in_activity
from keystead.cli.requests import format_json, open_client
from keystead.cli.tables import AsJson
from keystead.cli.texts import kind, moment, printable, status
from keystead.client.client import Client
from keystead.client.errors import NotFound
from keystead.client.leniency import convert_leniently
from keystead.operations import CATALOGUE
from keystead.organizations.kinds.profile import RootQuorum
from keystead.pipeline.operation import alternatives
from keystead.policies.linting.literals import KnownIds
from keystead.policies.linting.warnings import PolicyWarning, ServerSettings, policy_warnings
from keystead.policies.testing.cases import CaseFile, CaseResult, read_cases, run_case
from keystead.policies.testing.organization import (
    OrganizationUnderTest,
    organization_under_test,
    read_quorum,
    read_users,
)
from keystead.policies.testing.schema import MalformedTable, MalformedTables

app = group("List, compare, apply, test and explain policies.")

app.command("list")(list_policies)
app.command("diff")(diff)
app.command("apply")(apply)
app.command("lint")(lint)


@app.command("explain")
def explain(
    activity_id: Annotated[
        str,
        typer.Argument(
            metavar="ACTIVITY_ID",
            help="The whole id of an activity or of a denied submission, whose error has it.",
        ),
    ],
    credentials: CredentialsFile = None,
    as_json: AsJson = False,
) -> None:
    """Print how an activity was decided, vote by vote.

    For each policy: its outcome, the clause that decided, and the values that were compared.
    """
    if not re.match(UUID_PATTERN, activity_id):
        raise typer.BadParameter(
            f"{activity_id!r}: expected a whole id, as `keystead show` prints it", param_hint="ACTIVITY_ID"
        )
    with open_client(credentials) as client:
        answer = client.query("get_policy_evaluations", activityId=activity_id)["policyEvaluations"]
        activity = _activity(client, activity_id)
        rules = rules_of(client)
        warnings = live_warnings(client)
        try:
            evaluations: tuple[Evaluation, ...] = convert_leniently(answer, tuple[Evaluation, ...])
        except msgspec.ValidationError as refused:
            raise Failure(f"the answer to query/get_policy_evaluations cannot be read: {refused}") from refused
        policy_ids = {recorded.policy_id for each in evaluations for recorded in each.policy_evaluations}
        evaluated_policies = [policy for policy in rules.policies if policy.policy_id in policy_ids]
        values = values_in_activity(client, activity, evaluated_policies) if activity else {}
    policies = {policy.policy_id: policy for policy in rules.policies}
    decisions = [(evaluation, explaining.decision_on_record(evaluation, policies)) for evaluation in evaluations]
    warnings = [warning for warning in warnings if warning.policy_id in policy_ids]
    if as_json:
        explanation = {
            "activityId": activity_id,
            "activity": activity,
            "values": {path: list(map(value_as_json, compared)) for path, compared in values.items()},
            "evaluations": [
                {
                    "id": evaluation.id,
                    "voteId": evaluation.vote_id,
                    "createdAt": evaluation.created_at,
                    **explaining.decision_as_json(decision),
                }
                for evaluation, decision in decisions
            ],
            "warnings": msgspec.to_builtins(warnings),
        }
        print(format_json(explanation))
        return
    _print_explanation(activity_id, activity, values, decisions, rules, warnings)


def _print_explanation(
    activity_id: str,
    activity: dict[str, Any] | None,
    values: dict[str, tuple[Any, ...]],
    decisions: list[tuple[Evaluation, explaining.ShownDecision]],
    rules: OrganizationRules,
    warnings: list[PolicyWarning],
) -> None:
    if activity is None:
        print(f"submission {printable(activity_id)}, denied: it left no activity")
    else:
        print(f"activity {activity['id']}, {kind(activity)}, {status(activity)}")
    if values:
        print("\nvalues that the conditions compare")
        for line in value_lines(values):
            print(f"  {line}")
    for number, (evaluation, decision) in enumerate(decisions):
        when = moment(msgspec.to_builtins(evaluation.created_at))
        print(f"\n{_occasion(evaluation, number, activity, rules)}, {when}")
        print(f"  {explaining.headline(decision)}")
        for line in explaining.policy_lines(decision):
            print(f"  {line}")
    print_warnings(warnings)
    evaluated = {evaluation.vote_id for evaluation, _ in decisions}
    for vote in activity["votes"] if activity else ():
        if vote["selection"] == VoteSelection.REJECTED.value and vote["id"] not in evaluated:
            print(f"\nrejected by {printable(rules.user_name(vote['userId']))}, {moment(vote['createdAt'])}")


def _activity(client: Client, activity_id: str) -> dict[str, Any] | None:
    try:
        activity: dict[str, Any] = client.query("get_activity", activityId=activity_id)["activity"]
    except NotFound:
        return None
    return activity


def _occasion(
    evaluation: Evaluation, number: int, activity: dict[str, Any] | None, rules: OrganizationRules
) -> str:
    """Whose vote was evaluated, in words. The first evaluation is that of the submission. A vote that its user
    replaced later is not in the activity."""
    action = "approved" if number else "submitted"
    for vote in activity["votes"] if activity else ():
        if vote["id"] == evaluation.vote_id:
            if vote["selection"] == VoteSelection.REJECTED.value:
                action = "rejected"
            return f"{action} by {printable(rules.user_name(vote['userId']))}"
    return action


@app.command("test")
def run_cases(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", exists=True, dir_okay=False, help="Cases, in TOML or JSON; see docs/policies.md."
        ),
    ],
    live: Annotated[
        bool, typer.Option("--live", help="Take what the file leaves out (policies, users) from the organization.")
    ] = False,
    allow_warnings: Annotated[
        bool, typer.Option("--allow-warnings", help="Succeed although there are warnings about the policies.")
    ] = False,
    credentials: CredentialsFile = None,
    as_json: AsJson = False,
) -> None:
    """Test policies on a file of cases. Exit code 0 if all hold and there is no warning about the policies, 1 if
    not, 2 if a file is malformed: then every problem is printed.

    Nothing is changed anywhere; without --live, no server is asked.
    """
    with malformed_files():
        cases = case_file(file)
        rules = _rules(credentials) if live else None
        organization, policies = _organization(cases, file, rules)
        results = [
            run_case(case) for case in read_cases(cases, organization, time.time_ns() // 1_000_000, str(file))
        ]
    if as_json:
        print(format_json([_result_as_json(result) for result in results]))
    else:
        for result in results:
            _print_result(result)
        failed = sum(not result.holds for result in results)
        print(f"\n{len(results) - failed} of {len(results)} cases hold")
    warnings = _warnings(cases, policies, organization, rules)
    print_warnings(warnings)
    if not all(result.holds for result in results) or (warnings and not allow_warnings):
        raise typer.Exit(1)


def _warnings(
    file: CaseFile, policies: list[Policy], organization: OrganizationUnderTest, rules: OrganizationRules | None
) -> list[PolicyWarning]:
    """The warnings about the tested policies. Only the ids of users and of their tags are known."""
    users = organization.users.values() if file.users is not None or rules is not None else None
    known = KnownIds(
        users=None if users is None else frozenset(user.user_id for user in users),
        user_tags=None if users is None or rules else frozenset(tag for user in users for tag in user.user_tags),
    )
    steps = policy_warnings(
        policies,
        known,
        ServerSettings(refuses_raw_payloads=organization.refuse_raw_payloads),
        alternatives(CATALOGUE),
    )
    return [warning for step in steps for warning in step]


def _rules(credentials: Path | None) -> OrganizationRules:
    with open_client(credentials) as client:
        return rules_of(client)


def _organization(
    file: CaseFile, path: Path, rules: OrganizationRules | None
) -> tuple[OrganizationUnderTest, list[Policy]]:
    """The organization of the file, completed by `rules` with --live. Raises MalformedTable with the
    problems of policies and users."""
    where = str(path)
    policies: list[Policy] = []
    users: Sequence[User] = rules.users if rules else ()
    malformed = MalformedTables()
    with malformed.collect():
        policies = _policies(file, path, rules)
    if file.users is not None:
        with malformed.collect():
            users = read_users(file.users, f"{where}, user")
    malformed.check()
    if file.root_quorum is not None:
        quorum = read_quorum(file.root_quorum, users, f"{where}, root_quorum")
    else:
        # Users of the file are not those of the organization, so neither is its quorum.
        quorum = rules.root_quorum if rules and file.users is None else RootQuorum(1, ())
    organization = organization_under_test(users, quorum, policies, refuse_raw_payloads=file.refuse_raw_payloads)
    return organization, policies


def _policies(file: CaseFile, path: Path, rules: OrganizationRules | None) -> list[Policy]:
    """The policies of the file, or if it has none, those of the organization. Raises MalformedTable."""
    policies = policies_of(file, path)
    if policies is not None:
        return policies
    if rules is None:
        raise MalformedTable(str(path), "it names no `policies`; to try those of the organization, add --live")
    return list(rules.policies)


def _print_result(result: CaseResult) -> None:
    case, decision = result.case, explaining.decision_of_test(result.decision)
    name = printable(case.name)
    if result.holds:
        print(f"✓ {name} → {explaining.headline(decision)}")
    else:
        by = f" by {case.by!r}" if case.by else ""
        print(f"✗ {name} → {explaining.headline(decision)}; expected {case.expect}{printable(by)}")
        for line in explaining.policy_lines(decision):
            print(f"    {line}")
    for user_name in result.uncounted:
        print(f"    the approval of {printable(user_name)} would be refused: no open consensus counts it")


def _result_as_json(result: CaseResult) -> dict[str, Any]:
    case = result.case
    by = {"expectedBy": case.by} if case.by else {}
    record = {"name": case.name, "holds": result.holds, "expected": case.expect, **by, "outcome": result.outcome}
    uncounted = {"uncountedApprovals": result.uncounted} if result.uncounted else {}
    return record | explaining.decision_as_json(explaining.decision_of_test(result.decision)) | uncounted
