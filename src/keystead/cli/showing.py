"""`keystead show`: what an activity asks for, who asked, who voted, and what it waits for.

Here: finding the activity, the lines that are printed. Not here: the descriptions (`describe`), the missing votes
(`waiting`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated

import msgspec
import typer

from keystead.api.enums import VoteSelection
from keystead.api.identifiers import UUID_PATTERN
from keystead.cli.columns import BOLD, YELLOW, JsonRecord, coloured
from keystead.cli.credentials import CredentialsFile
from keystead.cli.failure import Failure
from keystead.cli.names import names_in
from keystead.cli.requests import format_json, open_client
from keystead.cli.tables import AsJson
from keystead.cli.texts import kind, moment, printable, status
from keystead.cli.waiting import waits_for
from keystead.client.client import Client
from keystead.describe.activity import asker_of, credential_of, describe_activity, name_of
from keystead.describe.description import ActivityDescription
from keystead.describe.stamped import difference_from_stamped

_FINGERPRINT = re.compile(r"sha256:[0-9a-f]{64}")
_END_OF_ID = re.compile(r"[0-9a-f]{8,12}")
PAGE = 100
PAGES_SEARCHED = 10
"""How many pages of the newest activities are searched for a fingerprint or the end of an id."""

LABEL_WIDTH = 13

ShownTarget = Annotated[
    str,
    typer.Argument(
        metavar="ACTIVITY", help="Its id, the last 8 to 12 digits of its id, or its fingerprint (sha256:…)."
    ),
]


def show(activity: ShownTarget, credentials: CredentialsFile = None, as_json: AsJson = False) -> None:
    """Describe what an activity asks for: in words, with who asked, the votes so far and those that are missing."""
    with open_client(credentials) as client:
        record = find_activity(client, activity)
        description = describe(client, record)
        waits = waits_for(client, record)
    if as_json:
        print(format_json({"activity": record, "description": msgspec.to_builtins(description), "waitsFor": waits}))
        return
    for line in (*description_lines(description), "", *record_lines(record, waits)):
        print(line)


def find_activity(client: Client, target: str) -> JsonRecord:
    """The activity with this id, end of an id, or fingerprint. Raises Failure unless there is exactly one."""
    if re.match(UUID_PATTERN, target):
        activity: JsonRecord = client.query("get_activity", activityId=target)["activity"]
        return activity
    if not _FINGERPRINT.fullmatch(target) and not _END_OF_ID.fullmatch(target):
        raise typer.BadParameter(
            f"{target!r}: expected an activity's id, the last 8 to 12 digits of one, or sha256: and 64 hex digits",
            param_hint="ACTIVITY",
        )
    matches = [
        record for record in _newest(client) if record["fingerprint"] == target or record["id"].endswith(target)
    ]
    if not matches:
        raise Failure(f"none of the newest {PAGE * PAGES_SEARCHED} activities is {target}: give the whole id")
    if len(matches) > 1:
        raise Failure(f"{len(matches)} activities end in {target}: give the whole id")
    return matches[0]


def _newest(client: Client) -> Iterator[JsonRecord]:
    options = {"limit": str(PAGE)}
    for _ in range(PAGES_SEARCHED):
        page = client.query("list_activities", paginationOptions=options)["activities"]
        yield from page
        if not page:
            return
        options["after"] = page[-1]["id"]


def describe(client: Client, activity: JsonRecord) -> ActivityDescription:
    """The description of an activity. Its first caution is that the server shows something else than was stamped,
    if so."""
    description = describe_activity(activity, names_in(client, [activity]))
    difference = difference_from_stamped(activity)
    if difference is None:
        return description
    return msgspec.structs.replace(description, cautions=(difference, *description.cautions))


def description_lines(description: ActivityDescription) -> Iterator[str]:
    """The lines of the headline, the facts and the cautions."""
    yield coloured(printable(description.headline), BOLD)
    labels = [printable(fact.label) for fact in description.facts]
    width = min(max((len(label) for label in labels), default=0), 30)
    for label, fact in zip(labels, description.facts, strict=True):
        first, *rest = fact.text.split("\n")
        yield f"  {label.ljust(width)}  {printable(first)}".rstrip()
        for line in rest:
            yield f"  {' ' * width}  {printable(line)}"
    for caution in description.cautions:
        yield coloured(f"  CAUTION  {printable(caution)}", YELLOW)


def record_lines(activity: JsonRecord, waits: list[str]) -> Iterator[str]:
    """The lines of the activity's record: its id, type and status, who asked, the votes, what it waits for."""
    yield _label_line("activity", f"{activity['id']}  {kind(activity)}")
    yield _label_line("fingerprint", activity["fingerprint"])
    yield _label_line("asked", moment(activity["createdAt"]))
    yield _label_line("status", status(activity))
    if failure := activity.get("failure"):
        yield _label_line("failure", printable(failure["message"]))
    if not activity["votes"]:
        yield _label_line("votes", f"none: {asker_of(activity)} asked, at the server's machine")
    for index, vote in enumerate(activity["votes"]):
        yield _label_line("" if index else "votes", vote_line(vote, asked=index == 0))
    for index, line in enumerate(waits):
        yield _label_line("or" if index else "waits for", line)


def vote_line(vote: JsonRecord, *, asked: bool) -> str:
    is_rejection = vote["selection"] == VoteSelection.REJECTED.value
    action = "rejected" if is_rejection else "asked" if asked else "approved"
    credential = credential_of(vote)
    return printable(f"{name_of(vote)} {action}" + (f", with {credential}" if credential else ""))


def _label_line(label: str, text: str) -> str:
    return f"{label:<{LABEL_WIDTH}}{text}"
