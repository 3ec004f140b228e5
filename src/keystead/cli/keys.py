"""`keystead keys`: the keys of the server itself."""

from __future__ import annotations

import asyncio
import os
from typing import Annotated

import msgspec
import typer

from keystead.api.rendering import encode
from keystead.cli.failure import Failure
from keystead.cli.master_keys import new_master, rotate
from keystead.pipeline.ports import BundleSigner
from keystead.server.service import NotReady, open_checked
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
) -> None:
    """Print, as JSON, whose signature clients have to expect on export and import bundles.

    Every setting is also a variable KEYSTEAD_…, as for `keystead serve`.
    """
    given = {"database_url": database_url, "master_key_file": master_key_file}
    flags = {PREFIX + name.upper(): value for name, value in given.items() if value}
    try:
        signer = asyncio.run(_signer_of(from_environment({**os.environ, **flags})))
    except (SettingsError, NotReady) as refused:
        raise Failure(str(refused)) from None
    print(msgspec.json.format(encode(signer)).decode())


async def _signer_of(settings: Settings) -> BundleSigner:
    opened = await open_checked(settings)
    await opened.close()
    return await opened.signer.bundle_signer()
