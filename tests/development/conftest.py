"""One development server for the tests of the developer's controls, as it was at its start before each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from keystead.testing import DevelopmentServer, TestOrganization, development_server


@pytest.fixture(scope="session")
def running() -> Iterator[DevelopmentServer]:
    with development_server() as server:
        yield server


@pytest.fixture
def server(running: DevelopmentServer) -> DevelopmentServer:
    running.controls.reset()
    return running


@pytest.fixture
def organization(server: DevelopmentServer) -> TestOrganization:
    return server.new_organization()
