"""A steady load on one organization at one process, and single requests at another: none is refused for losing.

On PostgreSQL, since one process serves a SQLite file. Both are services in this process, on one database, with
their signer here: nothing is left to chance but the order.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from keystead.keys import master_key
from keystead.signer.local import LocalSigner
from tests.conftest import MakeDatabase
from tests.support.callers import SDK_FORM, Caller, unique
from tests.support.in_process import serving
from tests.support.servers import Installation, bootstrap_installation

DECIDING_S = 0.01
"""About what a wallet's creation takes in production. Committing is faster."""


@pytest.fixture
def postgres_installation(make_postgres: MakeDatabase) -> Iterator[Installation]:
    installation = bootstrap_installation(make_postgres())
    yield installation
    installation.database.close()


@pytest.fixture
def slow_signer(monkeypatch: pytest.MonkeyPatch) -> None:
    create_wallet = LocalSigner.create_wallet

    async def slow(signer: LocalSigner, **call: Any) -> Any:
        await asyncio.sleep(DECIDING_S)
        return await create_wallet(signer, **call)

    monkeypatch.setattr(LocalSigner, "create_wallet", slow)


@pytest.mark.usefixtures("slow_signer")
def test_single_requests_beside_a_steady_load(postgres_installation: Installation, tmp_path: Path) -> None:
    installation = postgres_installation
    path = tmp_path / "master.key"
    master_key.create(path, installation.master_key)
    over = asyncio.Event()

    async def make_wallet(http: httpx.AsyncClient, caller: Caller) -> httpx.Response:
        body = caller.submit_body("create_wallet", {"walletName": unique("wallet"), "accounts": []})
        headers = {**caller.stamped(body), **SDK_FORM}
        return await http.post("/public/v1/submit/create_wallet", content=body, headers=headers)

    async def flood(http: httpx.AsyncClient, caller: Caller) -> list[httpx.Response]:
        answers = []
        while not over.is_set():
            answers.append(await make_wallet(http, caller))
        return answers

    async def run() -> tuple[list[httpx.Response], list[httpx.Response]]:
        async with serving(installation, path) as busy, serving(installation, path) as quiet:
            with httpx.Client() as unused:
                caller = installation.caller(unused)
                flooding = [asyncio.create_task(flood(busy, caller)) for _ in range(8)]
                try:
                    single = [await make_wallet(quiet, caller) for _ in range(5)]
                finally:
                    over.set()
                return single, [answer for answers in await asyncio.gather(*flooding) for answer in answers]

    single, flooded = asyncio.run(run())
    assert [answer.text for answer in single + flooded if answer.status_code != 200] == []
    assert len(flooded) > len(single), "the load went on meanwhile"
    counts = installation.database.counts()
    assert counts["activity"] == counts["sealed_secret"] == len(single) + len(flooded)
