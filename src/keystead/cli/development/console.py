"""`keystead console`: prints a new link that opens the console of a development server, logged in.

Not here: the links (`server.console.link`).
"""

from __future__ import annotations

import os

import httpx

from keystead.cli.credentials import CredentialsFile, chosen_credentials
from keystead.cli.failure import Failure
from keystead.client.certificates import certificates_for
from keystead.server.console.link import LINK_PATH, LINK_REQUEST
from keystead.stamps.signing import ApiKeyStamper


def console(credentials: CredentialsFile = None) -> None:
    """Print a link to the console of `keystead dev`, logged in. It works once, on this machine."""
    chosen = chosen_credentials(credentials, os.environ)
    name, stamp = ApiKeyStamper(chosen.api_public_key, chosen.api_private_key).stamp(LINK_REQUEST)
    headers = {"content-type": "application/json", name: stamp}
    try:
        # A proxy of the environment cannot reach this machine.
        verify = certificates_for(chosen.base_url, is_direct=True, ca_file=chosen.ca_file)
        answer = httpx.post(
            chosen.base_url + LINK_PATH,
            content=LINK_REQUEST,
            headers=headers,
            timeout=10,
            trust_env=False,
            verify=verify,
        )
    except httpx.HTTPError as failed:
        raise Failure(
            f"{chosen.base_url} does not answer ({type(failed).__name__}): is keystead dev running?"
        ) from None
    if answer.status_code == httpx.codes.NOT_FOUND:
        raise Failure(f"{chosen.base_url} is not a development server: log in at {chosen.base_url}/console/")
    if answer.status_code != httpx.codes.OK:
        raise Failure(f"{chosen.base_url} refused a link: {answer.json()['message']}")
    print(chosen.base_url + answer.json()["link"])
