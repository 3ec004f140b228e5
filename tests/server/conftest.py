"""The adversaries that the tests in this folder go through."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conftest import MakeDatabase
from tests.support.authorization_scenario import AuthorizationScenario, running_scenario


@pytest.fixture(scope="session")
def scenario(
    make_database: MakeDatabase, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[AuthorizationScenario]:
    with running_scenario(make_database, tmp_path_factory.mktemp("scenario") / "log") as made:
        yield made
