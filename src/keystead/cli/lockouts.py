"""Asks the user before a request is sent that would lock its own sender out by an IP allow-list.

The server says whether it would: it knows the lists, and the address that it sees.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Final

from keystead.cli.asking import confirm
from keystead.cli.columns import YELLOW, coloured
from keystead.cli.texts import printable
from keystead.client.client import Client
from keystead.client.errors import InvalidRequest, NotFound

_OPERATIONS: Final = {
    "set_ip_allowlist": "setIpAllowlist",
    "remove_ip_allowlist": "removeIpAllowlist",
    "approve_activity": "approveActivity",
}
"""The operations that can lock their sender out, each with the member of the query `check_ip_allowlist`."""

CHANGES_OF_LISTS: Final = frozenset({"SET_IP_ALLOWLIST", "REMOVE_IP_ALLOWLIST"})
"""The kinds of activities whose execution can lock out."""


def lockout(client: Client, operation: str, fields: Mapping[str, Any]) -> str | None:
    """A caution about this submission; None if it does not lock its sender out. `fields`: as `Client.request` takes
    them."""
    if operation not in _OPERATIONS or not isinstance(fields["parameters"], dict):
        return None
    # Published clients put this member among the parameters, and only a submission accepts it there.
    parameters = {name: value for name, value in fields["parameters"].items() if name != "generateAppProofs"}
    question = {_OPERATIONS[operation]: parameters}
    if "organizationId" in fields:
        question["organizationId"] = fields["organizationId"]
    try:
        refusal = client.query("check_ip_allowlist", **question).get("refusal")
    except (InvalidRequest, NotFound):
        return None  # the submission is refused too, with its own error; or the server has no such query
    if refusal is None:
        return None
    return f"once this is executed, your own requests are refused: {refusal}."


def confirm_lockout(caution: str, yes: bool, command: str) -> None:
    """Show the caution, and ask. Raises Failure unless the answer is yes."""
    print(coloured(f"CAUTION  {printable(caution)}", YELLOW), file=sys.stderr)
    confirm("Send it nevertheless?", yes, command)
