"""Fixtures for every test: empty databases of both engines, and servers over them."""

from __future__ import annotations

import asyncio
import gc
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any, TypeVar

import asyncpg
import coverage
import pytest
from hypothesis import HealthCheck, settings

from keystead.keys.token_key import TokenKeyName, create_token_key
from keystead.storage.schema import distribute, migrate
from keystead.testing import DevelopmentServer
from tests.support.callers import Caller
from tests.support.citus import CITUS_URL, drop_citus_database, new_citus_database
from tests.support.databases import Database, PostgresDatabase, SqliteDatabase
from tests.support.issuers import ISSUER, taking_tokens, write_keys_file
from tests.support.organization_fixtures import RecordIds, create_records
from tests.support.postgres import MEMORY_VARIABLE, PostgresServer, running_postgres
from tests.support.servers import Installation, Server, bootstrap_installation, running
from tests.support.softhsm import made_token

pytest_plugins = ["pytester"]

# A property holds or does not, also on a slow machine. This is here because decorators of tests inherit it.
settings.register_profile("any-machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any-machine")

_TEMPORARY = pytest.StashKey[list[Path]]()
_MEMORY = Path("/dev/shm")
_MEMORY_BYTES = 8 * 2**30


GARBAGE_THRESHOLDS = (100_000, 20, 100)


def pytest_configure(config: pytest.Config) -> None:
    """One temporary folder for all processes that the tests start, and one in memory where there is enough: what a
    killed one leaves goes with it."""
    gc.set_threshold(*GARBAGE_THRESHOLDS)  # thousands of tests are collected: looking through them takes long
    if hasattr(config, "workerinput"):  # a worker of pytest-xdist has the environment of the process that began
        return
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", tempfile.gettempdir())  # pytest's own folders stay for a look
    folder = Path(tempfile.mkdtemp(prefix="keystead-tests-"))
    config.stash[_TEMPORARY] = [folder]
    os.environ["TMPDIR"] = tempfile.tempdir = str(folder)
    if _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free >= _MEMORY_BYTES:
        os.environ[MEMORY_VARIABLE] = in_memory = tempfile.mkdtemp(prefix="keystead-tests-", dir=_MEMORY)
        config.stash[_TEMPORARY].append(Path(in_memory))
    for made in config.stash[_TEMPORARY]:
        made.chmod(0o755)  # PostgreSQL runs as `nobody`


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Coverage is measured without property tests: it would double the time of their hundreds of examples."""
    measuring = None
    if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
        measuring = coverage.Coverage.current()
    if measuring is not None:
        measuring.stop()
    try:
        return (yield)
    finally:
        if measuring is not None:
            measuring.start()


def pytest_collection_finish() -> None:
    gc.freeze()  # modules and the list of tests are never garbage


def pytest_unconfigure(config: pytest.Config) -> None:
    for folder in config.stash.get(_TEMPORARY, []):
        shutil.rmtree(folder, ignore_errors=True)


ENGINES = ("sqlite", "postgres", *(("citus",) if CITUS_URL else ()))
MakeDatabase = Callable[[], Database]
StartServer = Callable[..., Server]


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    with running_postgres() as server:
        yield server


@pytest.fixture(scope="session")
def make_sqlite(tmp_path_factory: pytest.TempPathFactory) -> MakeDatabase:
    """Makes migrated, empty SQLite databases."""
    folder = tmp_path_factory.mktemp("databases")
    migrate(f"sqlite:///{folder / 'template.db'}")

    def make() -> Database:
        path = folder / f"{secrets.token_hex(4)}.db"
        shutil.copy(folder / "template.db", path)
        return SqliteDatabase(path)

    return make


@pytest.fixture(scope="session")
def make_postgres(postgres: PostgresServer) -> MakeDatabase:
    """Makes migrated, empty PostgreSQL databases."""
    template = postgres.create_database()
    migrate(template)

    def make() -> Database:
        name = f"test_{secrets.token_hex(8)}"

        async def create() -> None:
            connection: Any = await asyncpg.connect(postgres.url())
            source = template.rpartition("/")[2]
            await connection.execute(f"CREATE DATABASE {name} TEMPLATE {source} STRATEGY FILE_COPY")
            await connection.close()

        asyncio.run(create())
        return PostgresDatabase(postgres.url(name))

    return make


@pytest.fixture(scope="session")
def make_citus() -> Iterator[MakeDatabase]:
    """Makes migrated, empty databases whose tables a cluster distributes."""
    urls: list[str] = []

    def make() -> Database:
        urls.append(new_citus_database())
        migrate(urls[-1])
        distribute(urls[-1])
        return PostgresDatabase(urls[-1])

    yield make
    for url in urls:
        drop_citus_database(url)


@pytest.fixture(scope="session")
def token(tmp_path_factory: pytest.TempPathFactory) -> TokenKeyName:
    """The name of a master key in a PKCS#11 token."""
    name = made_token(tmp_path_factory.mktemp("softhsm"))
    create_token_key(name).close()
    return name


@pytest.fixture(scope="session", params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    """Tests run on both, except those of modules that are marked `one_engine`."""
    name: str = request.param
    return name


_LONGEST = (
    "test_console.py",
    "test_browser.py",
    "test_webhooks.py",
    "test_fuzz.py",
    "test_networks.py",
    "test_guides.py",
    "test_outbox_delivery.py",
    "test_rotation_dies.py",
    "test_failover.py",
    "test_pytest_plugin.py",
    "test_site.py",
    "test_email_events.py",
    "test_fixtures.py",
    "test_model.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The files that take longest come first: one that is begun last would keep the other workers waiting."""
    items[:] = [item for item in items if not (item.get_closest_marker("one_engine") and _is_second(item))]
    order = {name: place for place, name in enumerate(_LONGEST)}
    items.sort(key=lambda item: order.get(item.path.name, len(order)))


def _is_second(item: pytest.Item) -> bool:
    return isinstance(item, pytest.Function) and _engine_of(item) in ENGINES[1:]


def _engine_of(item: pytest.Function) -> object:
    return item.callspec.params.get("engine") if hasattr(item, "callspec") else None


@pytest.fixture(scope="session")
def make_database(engine: str, request: pytest.FixtureRequest) -> MakeDatabase:
    """Makes migrated, empty databases of one engine."""
    make: MakeDatabase = request.getfixturevalue(f"make_{engine}")
    return make


T = TypeVar("T")


class Shared:
    """What the tests of a worker share, by name. A fixture with parameters would be torn down and made again with
    every change of its parameter, which happens twice in each file."""

    def __init__(self, open_until_the_end: ExitStack) -> None:
        self._open_until_the_end = open_until_the_end
        self._made: dict[tuple[str, str], Any] = {}

    def get(self, name: str, engine: str, make: Callable[[], AbstractContextManager[T]]) -> T:
        if (name, engine) not in self._made:
            self._made[name, engine] = self._open_until_the_end.enter_context(make())
        made: T = self._made[name, engine]
        return made


@pytest.fixture(scope="session")
def shared() -> Iterator[Shared]:
    with ExitStack() as open_until_the_end:
        yield Shared(open_until_the_end)


SHARED_LIMITS = {
    "limit_webhook_endpoints": 1000,
    "limit_auth_proxies": 1000,
    "limit_oauth2_credentials": 1000,
    "limit_velocity_controls": 1000,
}
"""The limits of an organization that the tests of one worker would reach together."""


@contextmanager
def shared_server(installation: Installation, folder: Path) -> Iterator[Server]:
    with running(installation, folder / "log", {**taking_tokens(folder), **SHARED_LIMITS}) as server:
        yield server
    installation.database.close()


@pytest.fixture(scope="session")
def server(
    shared: Shared, engine: str, make_database: MakeDatabase, tmp_path_factory: pytest.TempPathFactory
) -> Server:
    """A server that tests share: each leaves it as it found it, or makes an organization of its own."""

    def make() -> AbstractContextManager[Server]:
        installation = bootstrap_installation(make_database(), mode="dev")  # it keeps its messages
        return shared_server(installation, tmp_path_factory.mktemp("server"))

    return shared.get("server", engine, make)


@pytest.fixture(scope="session")
def sqlite_server(make_sqlite: MakeDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A shared server over SQLite, for what no database makes a difference to."""
    with shared_server(bootstrap_installation(make_sqlite()), tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture
def caller(server: Server) -> Caller:
    """The root user of the shared server's organization."""
    return server.caller


@pytest.fixture
def database(server: Server) -> Database:
    """The shared server's database."""
    return server.installation.database


@pytest.fixture(scope="session")
def record_ids(shared: Shared, engine: str, server: Server) -> RecordIds:
    """One record of each kind in the shared server's organization."""
    return shared.get("records", engine, lambda: nullcontext(create_records(server.caller)))


@pytest.fixture
def installation(make_database: MakeDatabase) -> Iterator[Installation]:
    """A bootstrapped database of the test itself."""
    installation = bootstrap_installation(make_database())
    yield installation
    installation.database.close()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[StartServer]:
    """Starts servers of the test's own: `start(installation, **settings)`."""
    with ExitStack() as servers:

        def start(installation: Installation, **settings: object) -> Server:
            log = tmp_path / f"log-{secrets.token_hex(4)}"
            return servers.enter_context(running(installation, log, settings))

        yield start


class LiveServer:
    """A development server as published clients see it."""

    def __init__(self, server: DevelopmentServer) -> None:
        credentials = server.credentials
        assert credentials.user_id is not None
        self.base_url = server.base_url
        self.organization_id = credentials.organization_id
        self.user_id = credentials.user_id
        self.api_public_key = credentials.api_public_key
        self.api_private_key = credentials.api_private_key


@pytest.fixture(scope="session")
def live(
    keystead_server: Callable[..., AbstractContextManager[DevelopmentServer]],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[LiveServer]:
    """A server of the pytest plugin, which users of the package get too. It takes ISSUER's tokens."""
    keys = write_keys_file(tmp_path_factory.mktemp("live") / "issuers.json", ISSUER)
    with keystead_server(oidc_keys_file=keys) as server:
        yield LiveServer(server)
