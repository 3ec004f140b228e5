"""The database of a URL. A malformed URL is refused with an error that does not repeat it: it may hold a
password."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from keystead.storage.open import open_store, sqlite_path
from keystead.storage.schema import migrate


@pytest.mark.parametrize(
    ("url", "file"),
    [
        ("sqlite:///keystead.db", "keystead.db"),
        ("sqlite:///data/keystead.db", "data/keystead.db"),
        ("sqlite:////var/lib/keystead.db", "/var/lib/keystead.db"),
        ("sqlite:////tmp/a folder/50% #1;é.db", "/tmp/a folder/50% #1;é.db"),
        ("sqlite:////tmp/%20.db", "/tmp/%20.db"),
    ],
)
def test_files(url: str, file: str) -> None:
    assert sqlite_path(url) == Path(file)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://host/name",
        "postgres://host/name",
        "postgresql://",
        "postgresql:///name",
        "postgresql:///name?host=/var/run/postgresql",
        "postgresql://user:p%40ss:word@host:5432/name?sslmode=verify-full",
        "postgresql://user@host",
        "postgresql://user@[::1]:5432/name",
        "postgresql://one:5432,two:5433,three/name",
        "postgresql://user@%2Ftmp%2Fsockets/name",
    ],
)
def test_servers(url: str) -> None:
    assert sqlite_path(url) is None


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("", "cannot be read"),
        ("nonsense", "cannot be read"),
        ("sqlite:nonsense", "cannot be read"),
        ("secret-word://host", "cannot be read"),
        ("postgresql:user:secret@host/name", "cannot be read"),
        ("postgresql://user:secret/word@host/name", "cannot be read"),
        ("postgresql://user:secret#word@host/name", "cannot be read"),
        ("postgresql://host:secret/name", "cannot be read"),
        ("postgresql://[::1/name", "cannot be read"),
        ("mysql://user:secret@host/name", "begin with sqlite:/// or postgresql://, not mysql://"),
        ("postgresql+asyncpg://user:secret@host/name", "not postgresql[+]asyncpg://"),
        ("SQLITE:///keystead.db", "not SQLITE://"),
        ("sqlite://", "names a file"),
        ("sqlite:///", "names a file"),
        ("sqlite:///:memory:", "names a file"),
        ("sqlite://secret/keystead.db", "names a file"),
        ("sqlite:///keystead.db?mode=secret", "names a file and nothing else"),
    ],
)
def test_other_urls_are_refused(url: str, said: str) -> None:
    with pytest.raises(ValueError, match=said) as refused:
        migrate(url)
    assert "sqlite:///" in str(refused.value)
    assert "secret" not in str(refused.value)

    async def run() -> None:
        with pytest.raises(ValueError, match=said):
            await open_store(url)

    asyncio.run(run())
