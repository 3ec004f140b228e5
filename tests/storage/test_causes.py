"""A PostgreSQL that does not let us in: the error says why, and repeats nothing of the URL."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest

from keystead.api.errors import Unavailable
from keystead.storage.errors import AGAIN, unavailable
from keystead.storage.operator_messages import operator_message
from keystead.storage.postgres.reconnection import cause_of
from keystead.storage.schema import migrate, pending_migrations
from tests.storage.conftest import opened
from tests.support.postgres import PostgresServer


@pytest.fixture(scope="module")
def closed_port() -> Iterator[int]:
    with closing(socket.socket()) as unused:
        unused.bind(("127.0.0.1", 0))  # nobody listens
        yield int(unused.getsockname()[1])


CASES = {
    "wrong password": ("postgresql://postgres:secret-word@{host}/postgres", "refuses the user or the password"),
    "unknown user": ("postgresql://nobody-here:secret-word@{host}/postgres", "refuses the user or the password"),
    "no TLS": ("{url}?sslmode=require", "has no TLS, which sslmode in the URL demands"),
    "unknown host": ("postgresql://postgres:secret-word@nobody.invalid/postgres", "a host name that is not known"),
    "closed port": ("postgresql://postgres:secret-word@127.0.0.1:{closed}/postgres", "nothing listens"),
    "closed ports of a name": ("postgresql://postgres:secret-word@localhost:{closed}/postgres", "nothing listens"),
    "unknown database": ("{server}/nothing_here", "has no database of this name"),
}


@pytest.mark.parametrize("case", CASES)
def test_cause(case: str, postgres: PostgresServer, closed_port: int) -> None:
    template, cause = CASES[case]
    server = postgres.url().rpartition("/")[0]
    host = urlsplit(server).netloc.rpartition("@")[2]
    url = template.format(url=postgres.url(), server=server, host=host, closed=closed_port)

    async def ready() -> None:
        async with opened(url) as store:
            await store.ready()

    for use in (lambda: asyncio.run(ready()), lambda: pending_migrations(url)):
        with pytest.raises(Unavailable) as refused:
            use()
        assert cause in refused.value.message
        password = urlsplit(url).password
        assert password
        assert password not in refused.value.message
        assert "nobody" not in refused.value.message
        told = operator_message(url, refused.value)
        assert told.startswith(refused.value.message.removesuffix(AGAIN))
        assert told.endswith(f" (at {urlsplit(url).netloc.rpartition('@')[2]})")
        assert password not in told


HOSTS = [
    ("postgresql://me:secret@one,two:6432/db", " (at one,two:6432)"),
    ("postgresql://one", " (at one)"),
    ("postgresql:///db?host=/run/postgresql", ""),
    ("postgresql://me:12/34@one/db", ""),
]


@pytest.mark.parametrize(("url", "end"), HOSTS)
def test_an_operator_reads_where(url: str, end: str) -> None:
    assert operator_message(url, unavailable("does not answer")) == f"the database does not answer{end}"


def test_what_is_not_the_databases() -> None:
    for refused in (Unavailable(f"the signer does not answer{AGAIN}"), Unavailable("the signer does not answer")):
        assert operator_message("sqlite:///x.db", refused) == "the signer does not answer"


FILES = {
    "no folder": ("no/new.db", "its folder does not exist: make it first"),
    "a folder": ("folder", "it cannot be opened: this user must be able to"),
    "no database": ("text.db", "it is not a SQLite database: name another file"),
    "zeros": ("cut.db", "it is damaged: restore a backup"),
}


@pytest.mark.parametrize("case", FILES)
def test_a_file_that_is_no_database(case: str, tmp_path: Path) -> None:
    name, words = FILES[case]
    url = f"sqlite:///{tmp_path}/{name}"
    (tmp_path / "folder").mkdir()
    (tmp_path / "text.db").write_text("something else\n" * 100)
    migrate(f"sqlite:///{tmp_path}/cut.db")
    (tmp_path / "cut.db").write_bytes((tmp_path / "cut.db").read_bytes()[:5000])
    with pytest.raises(Unavailable) as refused:
        migrate(url)
    assert refused.value.message.endswith(AGAIN)
    assert operator_message(url, refused.value).startswith(f"database file {tmp_path}/{name}: {words}")


def role_error() -> asyncpg.InvalidAuthorizationSpecificationError:
    """As a server that speaks German sends it."""
    error = asyncpg.InvalidAuthorizationSpecificationError("Rolle »nobody« existiert nicht")
    error.server_source_function = "InitializeSessionUserId"
    return error


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (asyncpg.InvalidAuthorizationSpecificationError("no pg_hba.conf entry, no encryption"), "without TLS"),
        (asyncpg.InvalidAuthorizationSpecificationError("no pg_hba.conf entry"), "from this machine"),
        (role_error(), "has no role of this name that may log in"),
        (asyncpg.TooManyConnectionsError("sorry"), "no connection left"),
        (asyncpg.CannotConnectNowError("starting"), "starting or stopping"),
        (asyncpg.TargetServerAttributeNotMatched("read-write"), "accepts writes"),
        (ssl.SSLCertVerificationError("self-signed"), "certificate that is not trusted"),
        (ssl.SSLError("handshake"), "does not complete the TLS handshake"),
        (TimeoutError(), "does not answer in time"),
        (OSError("Multiple exceptions: [Errno 111] a, [Errno 113] b"), "does not accept a connection"),
        (asyncpg.PostgresError("anything else"), "does not accept a connection"),
    ],
)
def test_words(error: Exception, cause: str) -> None:
    assert cause in cause_of(error)
