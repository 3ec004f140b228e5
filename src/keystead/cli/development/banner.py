"""The output of `keystead dev` when it is ready: everything that a first request needs, ready to paste."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from keystead.cli.credentials import DEFAULT_FILE
from keystead.cli.texts import printable
from keystead.client.credentials import CA_FILE, Credentials
from keystead.server.development.fixture_loading import LoadedKey
from keystead.server.development.published import is_published
from keystead.stamps.signing import ApiKeyStamper

_BELOW: Final = "\n" + " " * 16
"""Begins a line below the value of a line of the banner."""


class ReadyServer(NamedTuple):
    """What a development server has when it is ready. `addresses`: of the accounts of the first wallet.
    `auth_proxy_id`: the configuration of the first authentication proxy, "" without one."""

    addresses: Sequence[str]
    auth_proxy_id: str


def development_banner(
    credentials: Credentials,
    data: Path | None,
    credentials_file: Path | None,
    ready: ReadyServer,
    console_url: str,
    settings: Mapping[str, str],
    *,
    seed: str,
) -> str:
    """The text of the banner. `data`: the folder, None if everything is in memory. `credentials_file`: the file
    with the keys. `console_url`: a link that works once, "" without a console. `settings`: variables that are not
    at their defaults, with their values. `seed`: the text that keys are derived from, "" for none.
    """
    wallet = _BELOW.join(ready.addresses) or "none"
    changed = _BELOW.join(f"{name}={printable(value)}" for name, value in settings.items()) or "the defaults"
    console = "off"
    if console_url:
        console = (
            f"{console_url}{_BELOW}logs you in; it works once, and {_own_command()} console{_data_option(data)} "
            "prints another"
        )
    return f"""
Keystead {credentials.base_url}

  console       {console}

  organization  {credentials.organization_id}
  user          {credentials.user_id}
  public key    {credentials.api_public_key}
  private key   {credentials.api_private_key}
  wallet        Development, from the public test mnemonic of local chains
                {wallet}
  auth proxy    {ready.auth_proxy_id or "none"}
                {credentials.base_url}/auth-proxy
  data          {data or "in memory, gone when the server ends"}{_certificate(credentials)}
  credentials   {credentials_file or "here only; --credentials FILE writes them to a file"}
  settings      {changed}

  WARNING  {_warning(credentials, seed)}
{_first_requests(credentials)}"""


def _warning(credentials: Credentials, seed: str) -> str:
    if seed:
        return (
            "These keys are for development. They are derived from the seed, by anyone who knows it: such keys\n"
            "           are public."
        )
    if is_published(credentials.api_public_key):
        return (
            "These keys are for development. They are published, and the same on every machine: --fresh makes\n"
            "           others, and keystead serve refuses these."
        )
    return "These keys are for development: anything that reads this terminal or this folder can use them."


def _own_command() -> str:
    """How the reader of this terminal runs the program."""
    if shutil.which("keystead"):
        return "keystead"
    return sys.argv[0] if Path(sys.argv[0]).name == "keystead" else "python -m keystead"


def _data_option(data: Path | None) -> str:
    if data is None or data == DEFAULT_FILE.parent:
        return ""
    return f" --credentials {shlex.quote(str(data / DEFAULT_FILE.name))}"


def _certificate(credentials: Credentials) -> str:
    """The lines about the certificate of a server with TLS: what clients have to trust, and how."""
    if credentials.ca_file is None:
        return ""
    trusted = shlex.quote(credentials.ca_file)
    return f"""
  certificate   signed by {credentials.ca_file}, which clients have to trust:
                NODE_EXTRA_CA_CERTS={trusted} node app.mjs
                docs/tls.md has other clients and browsers"""


def _first_requests(credentials: Credentials) -> str:
    """A first request with curl, with Keystead's client and with a published client.

    The curl line stays valid, because a query carries no time.
    """
    ca_file = f"\n  export {CA_FILE}={shlex.quote(credentials.ca_file)}" if credentials.ca_file else ""
    return f"""
First request:

{curl_line(credentials)}

For keystead's own client and commands:

  export KEYSTEAD_BASE_URL={credentials.base_url}
  export KEYSTEAD_ORGANIZATION_ID={credentials.organization_id}
  export KEYSTEAD_API_PUBLIC_KEY={credentials.api_public_key}
  export KEYSTEAD_API_PRIVATE_KEY={credentials.api_private_key}{ca_file}

For a published TypeScript client:

  import {{ Turnkey }} from "@turnkey/sdk-server";
  const client = new Turnkey({{
    apiBaseUrl: "{credentials.base_url}",
    apiPublicKey: "{credentials.api_public_key}",
    apiPrivateKey: "{credentials.api_private_key}",
    defaultOrganizationId: "{credentials.organization_id}",
  }}).apiClient();
  console.log(await client.getWallets());
"""


def loaded_keys(keys: Sequence[LoadedKey]) -> str:
    """The text below the banner: the users of the fixtures, with their keys."""
    lines = ["", "Fixtures:", ""]
    for key in keys:
        lines += [
            f"  {key.organization_name} ({key.organization_id}), {key.user_name} ({key.user_id})",
            f"    public key    {key.public_key}",
            f"    private key   {key.private_key or 'not known here'}",
        ]
    return "\n".join(lines) + "\n"


def curl_line(credentials: Credentials) -> str:
    """A stamped query for the organization's wallets, as one command."""
    body = f'{{"organizationId":"{credentials.organization_id}"}}'
    name, value = ApiKeyStamper(credentials.api_public_key, credentials.api_private_key).stamp(body.encode())
    url = f"{credentials.base_url}/public/v1/query/list_wallets"
    trusted = f"--cacert {shlex.quote(credentials.ca_file)} " if credentials.ca_file else ""
    return (
        f"curl -sS {trusted}{shlex.quote(url)} -H 'Content-Type: application/json' "
        f"-H {shlex.quote(f'{name}: {value}')} -d {shlex.quote(body)}"
    )
