"""`keystead outbox`: the messages that a development server kept instead of sending them.

Here: reading them from the server, and printing them. Not here: keeping them (`delivery.kept`).
"""

from __future__ import annotations

import json
import os
import time
from typing import Annotated, Any

import httpx
import typer

from keystead.cli.credentials import CredentialsFile, chosen_credentials
from keystead.cli.failure import Failure
from keystead.cli.texts import NONE
from keystead.client.certificates import certificates_for

_PAUSE_S = 0.5


def outbox(
    follow: Annotated[
        bool, typer.Option("--follow", help="Continue, and show new messages when they come.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per line.")] = False,
    credentials: CredentialsFile = None,
) -> None:
    """Show the e-mails and SMS that `keystead dev` has kept, oldest first."""
    chosen = chosen_credentials(credentials, os.environ)
    shown: set[str] = set()
    try:
        while True:
            for kept in _read_messages(chosen.base_url, chosen.ca_file):
                if kept["message"]["id"] not in shown:
                    shown.add(kept["message"]["id"])
                    print(json.dumps(kept) if as_json else _message_text(kept), flush=True)
            if not follow:
                if not shown and not as_json:
                    print(NONE)
                return
            time.sleep(_PAUSE_S)
    except KeyboardInterrupt:
        return


def _read_messages(base_url: str, ca_file: str | None) -> list[dict[str, Any]]:
    try:
        # A proxy of the environment cannot reach this machine.
        verify = certificates_for(base_url, is_direct=True, ca_file=ca_file)
        answer = httpx.get(f"{base_url}/dev/v1/outbox", timeout=10, trust_env=False, verify=verify)
    except httpx.HTTPError as failed:
        raise Failure(f"{base_url} does not answer ({type(failed).__name__}): is keystead dev running?") from None
    if answer.status_code != httpx.codes.OK:
        raise Failure(f"{base_url} has no outbox ({answer.status_code}): only keystead dev has one")
    messages: list[dict[str, Any]] = answer.json()["messages"]
    return messages


def _message_text(kept: dict[str, Any]) -> str:
    message = kept["message"]
    at = time.strftime("%H:%M:%S", time.localtime(kept["sentAtMs"] / 1000))
    subject = f"  {message['subject']}" if message.get("subject") else ""
    body = "\n".join(f"    {line}" for line in message["text"].rstrip().splitlines())
    return f"{at}  {message['channel']} to {message['recipient']}{subject}\n{body}\n"
