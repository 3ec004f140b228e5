"""`keystead keys`: the keys of the server itself."""

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
from keystead.cli.master_keys import new_master, rotate
from keystead.pipeline.ports import BundleSigner
from keystead.server.opening import NotReady, open_checked
from keystead.server.settings import PREFIX, Settings, SettingsError, from_environment

app = typer.Typer(help="The keys of the server itself.", no_args_is_help=True)


@app.callback()
def keys() -> None:
    """The keys of the server itself."""


app.command("new-master")(new_master)
app.command("rotate-master")(rotate)


@app.command("bundle-signer")
def bundle_signer(
    database_url: Annotated[str, typer.Option(help="postgresql://… or sqlite:///FILE.")] = "",
    master_key_file: Annotated[str, typer.Option(help="File that holds the master key.")] = "",
    data: Annotated[
        Path, typer.Option(help="Folder of a development server, used where no database is given.")
    ] = DEFAULT,
) -> None:
    """Print, as JSON, the public key that signs export and import bundles, which clients have to expect.

    Every setting is also a variable KEYSTEAD_…, as for `keystead serve`.
    """
    given = {"database_url": database_url, "master_key_file": master_key_file}
    flags = {PREFIX + name.upper(): value for name, value in given.items() if value}
    folder = DevelopmentFolder(data)
    try:
        if not database_url and PREFIX + "DATABASE_URL" not in os.environ and folder.exists():
            settings = folder.settings()
        else:
            settings = from_environment({**os.environ, **flags})
        signer = asyncio.run(_bundle_signer(settings))
    except (SettingsError, NotReady) as refused:
        raise Failure(str(refused)) from None
    print(msgspec.json.format(encode(signer)).decode())


async def _bundle_signer(settings: Settings) -> BundleSigner:
    opened = await open_checked(settings)
    await opened.close()
    return await opened.signer.bundle_signer()
