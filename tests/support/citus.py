"""Databases on a Citus cluster that the environment names; tests that need one are skipped without it.

KEYSTEAD_TEST_CITUS_URL is the URL of any database on the coordinator, of a role that may create databases and
extensions on every node. The workers are those of that database (`citus_add_node`).
"""

from __future__ import annotations

import asyncio
import os
import secrets
from typing import Any, Final
from urllib.parse import urlsplit

import asyncpg
import pytest

CITUS_URL: Final = os.environ.get("KEYSTEAD_TEST_CITUS_URL", "")
_SHARDS: Final = 4
"""How many shards each table has. Citus makes 32 by default, which is slow where each test makes a database."""

needs_citus = pytest.mark.skipif(not CITUS_URL, reason="KEYSTEAD_TEST_CITUS_URL names no Citus cluster")


def new_citus_database() -> str:
    """The URL of a new, empty database of all nodes."""
    return asyncio.run(_create())


async def _create() -> str:
    name = f"test_{secrets.token_hex(8)}"
    coordinator = urlsplit(CITUS_URL)
    connection: Any = await asyncpg.connect(CITUS_URL)
    workers = await connection.fetch("SELECT node_name, node_port FROM citus_get_active_worker_nodes()")
    await connection.close()
    places = [(coordinator.hostname, coordinator.port or 5432), *map(tuple, workers)]
    for host, port in places:
        node = await asyncpg.connect(CITUS_URL, host=host, port=port)
        await node.execute("SET citus.enable_ddl_propagation = off")
        await node.execute(f"CREATE DATABASE {name}")
        await node.close()
        new = await asyncpg.connect(CITUS_URL, host=host, port=port, database=name)
        await new.execute("CREATE EXTENSION IF NOT EXISTS citus")
        await new.close()
    url = coordinator._replace(path=f"/{name}").geturl()
    connection = await asyncpg.connect(url)
    await connection.fetchval("SELECT citus_set_coordinator_host($1, $2)", *places[0])
    for place in places[1:]:
        await connection.fetchval("SELECT citus_add_node($1, $2)", *place)
    await connection.execute(f"ALTER DATABASE {name} SET citus.shard_count = {_SHARDS}")
    await connection.close()
    return url


def drop_citus_database(url: str) -> None:
    """Delete it on every node."""
    asyncio.run(_drop(url))


async def _drop(url: str) -> None:
    name = urlsplit(url).path[1:]
    connection: Any = await asyncpg.connect(CITUS_URL)
    nodes = await connection.fetch("SELECT nodename, nodeport FROM pg_dist_node")
    await connection.close()
    for host, port in map(tuple, nodes):
        node = await asyncpg.connect(CITUS_URL, host=host, port=port)
        await node.execute("SET citus.enable_ddl_propagation = off")
        await node.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        await node.close()
