"""`keystead approve` and `keystead reject`: a vote on an activity that waits, after it was shown.

Not here: what is shown (`showing`), what the activity waits for after the vote (`waiting`).
"""

from __future__ import annotations

import sys

from keystead.api.catalogue import activity_kind
from keystead.api.enums import ActivityStatus
from keystead.cli.asking import Yes, confirm
from keystead.cli.credentials import CredentialsFile
from keystead.cli.failure import Failure
from keystead.cli.lockouts import CHANGES_OF_LISTS, confirm_lockout, lockout
from keystead.cli.requests import format_json, open_client
from keystead.cli.showing import ShownTarget, describe, description_lines, find_activity, record_lines
from keystead.cli.tables import AsJson
from keystead.cli.texts import status
from keystead.cli.waiting import waits_for
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
