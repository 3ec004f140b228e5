"""`keystead approve` and `keystead reject`: a vote on an activity that waits, after it was shown.

Not here: what is shown (`showing`), what the activity waits for after the vote (`waiting`).
"""

from __future__ import annotations

import sys

from keystead.api.enums import ActivityStatus
from keystead.cli.asking import Yes, confirm
from keystead.cli.credentials import CredentialsFile
from keystead.cli.failure import Failure
from keystead.cli.requests import calling, formatted
from keystead.cli.showing import Target, activity_named, described, description_lines, record_lines
from keystead.cli.tables import AsJson
from keystead.cli.texts import status
from keystead.cli.waiting import waits_for
from keystead.describe.stamped import difference_from_stamped

_OPEN = frozenset({ActivityStatus.CONSENSUS_NEEDED, ActivityStatus.AUTHENTICATORS_NEEDED})


def approve(
    activity: Target, yes: Yes = False, credentials: CredentialsFile = None, as_json: AsJson = False
) -> None:
    """Approve an activity that waits, after showing it. If yours is the last approval it needs, it is executed."""
    _vote("approve_activity", activity, yes, credentials, as_json)


def reject(
    activity: Target, yes: Yes = False, credentials: CredentialsFile = None, as_json: AsJson = False
) -> None:
    """Reject an activity that waits, after showing it. One rejection is final."""
    _vote("reject_activity", activity, yes, credentials, as_json)


def _vote(operation: str, target: str, yes: bool, credentials: CredentialsFile, as_json: bool) -> None:
    with calling(credentials) as client:
        asked = activity_named(client, target)
        if asked["status"] not in _OPEN:
            raise Failure(f"activity {asked['id']} has status {status(asked)}: it waits for no vote")
        # With --json, standard output holds the answer alone.
        for line in (*description_lines(described(client, asked)), "", *record_lines(asked, [])):
            print(line, file=sys.stderr if as_json else sys.stdout)
        if operation == "approve_activity" and (difference := difference_from_stamped(asked)) is not None:
            raise Failure(f"not approved: {difference}")
        word = operation.partition("_")[0]
        confirm(f"{word.capitalize()} it?", yes, f"keystead {word}")
        activity = client.submit(
            operation, {"fingerprint": asked["fingerprint"]}, activity_type=f"ACTIVITY_TYPE_{operation.upper()}"
        )["activity"]
        if as_json:
            print(formatted(activity))
            return
        print()
        for line in record_lines(activity, waits_for(client, activity)):
            print(line)
