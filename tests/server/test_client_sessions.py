"""Sessions of the Python clients against a server: the key is the session's, and it renews itself."""

from __future__ import annotations

import asyncio
import time

import pytest

from keystead.client import AsyncClient, Client
from keystead.client.client import SessionStamper, read_session_token
from tests.support.callers import unique
from tests.support.servers import Server


def made(server: Server) -> Client:
    key = server.caller.key
    return Client(server.base_url, key.public_key, key.private_key, server.caller.organization_id)


def due(client: Client | AsyncClient, monkeypatch: pytest.MonkeyPatch) -> str:
    """Make it time to renew; the key before."""
    stamper = client._stamper
    assert isinstance(stamper, SessionStamper)
    monkeypatch.setattr(stamper, "_renew_at_s", time.time() - 1)
    return stamper.public_key


def test_a_client_logs_in_and_renews(sqlite_server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    with made(sqlite_server) as client, client.login(expiration_seconds=60) as session:
        assert session.whoami().user_id == sqlite_server.caller.user_id
        before = due(session, monkeypatch)
        assert session.create_user_tag(user_tag_name="by a session", user_ids=[]).user_tag_id
        stamper = session._stamper
        assert isinstance(stamper, SessionStamper)
        assert stamper.public_key not in (before, sqlite_server.caller.key.public_key)
        renewed = stamper.public_key
        session.whoami()
        assert stamper.public_key == renewed


def limited_to_wallets(client: Client) -> str:
    """A session profile that does not allow the next login."""
    return client.create_session_profile(
        session_profile_name=unique("wallets"), scope="activity.resource == 'WALLET'"
    ).session_profile_id


def test_a_session_that_is_not_renewed_is_used_until_it_ends(
    sqlite_server: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with made(sqlite_server) as client, client.login(session_profile_id=limited_to_wallets(client)) as session:
        before = due(session, monkeypatch)
        assert session.whoami().user_id == sqlite_server.caller.user_id
        stamper = session._stamper
        assert isinstance(stamper, SessionStamper)
        assert (stamper.public_key, stamper.is_due) == (before, False)
    assert "the session was not renewed" in caplog.text


def test_an_async_session_that_is_not_renewed_is_used_until_it_ends(
    sqlite_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run(profile_id: str) -> None:
        key, organization_id = sqlite_server.caller.key, sqlite_server.caller.organization_id
        async with (
            AsyncClient(sqlite_server.base_url, key.public_key, key.private_key, organization_id) as client,
            await client.login(session_profile_id=profile_id) as session,
        ):
            before = due(session, monkeypatch)
            assert (await session.whoami()).user_id == sqlite_server.caller.user_id
            stamper = session._stamper
            assert isinstance(stamper, SessionStamper)
            assert stamper.public_key == before

    with made(sqlite_server) as client:
        profile_id = limited_to_wallets(client)
    asyncio.run(run(profile_id))


def test_an_async_client_does_alike(sqlite_server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        key = sqlite_server.caller.key
        organization_id = sqlite_server.caller.organization_id
        async with (
            AsyncClient(sqlite_server.base_url, key.public_key, key.private_key, organization_id) as client,
            await client.login() as session,
        ):
            assert (await session.whoami()).user_id == sqlite_server.caller.user_id
            before = due(session, monkeypatch)
            await asyncio.gather(*[session.whoami() for _ in range(5)])
            stamper = session._stamper
            assert isinstance(stamper, SessionStamper)
            assert stamper.public_key != before

    asyncio.run(run())


@pytest.mark.parametrize("token", ["", "a", "a.b", "a.!.c", "a.e30.c"])
def test_an_unreadable_token_is_a_protocol_error(token: str) -> None:
    from keystead.client import ProtocolError

    with pytest.raises(ProtocolError, match="no session token"):
        read_session_token(token)
