"""What is measured against: a founded installation with the organizations that the cases need.

Here: founding it, the way an operator would. Not here: what its organizations hold (`organizations`), the hundred
thousand others (`crowd`).
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping, Set
from pathlib import Path

import msgspec

from bench.failure import BenchFailure
from bench.organizations import Furnishing, Organization, Site
from bench.server import KEYSTEAD, environment, running
from keystead.client.credentials import credentials_in
from keystead.stamps.signing import ApiKeyPair

RECORDS_MAX = 1_000_000
"""The server's limits are 1,000 contract interfaces and 10,000 wallets per organization. A run creates more."""

INTERFACE_BYTES_MAX = 10_000_000_000
"""The same for the bytes of their texts."""


class Installation(msgspec.Struct, frozen=True):
    """`settings` are what its server is started with; its organizations are known by what made them."""

    folder: Path
    settings: Mapping[str, str]
    organizations: Mapping[Furnishing, Organization]

    @property
    def database_url(self) -> str:
        return self.settings["KEYSTEAD_DATABASE_URL"]

    @property
    def master_key_file(self) -> Path:
        return Path(self.settings["KEYSTEAD_MASTER_KEY_FILE"])


def new_installation(
    database_url: str, folder: Path, cores: Set[int], furnishings: Iterable[Furnishing]
) -> Installation:
    """Found one in an empty database; its files go to `folder`, its first server runs on these cores."""
    folder.mkdir()
    credentials = folder / "credentials.json"
    settings = {
        "KEYSTEAD_DATABASE_URL": database_url,
        "KEYSTEAD_MASTER_KEY_FILE": str(folder / "master.key"),
        "KEYSTEAD_LIMIT_CONTRACT_INTERFACES": str(RECORDS_MAX),
        "KEYSTEAD_LIMIT_WALLETS": str(RECORDS_MAX),
        "KEYSTEAD_LIMIT_CONTRACT_INTERFACE_BYTES": str(INTERFACE_BYTES_MAX),
    }
    made = subprocess.run(
        [KEYSTEAD, "init", "--organization-name", "Bench", "--credentials", credentials],
        env=environment({name: value for name, value in settings.items() if "LIMIT" not in name}),
        capture_output=True,
        text=True,
    )
    if made.returncode != 0:
        raise BenchFailure(f"keystead init failed: {made.stderr}")
    founded = credentials_in(credentials)
    key = ApiKeyPair(founded.api_public_key, founded.api_private_key)
    with running(settings, folder, cores) as server:
        site = Site(server.base_url, database_url, founded.organization_id, key)
        organizations = {furnishing: furnishing(site) for furnishing in dict.fromkeys(furnishings)}
    return Installation(folder, settings, organizations)
