"""Fixtures that run a test once for each of the two clients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from keystead import AsyncClient, Client
from tests.support.stand_in_server import Driven, StandIn


@pytest.fixture(params=[Client, AsyncClient], ids=["Client", "AsyncClient"])
def driven(request: pytest.FixtureRequest) -> Callable[..., Driven]:
    def make(server: StandIn, **options: Any) -> Driven:
        return Driven(request.param, server, **options)

    return make
