"""What a rotation of the master key needs of a store: data keys by page, instance values by compare-and-swap."""

from __future__ import annotations

import asyncio

from keystead.organizations.kinds.data_key import Sealed, SealedDataKey
from keystead.pipeline.store import Page
from tests.storage.conftest import opened
from tests.support.commit_history import new_history
from tests.support.commit_samples import an_organization


def test_a_fact_changes_only_from_what_it_was(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            assert not await store.installation.replace_value("check", b"one", b"two")
            assert await store.bootstrap(an_organization(), (), (), {"check": b"one", "mode": b"serve"})
            assert not await other.installation.replace_value("check", b"two", b"three")
            assert await other.installation.replace_value("check", b"one", b"two")
            assert not await store.installation.replace_value("check", b"one", b"three")
            assert await store.installation.value("check") == b"two"
            assert await store.installation.value("mode") == b"serve"

    asyncio.run(run())


def test_of_many_who_change_a_fact_one_wins(database: str) -> None:
    """Also where they share a transaction."""

    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            assert await store.bootstrap(an_organization(), (), (), {"check": b"0"})
            for number in range(5):
                before, wishes = f"{number}".encode(), [f"{number + 1}".encode()] * 8
                won = await asyncio.gather(
                    *[
                        place.installation.replace_value("check", before, after)
                        for place, after in zip([store, other] * 4, wishes, strict=True)
                    ]
                )
                assert won.count(True) == 1
            assert await store.installation.value("check") == b"5"

    asyncio.run(run())


def test_data_keys_by_page(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store:
            assert await store.installation.data_keys(Page(10)) == []
            history = await new_history(store)
            key = SealedDataKey(Sealed("another", b"key"))
            await store.commit(history.step(key))
            assert await store.installation.data_keys(Page(10)) == [(history.head.id, key)]
            assert await store.installation.data_keys(Page(10, after=history.head.id)) == []

    asyncio.run(run())
