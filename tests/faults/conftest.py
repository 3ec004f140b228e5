"""Two server processes on one database, which the tests of a module share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.conftest import MakeDatabase
from tests.support.servers import Server, bootstrap_installation, running


@pytest.fixture(scope="package")
def servers(make_database: MakeDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Server]]:
    installation = bootstrap_installation(make_database())
    logs = tmp_path_factory.mktemp("servers")
    with ExitStack() as stack:
        yield [stack.enter_context(running(installation, logs / str(number))) for number in range(2)]
    installation.database.close()
