"""The adversaries that the tests in this folder go through, and a server that keeps its messages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conftest import MakeDatabase, Shared, shared_server
from tests.support.authorization_scenario import AuthorizationScenario, new_parent, running_scenario
from tests.support.codes import Codes, outbox_of
from tests.support.servers import Server, bootstrap_installation
from tests.support.wallet_kit import WalletKit, new_kit


@pytest.fixture(scope="session")
def scenario(
    shared: Shared, engine: str, make_database: MakeDatabase, tmp_path_factory: pytest.TempPathFactory
) -> AuthorizationScenario:
    folder = tmp_path_factory.mktemp("scenario")
    return shared.get("scenario", engine, lambda: running_scenario(make_database, folder / "log"))


@pytest.fixture(scope="session")
def codes(server: Server) -> Codes:
    return Codes(server, server.caller, outbox_of(server))


@pytest.fixture(scope="module")
def unshared_codes(make_database: MakeDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Codes]:
    """For a module that depends on which users and sub-organizations the parent has."""
    installation = bootstrap_installation(make_database(), mode="dev")
    with shared_server(installation, tmp_path_factory.mktemp("codes")) as server:
        yield Codes(server, server.caller, outbox_of(server))


@pytest.fixture
def kit(server: Server) -> WalletKit:
    return new_kit(server, new_parent(server))
