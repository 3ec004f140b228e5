"""Fixtures that run a test once for each of the two clients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from keystead import AsyncClient, Client
from tests.support.stub_server import ClientUnderTest, StubServer


@pytest.fixture(params=[Client, AsyncClient], ids=["Client", "AsyncClient"])
def driven(request: pytest.FixtureRequest) -> Callable[..., ClientUnderTest]:
    def make(server: StubServer, **options: Any) -> ClientUnderTest:
        return ClientUnderTest(request.param, server, **options)

    return make
