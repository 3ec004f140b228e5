"""`keystead console`: prints a link that logs in to the console of a development server once.

Not here: the server's answer (`server.console_link`), the console (`keystead.console`).
"""

from __future__ import annotations

import json
import os
import time
import webbrowser
from typing import Annotated

import httpx
import typer

from keystead.cli.credentials import CredentialsFile, chosen_credentials
from keystead.cli.failure import Failure
from keystead.client.certificates import certificates_for
from keystead.client.credentials import Credentials
from keystead.stamps.signing import ApiKeyStamper


def console(
    open_: Annotated[bool, typer.Option("--open", help="Open the link in the browser.")] = False,
    credentials: CredentialsFile = None,
) -> None:
    """Print a link that logs in to the console once.

    On another server than `keystead dev`, the console is at /console/, and people log in with a passkey.
    """
    link = _new_link(chosen_credentials(credentials, os.environ))
    print(link)
    if open_:
        webbrowser.open(link)


def _new_link(credentials: Credentials) -> str:
    base_url = credentials.base_url
    body = json.dumps({"timestampMs": time.time_ns() // 1_000_000}).encode()
    name, stamp = ApiKeyStamper(credentials.api_public_key, credentials.api_private_key).stamp(body)
    headers = {"content-type": "application/json", name: stamp}
    try:
        # A proxy of the environment cannot reach this machine.
        verify = certificates_for(base_url, is_direct=True)
        answer = httpx.post(
            f"{base_url}/dev/v1/console-link",
            content=body,
            headers=headers,
            timeout=10,
            trust_env=False,
            verify=verify,
        )
    except httpx.HTTPError as failed:
        raise Failure(f"{base_url} does not answer ({type(failed).__name__}): is keystead dev running?") from None
    if answer.status_code == httpx.codes.NOT_FOUND:
        raise Failure(
            f"only keystead dev makes links: open {base_url}/console/ and log in with a passkey or the file of an "
            "API key"
        )
    if answer.status_code != httpx.codes.OK:
        raise Failure(f"{base_url} made no link ({answer.status_code}): {answer.json().get('message', '')}")
    url: str = answer.json()["url"]
    return url
