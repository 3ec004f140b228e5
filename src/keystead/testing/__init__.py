"""A pytest plugin: a development server for your tests, and a separate organization for each test.

Here: the fixtures. `keystead` and `keystead_server` exist for the whole session; each worker of a parallel run has
its own. The others are made for each test. Not here: starting servers (`servers`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest

from keystead.api.developer_controls import SentMessage, SentWebhook
from keystead.client.dev_methods import DevClock, DevFaults
from keystead.client.dev_outbox import DevelopmentOutbox
from keystead.client.dev_webhooks import DevWebhooks
from keystead.testing.servers import DevelopmentServer, TestOrganization, development_server

__all__ = [
    "DevWebhooks",
    "DevelopmentOutbox",
    "DevelopmentServer",
    "SentMessage",
    "SentWebhook",
    "TestOrganization",
    "development_server",
]


@pytest.fixture(scope="session")
def keystead() -> Iterator[DevelopmentServer]:
    """A server for the whole session. Each worker of a parallel run starts its own."""
    with development_server() as server:
        yield server


@pytest.fixture(scope="session")
def keystead_server() -> Callable[..., AbstractContextManager[DevelopmentServer]]:
    """`with keystead_server() as server:` starts another server, with an organization that no other test uses."""
    return development_server


@pytest.fixture
def keystead_organization(keystead: DevelopmentServer) -> TestOrganization:
    """An organization that this test alone uses, with a client of its root user. It has no wallet."""
    return keystead.new_organization()


@pytest.fixture
def keystead_clock(keystead: DevelopmentServer) -> Iterator[DevClock]:
    """The clock of the session's server. After the test it shows the system's time again."""
    yield keystead.controls.clock
    keystead.controls.clock.reset()


@pytest.fixture
def keystead_faults(keystead: DevelopmentServer) -> Iterator[DevFaults]:
    """Makes requests fail on purpose. After the test, the faults that it did not use are removed."""
    yield keystead.controls.faults
    keystead.controls.faults.clear()


@pytest.fixture
def keystead_outbox(keystead: DevelopmentServer) -> DevelopmentOutbox:
    """The messages that the session's server kept instead of sending them."""
    return keystead.outbox


@pytest.fixture
def keystead_webhooks(keystead: DevelopmentServer) -> DevWebhooks:
    """The webhooks that the session's server sent, with the result of each attempt."""
    return keystead.webhooks
