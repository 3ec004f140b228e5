"""A world of adversaries, for the tests that go through all of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conftest import MakeDatabase
from tests.support.authz_world import World, inhabited


@pytest.fixture(scope="session")
def world(make_database: MakeDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with inhabited(make_database, tmp_path_factory.mktemp("world") / "log") as made:
        yield made
