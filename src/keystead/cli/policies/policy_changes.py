"""`keystead policy list`, `diff` and `apply`: the policies of an organization, and bringing them to the state of
files.

Here: comparing files with the organization, asking the user, submitting the changes. Not here: reading files
(`case_files`), the lines of a difference (`describe.policy_changes`), tests (`policies`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from keystead.api.enums import ActivityStatus
from keystead.api.records import Policy
from keystead.cli.asking import Yes, confirm
from keystead.cli.columns import GREEN, RED, Column, JsonRecord, coloured, id_column
from keystead.cli.credentials import CredentialsFile
from keystead.cli.failure import Failure
from keystead.cli.policies.case_files import malformed_files, policies_at
from keystead.cli.policies.policy_warnings import print_warnings
from keystead.cli.policies.rules import known_ids, policy_record
from keystead.cli.requests import open_client
from keystead.cli.tables import AsJson, show_table
from keystead.cli.texts import printable, status
from keystead.client.client import Client
from keystead.client.errors import NotFound, NotImplementedByServer
from keystead.describe.policy_changes import FIELDS, policy_diff
from keystead.operations import CATALOGUE
from keystead.pipeline.operation import alternatives
from keystead.policies.linting.warnings import ServerSettings, policy_warnings

BATCH_MAX = 100
"""The most policies in one request."""

Places = Annotated[
    list[Path],
    typer.Argument(metavar="PATH", exists=True, help="Files or folders of policies, in TOML or JSON."),
]
Prune = Annotated[
    bool, typer.Option("--prune", help="Also delete the policies of the organization that are in no file.")
]


class PolicyChange(msgspec.Struct, frozen=True, kw_only=True):
    """A change of one policy. `before`: the policy of the organization, None for a new one. `after`: None for one
    that is deleted."""

    name: str
    before: JsonRecord | None
    after: JsonRecord | None

    @property
    def lines(self) -> tuple[str, ...]:
        return policy_diff(self.before, self.after)


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """The difference between files and an organization. `others`: policies of the organization that are in no file.

    Policies of authentication proxies are left out: they belong to their proxies.
    """

    created: tuple[PolicyChange, ...]
    updated: tuple[PolicyChange, ...]
    others: tuple[PolicyChange, ...]


def list_policies(credentials: CredentialsFile = None, as_json: AsJson = False) -> None:
    """List the policies of the organization."""
    with open_client(credentials) as client:
        policies = client.query("list_policies")["policies"]
    show_table(
        policies,
        as_json,
        [
            id_column("policy", lambda policy: policy["policyId"]),
            Column(name="name", cell=lambda policy: policy["policyName"], cut=True),
            Column(name="effect", cell=lambda policy: policy["effect"].removeprefix("EFFECT_")),
            Column(name="consensus", cell=lambda policy: _one_line(policy["consensus"]), cut=True),
            Column(name="condition", cell=lambda policy: _one_line(policy["condition"]), cut=True),
            Column(name="time", cell=lambda policy: _one_line(policy.get("time") or ""), cut=True, optional=1),
        ],
    )


def diff(places: Places, prune: Prune = False, credentials: CredentialsFile = None) -> None:
    """Show what `apply` would change. Exit code 0 if nothing, 1 if something, 2 if a file is malformed."""
    wanted = _read_files(places)
    with open_client(credentials) as client:
        difference = _difference(client, wanted)
        _warn(client, wanted, difference, prune)
    changes = _print_changes(difference, prune)
    if changes:
        raise typer.Exit(1)


def apply(places: Places, prune: Prune = False, yes: Yes = False, credentials: CredentialsFile = None) -> None:
    """Make the organization have the policies of the files.

    The changes are shown first. Policies are compared by name. Running it again changes nothing. Policies that are
    in no file stay, unless --prune is given. Exit code 1 if a change waits for approvals, 2 if a file is malformed.
    """
    wanted = _read_files(places)
    with open_client(credentials) as client:
        difference = _difference(client, wanted)
        _warn(client, wanted, difference, prune)
        changes = _print_changes(difference, prune)
        if not changes:
            return
        confirm(f"Make {len(changes)} change{'s' if len(changes) > 1 else ''}?", yes, "keystead policy apply")
        waiting = [activity for activity in _submit_changes(client, difference, prune) if not _is_done(activity)]
    if waiting:
        first = waiting[0]
        raise Failure(
            f"{len(waiting)} of the activities wait: activity {first['id']} has status {status(first)}; "
            f"keystead show {first['id']} says whose approval is missing"
        )


def _read_files(places: Sequence[Path]) -> list[Policy]:
    with malformed_files():
        return policies_at(places)


def _warn(client: Client, wanted: list[Policy], difference: Difference, prune: bool) -> None:
    """Print the warnings about the policies of the files, given the other policies that stay and the ids that
    exist."""
    kept = () if prune else difference.others
    stay = [policy_record(change.before) for change in kept if change.before is not None]
    ids = {policy.policy_id for policy in wanted}
    steps = policy_warnings([*wanted, *stay], known_ids(client), ServerSettings(), alternatives(CATALOGUE), ids)
    print_warnings(warning for step in steps for warning in step)


def _difference(client: Client, wanted: list[Policy]) -> Difference:
    of_proxies = _policy_ids_of_proxies(client)
    existing = {
        policy["policyName"]: policy
        for policy in client.query("list_policies")["policies"]
        if policy["policyId"] not in of_proxies
    }
    after = {policy.policy_name: _record(policy) for policy in wanted}
    changes = [PolicyChange(name=name, before=existing.get(name), after=record) for name, record in after.items()]
    return Difference(
        created=tuple(change for change in changes if change.before is None),
        updated=tuple(change for change in changes if change.before is not None and change.lines),
        others=tuple(
            PolicyChange(name=name, before=record, after=None)
            for name, record in existing.items()
            if name not in after
        ),
    )


def _policy_ids_of_proxies(client: Client) -> frozenset[str]:
    try:
        configs = client.query("list_auth_proxy_configs")["authProxyConfigs"]
    except (NotFound, NotImplementedByServer):
        return frozenset()
    return frozenset(config["policyId"] for config in configs)


def _record(policy: Policy) -> JsonRecord:
    return {
        "policyName": policy.policy_name,
        "effect": str(policy.effect),
        "consensus": policy.consensus,
        "condition": policy.condition,
        "time": policy.time or "",
        "notes": policy.notes,
    }


def _print_changes(difference: Difference, prune: bool) -> tuple[PolicyChange, ...]:
    """Print the changes, and return them."""
    changes = (*difference.created, *difference.updated, *(difference.others if prune else ()))
    for change in changes:
        action = "new" if change.before is None else "deleted" if change.after is None else "changed"
        print(f"policy {printable(change.name)!r}, {action}")
        for line in change.lines:
            colour = {"+": GREEN, "-": RED}.get(line[:1], "")
            text = f"  {printable(line)}"
            print(coloured(text, colour) if colour else text)
    if not changes:
        print("Nothing to do: the organization has the policies of the files.")
    if difference.others and not prune:
        names = ", ".join(repr(printable(change.name)) for change in difference.others)
        print(f"in no file, and not deleted without --prune: {names}")
    return changes


def _submit_changes(client: Client, difference: Difference, prune: bool) -> Iterator[JsonRecord]:
    """Submit the changes, and yield each activity. New policies come first, so that there is no time with too few
    rules."""
    for batch in _batches(difference.created):
        policies = [{name: change.after[name] for name in FIELDS} for change in batch if change.after]
        yield _submit(client, "create_policies", {"policies": policies}, f"{len(policies)} created")
    for change in difference.updated:
        if change.before and change.after:
            yield _submit(client, "update_policy", _update(change.before["policyId"], change.after), "1 changed")
    for batch in _batches(difference.others if prune else ()):
        ids = [change.before["policyId"] for change in batch if change.before]
        yield _submit(client, "delete_policies", {"policyIds": ids}, f"{len(ids)} deleted")


def _batches(changes: Sequence[PolicyChange]) -> Iterator[Sequence[PolicyChange]]:
    for start in range(0, len(changes), BATCH_MAX):
        yield changes[start : start + BATCH_MAX]


def _update(policy_id: str, after: JsonRecord) -> JsonRecord:
    return {
        "policyId": policy_id,
        "policyEffect": after["effect"],
        "policyConsensus": after["consensus"],
        "policyCondition": after["condition"],
        "policyNotes": after["notes"],
        "time": after["time"],
    }


def _submit(client: Client, operation: str, parameters: JsonRecord, done: str) -> JsonRecord:
    activity: JsonRecord = client.submit(operation, parameters)["activity"]
    state = done if _is_done(activity) else status(activity)
    print(f"activity {activity['id']}: {state}", file=sys.stderr)
    return activity


def _is_done(activity: JsonRecord) -> bool:
    return bool(activity["status"] == ActivityStatus.COMPLETED)


def _one_line(text: str) -> str:
    return " ".join(text.split())
