"""The adversaries that the tests in this folder go through, and a server that keeps its messages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conftest import MakeDatabase
from tests.support.authorization_scenario import AuthorizationScenario, running_scenario
from tests.support.codes import Codes, outbox_of
from tests.support.issuers import taking_tokens
from tests.support.servers import bootstrap_installation, running


@pytest.fixture(scope="session")
def scenario(
    make_database: MakeDatabase, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[AuthorizationScenario]:
    with running_scenario(make_database, tmp_path_factory.mktemp("scenario") / "log") as made:
        yield made


@pytest.fixture(scope="module")
def codes(make_database: MakeDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Codes]:
    installation = bootstrap_installation(make_database(), mode="dev")
    folder = tmp_path_factory.mktemp("codes")
    with running(installation, folder / "log", taking_tokens(folder)) as server:
        yield Codes(server, server.caller, outbox_of(server))
    installation.database.close()
