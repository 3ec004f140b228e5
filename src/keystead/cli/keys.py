"""`keystead keys`: the keys of the installation itself."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from keystead.api.rendering import encode
from keystead.cli.development_folder import DEFAULT, DevelopmentFolder
from keystead.cli.failure import Failure
from keystead.cli.groups import group
from keystead.cli.master_keys import new_master, rotate
from keystead.pipeline.signer_port import Signer
from keystead.server.opening import NotReady, open_checked
from keystead.server.settings import PREFIX, Settings, SettingsError, from_environment
from keystead.storage.url_file import VARIABLE

app = group("Show and change the keys of the installation itself.")
app.command("new-master")(new_master)
app.command("rotate-master")(rotate)


DatabaseUrlOption = Annotated[str, typer.Option(help="postgresql://… or sqlite:///FILE.")]
MasterKeyFile = Annotated[str, typer.Option(help="File that holds the master key.")]
Data = Annotated[Path, typer.Option(help="Folder of a development server, used if no database is given.")]


@app.command("list")
def list_keys(
    database_url: DatabaseUrlOption = "", master_key_file: MasterKeyFile = "", data: Data = DEFAULT
) -> None:
    """Print the public keys of the installation, as JSON.

    Each has its use beside it, as in the answer to GET /installation-keys. Every setting is also a variable
    KEYSTEAD_…, as for `keystead serve`.
    """
    signer = _signer(database_url, master_key_file, data)
    print(msgspec.json.format(encode({"keys": asyncio.run(signer.installation_keys())})).decode())


@app.command("bundle-signer")
def bundle_signer(
    database_url: DatabaseUrlOption = "", master_key_file: MasterKeyFile = "", data: Data = DEFAULT
) -> None:
    """Print the public key that signs bundles, as JSON.

    Clients of exports and imports must be configured with it. Every setting is also a variable KEYSTEAD_…, as for
    `keystead serve`.
    """
    signer = _signer(database_url, master_key_file, data)
    print(msgspec.json.format(encode(asyncio.run(signer.bundle_signer()))).decode())


def _signer(database_url: str, master_key_file: str, data: Path) -> Signer:
    """The installation's signer, in this process. Raises Failure."""
    options = {"database_url": database_url, "master_key_file": master_key_file}
    flags = {PREFIX + name.upper(): value for name, value in options.items() if value}
    variables = dict(os.environ)
    if database_url:
        variables.pop(VARIABLE, None)  # the flag takes precedence
    folder = DevelopmentFolder(data)
    try:
        if not database_url and not {PREFIX + "DATABASE_URL", VARIABLE} & variables.keys() and folder.exists():
            settings = folder.settings()
        else:
            settings = from_environment({**variables, **flags})
        return asyncio.run(_open_signer(settings))
    except (SettingsError, NotReady) as refused:
        raise Failure(str(refused)) from None


async def _open_signer(settings: Settings) -> Signer:
    opened = await open_checked(settings)
    await opened.close()
    return opened.signer
