"""The output of `keystead dev` when it is ready: everything that a first request needs, ready to paste."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from keystead.client.credentials import Credentials
from keystead.pipeline.signer_values import BundleSigner
from keystead.server.development.fixture_loading import LoadedKey
from keystead.stamps.signing import ApiKeyStamper

_BANNER = """
Keystead {base_url}

  console       {console_url}
                opens in your browser, logged in; this link works once

  organization  {organization_id}
  user          {user_id}
  public key    {public_key}
  private key   {private_key}
  wallet        Development, from the public test mnemonic of local chains
                {wallet}
  signs bundles {signing_public_key}
  (composite)   {composite_public_key}
  auth proxy    {auth_proxy_id}
                {base_url}/auth-proxy
  data          {data}
  credentials   {credentials_file}

  WARNING  {warning}

First request:

{curl}

For keystead's own client and commands:

  export KEYSTEAD_BASE_URL={base_url}
  export KEYSTEAD_ORGANIZATION_ID={organization_id}
  export KEYSTEAD_API_PUBLIC_KEY={public_key}
  export KEYSTEAD_API_PRIVATE_KEY={private_key}

For a published TypeScript client:

  import {{ Turnkey }} from "@turnkey/sdk-server";
  const client = new Turnkey({{
    apiBaseUrl: "{base_url}",
    apiPublicKey: "{public_key}",
    apiPrivateKey: "{private_key}",
    defaultOrganizationId: "{organization_id}",
  }}).apiClient();
  console.log(await client.getWallets());
"""


def development_banner(
    credentials: Credentials,
    data: Path | None,
    credentials_file: Path | None,
    addresses: Sequence[str],
    signer: BundleSigner,
    auth_proxy_id: str,
    console_url: str,
    *,
    seeded: bool,
) -> str:
    """The text of the banner. `data`: the folder, None if everything is in memory. `credentials_file`: the file
    with the keys. `console_url`: a link that works once.

    The curl line in it stays valid, because a query carries no time.
    """
    warning = "These keys are for development: anything that reads this terminal or this folder can use them."
    if seeded:
        warning += "\n           They are derived from the seed, by anyone who knows it: such keys are public."
    return _BANNER.format(
        base_url=credentials.base_url,
        organization_id=credentials.organization_id,
        user_id=credentials.user_id,
        public_key=credentials.api_public_key,
        private_key=credentials.api_private_key,
        console_url=console_url,
        wallet="\n                ".join(addresses) or "none",
        signing_public_key=signer.signing_public_key,
        composite_public_key=signer.composite_public_key,
        auth_proxy_id=auth_proxy_id,
        data=data or "in memory, gone when the server ends",
        credentials_file=credentials_file or "here only; --credentials FILE writes them to a file",
        warning=warning,
        curl=curl_line(credentials),
    )


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
    return (
        f"curl -sS {shlex.quote(url)} -H 'Content-Type: application/json' "
        f"-H {shlex.quote(f'{name}: {value}')} -d {shlex.quote(body)}"
    )
