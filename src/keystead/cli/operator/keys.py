"""`keystead keys`: the keys of the installation itself."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec

from keystead.api.rendering import encode
from keystead.cli.failure import Failure
from keystead.cli.groups import group
from keystead.cli.operator import chosen_installation
from keystead.cli.operator.master_keys import new_master, rotate
from keystead.pipeline.signer_port import Signer
from keystead.server.opening import NotReady, open_checked
from keystead.server.settings.settings import Settings

app = group("Show and change the keys of the installation itself.")
app.command("new-master")(new_master)
app.command("rotate-master")(rotate)


@app.command("list")
def list_keys(
    database_url: chosen_installation.ChosenDatabaseUrl = "",
    master_key_file: chosen_installation.ChosenMasterKey = "",
    data: chosen_installation.ChosenData = None,
) -> None:
    """Print the public keys of the installation, as JSON.

    Each has its use beside it, as in the answer to GET /installation-keys. Every setting is also a variable
    KEYSTEAD_…, as for `keystead serve`.
    """
    signer = _signer(database_url, master_key_file, data)
    print(msgspec.json.format(encode({"keys": asyncio.run(signer.installation_keys())})).decode())


@app.command("bundle-signer")
def bundle_signer(
    database_url: chosen_installation.ChosenDatabaseUrl = "",
    master_key_file: chosen_installation.ChosenMasterKey = "",
    data: chosen_installation.ChosenData = None,
) -> None:
    """Print the public key that signs bundles, as JSON.

    Clients of exports and imports must be configured with it. Every setting is also a variable KEYSTEAD_…, as for
    `keystead serve`.
    """
    signer = _signer(database_url, master_key_file, data)
    print(msgspec.json.format(encode(asyncio.run(signer.bundle_signer()))).decode())


def _signer(database_url: str, master_key_file: str, data: Path | None) -> Signer:
    """The installation's signer, in this process. Raises Failure."""
    settings = chosen_installation.chosen_settings(
        database_url=database_url, master_key_file=master_key_file, data=data
    )
    try:
        return asyncio.run(_open_signer(settings))
    except NotReady as refused:
        raise Failure(str(refused)) from None


async def _open_signer(settings: Settings) -> Signer:
    opened = await open_checked(settings)
    await opened.close()
    return opened.signer
