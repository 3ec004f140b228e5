"""`keystead activities`: who asked for what, to whom, how much, and with what result.

Here: filters, pages, the table, the lines of --follow, the votes. Not here: polling (`following`), the descriptions
(`describe`).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import msgspec
import typer

from keystead.api.catalogue import activity_kind
from keystead.api.choices import did_you_mean
from keystead.api.enums import ActivityStatus
from keystead.cli import following
from keystead.cli.asking import Yes, confirm
from keystead.cli.columns import GREEN, RED, YELLOW, Column, JsonRecord, ends_of, id_column
from keystead.cli.credentials import CredentialsFile
from keystead.cli.failure import Failure
from keystead.cli.instants import made_at_ms, read_instant
from keystead.cli.lockouts import CHANGES_OF_LISTS, confirm_lockout, lockout
from keystead.cli.names import names_in
from keystead.cli.requests import format_json, open_client
from keystead.cli.showing import ShownTarget, describe, description_lines, find_activity, record_lines
from keystead.cli.tables import AsJson, show_table
from keystead.cli.texts import kind, moment, printable, status
from keystead.cli.waiting import waits_for
from keystead.client.client import Client
from keystead.client.operations import ACTIVITY_TYPES
from keystead.describe.activity import asker_of, describe_activity
from keystead.describe.stamped import difference_from_stamped

_OPEN = frozenset({ActivityStatus.CONSENSUS_NEEDED, ActivityStatus.AUTHENTICATORS_NEEDED})


def approve(
    activity: ShownTarget, yes: Yes = False, credentials: CredentialsFile = None, as_json: AsJson = False
) -> None:
    """Approve an activity that waits, after showing it. If no other approval is missing, it is then executed."""
    _vote("approve_activity", activity, yes, credentials, as_json)


def reject(
    activity: ShownTarget, yes: Yes = False, credentials: CredentialsFile = None, as_json: AsJson = False
) -> None:
    """Reject an activity that waits, after showing it. One rejection is final."""
    _vote("reject_activity", activity, yes, credentials, as_json)


def _vote(operation: str, target: str, yes: bool, credentials: CredentialsFile, as_json: bool) -> None:
    with open_client(credentials) as client:
        record = find_activity(client, target)
        if record["status"] not in _OPEN:
            raise Failure(f"activity {record['id']} has status {status(record)}: it waits for no vote")
        # With --json, only the answer is on standard output.
        for line in (*description_lines(describe(client, record)), "", *record_lines(record, [])):
            print(line, file=sys.stderr if as_json else sys.stdout)
        if operation == "approve_activity" and (difference := difference_from_stamped(record)) is not None:
            raise Failure(f"not approved: {difference}")
        word, parameters = operation.partition("_")[0], {"fingerprint": record["fingerprint"]}
        caution = None
        if activity_kind(record["type"]) in CHANGES_OF_LISTS:
            caution = lockout(client, operation, {"parameters": parameters})
        if caution is not None:
            confirm_lockout(caution, yes, f"keystead {word}")
        else:
            confirm(f"{word.capitalize()} it?", yes, f"keystead {word}")
        activity_type = f"ACTIVITY_TYPE_{operation.upper()}"
        activity = client.submit(operation, parameters, activity_type=activity_type)["activity"]
        if as_json:
            print(format_json(activity))
            return
        print()
        for line in record_lines(activity, waits_for(client, activity)):
            print(line)


PAGE = 100
LIMIT = 20
VERSIONS_MAX = 12
"""The newest version of an activity type that a filter by its kind includes."""

_TYPES_EXPECTED = "expected the name of an operation that submits an activity, such as create_wallet"

_COLOURS = {
    "COMPLETED": GREEN,
    "FAILED": RED,
    "REJECTED": RED,
    "CONSENSUS_NEEDED": YELLOW,
    "AUTHENTICATORS_NEEDED": YELLOW,
}

_STATUSES = {member.value.removeprefix("ACTIVITY_STATUS_"): member.value for member in ActivityStatus}


def _complete_status(typed: str) -> list[str]:
    return [word for name in _STATUSES for word in (name.lower(), name) if word.startswith(typed or word.lower())]


def activities(
    credentials: CredentialsFile = None,
    as_json: AsJson = False,
    limit: Annotated[
        int | None, typer.Option(min=1, help=f"How many, newest first. [default: {LIMIT}; with --since: all]")
    ] = None,
    since: Annotated[
        str, typer.Option(help="Only newer ones: 30m, 12h, 7d, 2026-09-01 or 2026-09-01T10:00:00Z.")
    ] = "",
    after: Annotated[str, typer.Option(metavar="ID", help="Only ones that are older than this activity.")] = "",
    with_status: Annotated[
        list[str] | None,
        typer.Option(
            "--status", help="Only of this status, such as completed. Repeatable.", autocompletion=_complete_status
        ),
    ] = None,
    with_type: Annotated[
        list[str] | None, typer.Option("--type", help="Only of this type, such as create_wallet. Repeatable.")
    ] = None,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow", "-f", help="Then print new and changed activities, until Ctrl-C. Takes no filter."
        ),
    ] = False,
    interval: Annotated[float, typer.Option(min=0.1, help="Seconds between two polls of --follow.")] = 1.0,
) -> None:
    """List the newest activities: who, what, to whom, how much. With --follow, oldest first and one a line."""
    since_ms = read_instant(since, time.time_ns() // 1_000_000) if since else 0
    filters = _filters(with_status or [], with_type or [])
    if follow and (filters or since or after):
        raise typer.BadParameter(
            "--follow shows every activity: do not combine it with --since, --after, --status, --type"
        )
    with open_client(credentials) as client:
        if follow:
            show = _print_json_line if as_json else _line_printer(client)
            following.follow(client, min(limit or LIMIT, following.PAGE), interval, show)
            return
        wanted = limit or (None if since else LIMIT)
        records, is_more = _read_activities(client, filters, since_ms, after, wanted)
        if not as_json:
            names = names_in(client, records)
            records = [{**record, "described": describe_activity(record, names)} for record in records]
    show_table(records, as_json, _COLUMNS)
    if is_more:
        print(f"older ones: keystead activities --after {records[-1]['id']}", file=sys.stderr)


OF_OPERATOR = "RECOVER_ORGANIZATION"
"""The kind of activity that no client submits."""


def _filters(statuses: list[str], types: list[str]) -> dict[str, Any]:
    filters: dict[str, Any] = {}
    if statuses:
        filters["filterByStatus"] = [
            _one_of(text, _STATUSES, "--status", f"expected {' or '.join(_STATUSES)}") for text in statuses
        ]
    if types:
        kinds = {name: name for name in (*map(activity_kind, ACTIVITY_TYPES.values()), OF_OPERATOR)}
        filters["filterByType"] = [
            version for text in types for version in _versions(_one_of(text, kinds, "--type", _TYPES_EXPECTED))
        ]
    return filters


def _one_of(text: str, known: Mapping[str, str], option: str, expected: str) -> str:
    """The value of a word, which may have any letter case, and may lack the prefix that the API writes. `expected`:
    the end of the message about an unknown word that is similar to no known word."""
    word = text.upper().replace("-", "_").removeprefix("ACTIVITY_STATUS_")
    word = activity_kind(word)
    if word not in known:
        hint = did_you_mean(word, known) or f": {expected}"
        raise typer.BadParameter(f"{text!r} is unknown{hint}", param_hint=option)
    return known[word]


def _versions(activity_kind: str) -> list[str]:
    """Every version of a type: clients send older ones too."""
    first = f"ACTIVITY_TYPE_{activity_kind}"
    return [first, *(f"{first}_V{number}" for number in range(2, VERSIONS_MAX + 1))]


def _read_activities(
    client: Client, filters: Mapping[str, Any], since_ms: int, after: str, wanted: int | None
) -> tuple[list[JsonRecord], bool]:
    """At most `wanted` activities, newest first, and whether there may be more of them."""
    records: list[JsonRecord] = []
    for activity in _newest(client, filters, after, min(PAGE, wanted or PAGE)):
        if made_at_ms(activity["id"]) < since_ms:
            return records, False
        if len(records) == wanted:
            return records, True
        records.append(activity)
    return records, False


def _newest(client: Client, filters: Mapping[str, Any], after: str, page_size: int) -> Iterator[JsonRecord]:
    options = {"limit": str(page_size), **({"after": after} if after else {})}
    while True:
        answer = client.request("query/list_activities", {"paginationOptions": options, **filters})["activities"]
        yield from answer
        if not answer:
            return
        options = {"limit": str(PAGE), "after": answer[-1]["id"]}


def _short_status(text: str) -> str:
    return "waiting" if text.endswith("_NEEDED") else text.lower()


_COLUMNS = (
    id_column("activity", lambda activity: activity["id"]),
    Column(name="asked", cell=lambda activity: moment(activity["createdAt"]), optional=1),
    Column(name="by", cell=asker_of, cut=True),
    Column(name="what", cell=lambda activity: activity["described"].what, cut=True),
    Column(name="to", cell=lambda activity: activity["described"].recipient, cut=True, short=ends_of),
    Column(name="amount", cell=lambda activity: activity["described"].amount),
    Column(
        name="status", cell=status, short=_short_status, colour=lambda activity: _COLOURS.get(status(activity), "")
    ),
    Column(name="votes", cell=lambda activity: str(len(activity["votes"])), optional=2),
    Column(name="type", cell=kind, optional=3),
    Column(name="fingerprint", cell=lambda activity: activity["fingerprint"], optional=4),
)


def _line_printer(client: Client) -> following.Show:
    def show(activity: JsonRecord) -> None:
        described = describe_activity(activity, names_in(client, [activity]))
        votes = len(activity["votes"])
        cells = (
            moment(activity["updatedAt"]),
            activity["id"],
            f"{status(activity):<21}",
            f"{votes} vote{'' if votes == 1 else 's'}".ljust(8),
            printable(" ".join(filter(None, (described.what, described.amount)))),
            printable(f"to {described.recipient}" if described.recipient else ""),
            printable(f"by {asker_of(activity)}"),
        )
        print("  ".join(filter(None, cells)).rstrip(), flush=True)

    return show


def _print_json_line(activity: JsonRecord) -> None:
    print(msgspec.json.encode(activity).decode(), flush=True)
