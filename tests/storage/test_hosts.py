"""A URL that names several PostgreSQL servers: one that is dead or stands still does not keep the others away."""

from __future__ import annotations

import asyncio
import socket
from urllib.parse import urlsplit

import pytest

from keystead.api.errors import Unavailable
from keystead.storage.postgres.hosts import hosts_of
from tests.storage.conftest import MakeDatabase, opened
from tests.support.tcp_proxy import tcp_proxy_to


@pytest.mark.parametrize(
    ("url", "hosts"),
    [
        ("postgresql://localhost/name", [("localhost", 5432)]),
        ("postgresql://user:p%2C@first,second:5433/name", [("first", 5432), ("second", 5433)]),
        ("postgresql://[::1]:5433,[::2]/name", [("::1", 5433), ("::2", 5432)]),
        ("postgresql:///name?host=/run/postgresql", []),
    ],
)
def test_hosts(url: str, hosts: list[tuple[str, int]]) -> None:
    assert hosts_of(url) == hosts


def _place(url: str) -> str:
    return urlsplit(url).netloc.rpartition("@")[2]


def _with_first(place: str, url: str) -> str:
    return url.replace(_place(url), f"{place},{_place(url)}")


def test_a_dead_host_is_passed_over(new_postgres: MakeDatabase) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # nobody listens
        url = _with_first(f"127.0.0.1:{unused.getsockname()[1]}", new_postgres())

        async def ready() -> None:
            async with opened(url) as store:
                await store.ready()

        asyncio.run(ready())


def test_a_host_that_stands_still_costs_one_failure(new_postgres: MakeDatabase) -> None:
    """Its connections are open, and it accepts new ones: a frozen machine, or a network that drops everything."""
    url = new_postgres()

    async def outage() -> None:
        async with tcp_proxy_to(url) as first, opened(_with_first(_place(first.url), url), timeout_s=4) as store:
            await asyncio.gather(
                *[store.installation.schema_version() for _ in range(20)]
            )  # over several connections
            first.freeze()
            with pytest.raises(Unavailable):
                await store.ready()
            await asyncio.gather(*[store.installation.schema_version() for _ in range(20)])

    asyncio.run(outage())
