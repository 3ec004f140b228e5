"""Two server processes on one database, which the tests of this folder share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.conftest import MakeDatabase, Shared
from tests.support.servers import Installation, Server, bootstrap_installation, running


@contextmanager
def _two_servers(installation: Installation, logs: Path) -> Iterator[list[Server]]:
    with ExitStack() as stack:
        yield [stack.enter_context(running(installation, logs / str(number))) for number in range(2)]
    installation.database.close()


@pytest.fixture(scope="session")
def servers(
    shared: Shared, engine: str, make_database: MakeDatabase, tmp_path_factory: pytest.TempPathFactory
) -> list[Server]:
    logs = tmp_path_factory.mktemp("servers")
    return shared.get("two servers", engine, lambda: _two_servers(bootstrap_installation(make_database()), logs))
