"""Large bodies take turns, and others run between two of them."""

from __future__ import annotations

import asyncio

import pytest

from keystead.server.large_requests import LARGE_BYTES, LargeRequests

LARGE, SMALL = b" " * LARGE_BYTES, b" " * (LARGE_BYTES - 1)


async def _read(large_requests: LargeRequests, body: bytes, name: str, events: list[str]) -> None:
    async with large_requests.turn(body, name):
        events.append(f"{name} begins")
        await asyncio.sleep(0)
        events.append(f"{name} ends")


def test_large_bodies_are_read_one_after_the_other() -> None:
    async def events() -> list[str]:
        large_requests, seen = LargeRequests(), list[str]()
        await asyncio.gather(*[_read(large_requests, LARGE, name, seen) for name in "abc"])
        return seen

    assert asyncio.run(events()) == [f"{name} {what}" for name in "abc" for what in ("begins", "ends")]


def test_addresses_take_turns() -> None:
    async def events() -> list[str]:
        large_requests, seen = LargeRequests(), list[str]()
        flood = [_read(large_requests, LARGE, "attacker", seen) for _ in range(5)]
        await asyncio.gather(*flood, _read(large_requests, LARGE, "other", seen))
        return seen

    assert asyncio.run(events()).index("other begins") <= 4


def test_a_small_body_waits_for_no_large_one() -> None:
    async def read() -> list[str]:
        large_requests, seen = LargeRequests(), list[str]()
        async with large_requests.turn(LARGE, ""):
            await asyncio.wait_for(_read(large_requests, SMALL, "small", seen), 60)
        return seen

    assert asyncio.run(read()) == ["small begins", "small ends"]


@pytest.mark.parametrize("ends", [asyncio.CancelledError, ValueError])
def test_who_fails_or_gives_up_holds_nobody_up(ends: type[BaseException]) -> None:
    async def read() -> list[str]:
        large_requests, seen = LargeRequests(), list[str]()
        with pytest.raises(ends):
            async with large_requests.turn(LARGE, ""):
                raise ends
        waiting = asyncio.create_task(_read(large_requests, LARGE, "cancelled", seen))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait_for(_read(large_requests, LARGE, "next", seen), 60)
        return seen

    assert asyncio.run(read()) == ["next begins", "next ends"]
