"""The measured installation, with the organizations that the cases need.

Here: `keystead init`, as an operator runs it. Not here: the contents of its organizations (`organizations`), the
hundred thousand others (`many_organizations`).
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping, Set
from pathlib import Path

import msgspec

from bench.failure import BenchFailure
from bench.organizations import Organization, Setup, SetupServer
from bench.server import KEYSTEAD, environment, running
from keystead.client.credentials import credentials_in
from keystead.stamps.signing import ApiKeyPair

RECORDS_MAX = 1_000_000
"""The limit of contract interfaces and of wallets. The defaults are 1,000 and 10,000; a run creates more."""

INTERFACE_BYTES_MAX = 10_000_000_000
"""The limit of the bytes of contract interfaces."""


class Installation(msgspec.Struct, frozen=True):
    """`settings`: the environment variables of its server. `organizations`: by the setup that made each."""

    folder: Path
    settings: Mapping[str, str]
    organizations: Mapping[Setup, Organization]

    @property
    def database_url(self) -> str:
        return self.settings["KEYSTEAD_DATABASE_URL"]

    @property
    def master_key_file(self) -> Path:
        return Path(self.settings["KEYSTEAD_MASTER_KEY_FILE"])


def new_installation(database_url: str, folder: Path, cores: Set[int], setups: Iterable[Setup]) -> Installation:
    """Make an installation in an empty database. Its files are in `folder`. The server that makes its
    organizations runs on these cores."""
    folder.mkdir()
    credentials_file = folder / "credentials.json"
    settings = {
        "KEYSTEAD_DATABASE_URL": database_url,
        "KEYSTEAD_MASTER_KEY_FILE": str(folder / "master.key"),
        "KEYSTEAD_LIMIT_CONTRACT_INTERFACES": str(RECORDS_MAX),
        "KEYSTEAD_LIMIT_WALLETS": str(RECORDS_MAX),
        "KEYSTEAD_LIMIT_CONTRACT_INTERFACE_BYTES": str(INTERFACE_BYTES_MAX),
    }
    made = subprocess.run(
        [KEYSTEAD, "init", "--organization-name", "Bench", "--credentials", credentials_file],
        env=environment({name: value for name, value in settings.items() if "LIMIT" not in name}),
        capture_output=True,
        text=True,
    )
    if made.returncode != 0:
        raise BenchFailure(f"keystead init failed: {made.stderr}")
    credentials = credentials_in(credentials_file)
    key = ApiKeyPair(credentials.api_public_key, credentials.api_private_key)
    with running(settings, folder, cores) as server:
        setup_server = SetupServer(server.base_url, database_url, credentials.organization_id, key)
        organizations = {setup: setup(setup_server) for setup in dict.fromkeys(setups)}
    return Installation(folder, settings, organizations)
