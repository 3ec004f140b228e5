"""Reads a client's settings from the environment or a file.

Not here: their use (`client`). No error quotes a value, because it may be the private key.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from keystead.client.errors import UsageError

ENVIRONMENT = {
    "base_url": "KEYSTEAD_BASE_URL",
    "api_public_key": "KEYSTEAD_API_PUBLIC_KEY",
    "api_private_key": "KEYSTEAD_API_PRIVATE_KEY",
    "organization_id": "KEYSTEAD_ORGANIZATION_ID",
}
"""The variables that `from_env` needs."""

CA_FILE = "KEYSTEAD_CA_FILE"
"""The variable with the authority that the client trusts, for a server with a certificate of its own."""


class Credentials(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """An API key, its server and its organization. Keys are hex. `user_id` is information for people.
    `auth_proxy_id`: the configuration of an authentication proxy of the organization, for pages without a key.

    `ca_file`: a PEM file of the authority that signs the server's certificate, if it is a private one.
    """

    base_url: str
    organization_id: str
    api_public_key: str
    api_private_key: str
    user_id: str | None = None
    ca_file: str | None = None
    auth_proxy_id: str | None = None

    def __repr__(self) -> str:
        return f"Credentials(organization_id={self.organization_id!r}, api_public_key={self.api_public_key!r})"


def environment_credentials(environ: Mapping[str, str] = os.environ) -> Credentials:
    """The settings in the environment. Raises UsageError, which names every variable that is missing or empty."""
    missing = [variable for variable in ENVIRONMENT.values() if not environ.get(variable)]
    if missing:
        raise UsageError(f"not set in the environment: {', '.join(missing)}")
    required = {field: environ[variable] for field, variable in ENVIRONMENT.items()}
    return Credentials(**required, ca_file=environ.get(CA_FILE) or None)


def credentials_in(path: str | os.PathLike[str]) -> Credentials:
    """The settings in a JSON file: baseUrl, organizationId, userId, apiPublicKey, apiPrivateKey, caFile,
    authProxyId.

    Raises UsageError if it cannot be read, or lacks one of the first three or a key.
    """
    try:
        return msgspec.json.decode(Path(path).read_bytes(), type=Credentials)
    except OSError as failed:
        raise UsageError(f"credentials file {os.fspath(path)}: {failed.strerror}") from failed
    except msgspec.ValidationError as refused:
        # The decoder's message names members and types, never values. A chained exception would hold the bytes
        # of the file.
        raise UsageError(f"credentials file {os.fspath(path)}: {refused}") from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise UsageError(f"credentials file {os.fspath(path)} is not JSON") from None
