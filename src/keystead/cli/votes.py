"""`keystead approve` and `keystead reject`: a vote on an activity that waits.

Not here: what the activity waits for after the vote (`waiting`).
"""

from __future__ import annotations

import re
from typing import Annotated, Any

import typer

from keystead.api.enums import VoteSelection
from keystead.api.identifiers import UUID_PATTERN
from keystead.cli.credentials import CredentialsFile
from keystead.cli.requests import calling, formatted
from keystead.cli.tables import AsJson
from keystead.cli.texts import kind, printable, status
from keystead.cli.waiting import waits_for
from keystead.client.client import Client

_FINGERPRINT = re.compile(r"sha256:[0-9a-f]{64}")

Target = Annotated[
    str, typer.Argument(metavar="FINGERPRINT", help="Fingerprint of the activity (sha256:…), or its id.")
]


def approve(fingerprint: Target, credentials: CredentialsFile = None, as_json: AsJson = False) -> None:
    """Approve an activity that waits. If yours is the last approval it needs, it is executed."""
    _vote("approve_activity", fingerprint, credentials, as_json)


def reject(fingerprint: Target, credentials: CredentialsFile = None, as_json: AsJson = False) -> None:
    """Reject an activity that waits. One rejection is final."""
    _vote("reject_activity", fingerprint, credentials, as_json)


def _vote(operation: str, target: str, credentials: CredentialsFile, as_json: bool) -> None:
    is_id = re.match(UUID_PATTERN, target) is not None
    if not is_id and _FINGERPRINT.fullmatch(target) is None:
        raise typer.BadParameter(
            f"{target!r}: expected sha256: and 64 hex digits, or an activity's id", param_hint="FINGERPRINT"
        )
    with calling(credentials) as client:
        fingerprint = (
            client.query("get_activity", activityId=target)["activity"]["fingerprint"] if is_id else target
        )
        activity = client.submit(
            operation, {"fingerprint": fingerprint}, activity_type=f"ACTIVITY_TYPE_{operation.upper()}"
        )["activity"]
        if as_json:
            print(formatted(activity))
        else:
            _show(client, activity)


def _show(client: Client, activity: dict[str, Any]) -> None:
    print(f"activity  {activity['id']}  {kind(activity)}")
    print(f"status    {status(activity)}")
    if failure := activity.get("failure"):
        print(f"failure   {printable(failure['message'])}")
    for index, vote in enumerate(activity["votes"]):
        what = "approved" if vote["selection"] == VoteSelection.APPROVED.value else "rejected"
        print(f"{'' if index else 'votes':<10}{printable(vote['user']['userName'])} {what}")
    for index, line in enumerate(waits_for(client, activity)):
        print(f"{'or' if index else 'waits for':<10}{line}")
