"""Record kinds and attached rows, each in one declaration: toy kinds are stored, read back, limited and removed."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from typing import Any

import asyncpg
import msgspec
import pytest
from msgspec.structs import replace

from keystead.api.errors import InvalidRequest, LimitReached
from keystead.organizations.attached_rows import AttachedRow, AttachedTable, RemovedRow, VersionedRow
from keystead.organizations.attachments import ATTACHED_TABLES, InterfaceText, RemovedOrganizationContents
from keystead.organizations.contacts.outgoing_messages import EmailEventRow, SendResult
from keystead.organizations.limits import Limit, Limits
from keystead.organizations.organization import Organization, Put, Remove, Version, apply, from_records, records_of
from keystead.organizations.record_kinds import KINDS, RECORD_KINDS, RecordKinds
from keystead.organizations.record_map import RecordMap
from keystead.organizations.refused_requests import RefusedRequest
from keystead.organizations.velocity.counters import VelocityCounter, VelocityEntry
from keystead.pipeline.store import Commit, CommitResult, Store
from keystead.server.installation.deletions import finish_deletions
from keystead.storage.open import sqlite_path
from keystead.storage.store import DatabaseStore
from keystead.storage.tables import TABLES
from tests.storage.conftest import ENGINES, opened
from tests.storage.test_purging import MAKE
from tests.support.commit_history import CommitHistory, found_by
from tests.support.commit_samples import a_secret, a_user, an_account, an_organization
from tests.support.memory_database import MemoryDatabase
from tests.support.memory_store import MemoryStore

COMMITTED = CommitResult.COMMITTED
OpenStore = Callable[[], AbstractAsyncContextManager[Store]]


class Toy(msgspec.Struct, frozen=True, kw_only=True):
    toy_id: str
    toy_name: str
    colours: tuple[str, ...] = ()


TOYS = Limit(name="toys", default=3, description="Most toys of an organization.", called="toys")


class Toys(RecordMap[Toy], frozen=True):
    stored_name = "toy"
    record = Toy
    id_field = "toy_id"
    limits = (TOYS,)
    label_field = "toy_name"
    label_called = "toy name"


class ToyPart(AttachedRow, frozen=True):
    """A part of a toy: an attached row that replaces the row of the same key."""

    table = AttachedTable(
        name="toy_part",
        key=(("toy_id", str), ("part", str)),
        columns=(("weight", int), ("body", bytes)),
        is_replaced=True,
    )

    toy_id: str
    part: str
    weight: int
    colours: tuple[str, ...] = ()

    @classmethod
    def removal(cls, toy_id: str, part: str) -> RemovedRow:
        return RemovedRow(cls.table, (toy_id, part))


class ToyUse(VersionedRow, frozen=True, kw_only=True):
    """How often a toy was used: an attached row with a revision."""

    table = AttachedTable(
        name="toy_use", key=(("toy_id", str),), columns=(("revision", int), ("count", int)), has_revision=True
    )

    toy_id: str
    count: int


CREATE_TABLES = (
    "CREATE TABLE toy_part (organization_id TEXT, toy_id TEXT, part TEXT, weight INTEGER, body {bytes}, "
    "PRIMARY KEY (organization_id, toy_id, part))",
    "CREATE TABLE toy_use (organization_id TEXT, toy_id TEXT, revision INTEGER, count INTEGER, "
    "PRIMARY KEY (organization_id, toy_id))",
)
WITH_TOYS = RecordKinds((*KINDS, Toys), (*ATTACHED_TABLES, ToyPart.table, ToyUse.table))
BALL = Toy(toy_id="1", toy_name="ball", colours=("red", "ü"))
KITE = Toy(toy_id="2", toy_name="kite")


def organization_with_toys(*toys: Toy) -> Organization:
    return from_records("organization", Version(1, "bootstrap"), [*records_of(an_organization()), *toys], WITH_TOYS)


FIRST = organization_with_toys(BALL)


def test_a_toy_kind_is_stored_read_back_and_removed(database: str) -> None:
    async def run() -> None:
        first = organization_with_toys(BALL)
        async with opened(database, kinds=WITH_TOYS) as store, opened(database, kinds=WITH_TOYS) as other:
            assert await store.bootstrap(first, (), found_by(first), {})
            assert await other.organization(first.id) == first
            history = CommitHistory(first)
            for changes in ([KITE], [replace(BALL, toy_name="football")], [Remove(Toy, "1")]):
                assert await store.commit(history.step(*changes)) is COMMITTED
                async with opened(database, kinds=WITH_TOYS) as fresh:
                    for place in (store, other, fresh):
                        assert await place.organization(first.id) == history.head
            assert history.head.of(Toys).in_order() == [KITE]

    asyncio.run(run())


def run_sql(database: str, *statements: str) -> list[tuple[Any, ...]]:
    """Run statements on a database; the rows of the last one."""
    if (path := sqlite_path(database)) is not None:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            return [connection.execute(statement.format(bytes="BLOB")).fetchall() for statement in statements][-1]

    async def run() -> list[tuple[Any, ...]]:
        connection = await asyncpg.connect(database)
        try:
            rows = [await connection.fetch(statement.format(bytes="BYTEA")) for statement in statements]
            return [tuple(row) for row in rows[-1]]
        finally:
            await connection.close()

    return asyncio.run(run())


@pytest.fixture(params=[*ENGINES, "memory"])
def toy_store(request: pytest.FixtureRequest) -> OpenStore:
    """A function that opens a store with the organization FIRST."""

    @asynccontextmanager
    async def in_memory() -> AsyncIterator[Store]:
        database = MemoryDatabase()
        database.insert(FIRST)
        yield MemoryStore(database)

    if request.param == "memory":
        return in_memory
    url: str = request.getfixturevalue(f"new_{request.param}")()
    run_sql(url, *CREATE_TABLES)

    @asynccontextmanager
    async def in_database() -> AsyncIterator[Store]:
        async with opened(url, kinds=WITH_TOYS) as store:
            await store.bootstrap(FIRST, (), found_by(FIRST), {})
            yield store

    return in_database


def test_attached_rows_are_stored_read_back_replaced_and_removed(toy_store: OpenStore) -> None:
    history = CommitHistory(FIRST)
    tail, string, bow = ToyPart("2", "tail", 5, ("red", "ü")), ToyPart("2", "string", 1), ToyPart("2", "bow", 2)
    heavy = replace(tail, weight=7)

    def used(count: int, revision: int) -> Commit:
        use = ToyUse(toy_id="2", count=count, revision=revision)
        return Commit(organization_id=history.head.id, decided_on=history.head.version, activity=None, rows=(use,))

    async def run() -> None:
        async with toy_store() as store:

            async def written(*commits: Commit) -> list[CommitResult]:
                return list(await asyncio.gather(*map(store.commit, commits)))  # in one transaction

            async def rows() -> list[AttachedRow | None]:
                names = ("tail", "string", "bow")
                parts = [await store.attached.get(ToyPart, history.head.id, "2", name) for name in names]
                return [*parts, await store.attached.get(ToyUse, history.head.id, "2")]

            assert await written(history.step(KITE, attachments=(tail, string))) == [COMMITTED]
            assert await rows() == [tail, string, None, None]
            assert await store.attached.get(ToyPart, "elsewhere", "2", "tail") is None
            changed = history.step(attachments=(heavy, bow))
            removed = history.step(attachments=(ToyPart.removal("2", "string"), ToyPart.removal("2", "bow")))
            assert await written(changed, removed) == [COMMITTED, COMMITTED]
            assert await written(used(1, 1)) == [COMMITTED]
            assert await written(used(2, 2)) == [COMMITTED]
            assert await written(used(9, 2)) == [CommitResult.CONFLICT], "another revision 2"
            assert await rows() == [heavy, None, None, ToyUse(toy_id="2", count=2, revision=2)]
            end = history.step(attachments=(RemovedOrganizationContents(),))
            assert await written(end) == [COMMITTED]
            if isinstance(store, DatabaseStore):
                await finish_deletions(store)
            assert await rows() == [None] * 4

    asyncio.run(run())


def test_who_listens_gets_the_rows_of_a_kind_once_they_are_durable(database: str) -> None:
    run_sql(database, *CREATE_TABLES)
    history = CommitHistory(FIRST)
    heard: list[Sequence[ToyUse]] = []
    use = ToyUse(toy_id="1", count=1)

    async def run() -> None:
        async with opened(database, kinds=WITH_TOYS) as store:
            await store.bootstrap(history.head, (), found_by(history.head), {})
            store.when_rows_are_written(ToyUse, heard.append)
            id_, version = history.head.id, history.head.version
            for rows in ((use,), (use,), ()):  # the second is in conflict with the first
                await store.commit(Commit(organization_id=id_, decided_on=version, activity=None, rows=rows))
            assert heard == [[use]]

    asyncio.run(run())


def test_its_limit_and_its_labels() -> None:
    toys = organization_with_toys(BALL, KITE).of(Toys)
    toys.check_limit(1, Limits())
    with pytest.raises(LimitReached, match="toys: 2 of 3 are in use, 2 more were asked for"):
        toys.check_limit(2, Limits())
    with pytest.raises(LimitReached, match="toys: 2 of 2 are in use"):
        toys.check_limit(1, Limits(toys=2))
    Toys.check_label("doll", toys.labels(), "parameters.toyName")
    with pytest.raises(InvalidRequest, match=r"field `parameters\.toyName`: toy name must be unique: 'kite' is 2"):
        Toys.check_label("kite", toys.labels(), "parameters.toyName")
    assert WITH_TOYS.limits == (*RECORD_KINDS.limits, TOYS), "the settings follow from this"


def test_a_kind_that_is_not_listed_is_an_error() -> None:
    organization = an_organization()
    for change in (Put(BALL), Remove(Toy, "1")):
        with pytest.raises(KeyError):
            apply(organization, [change], organization.version)
    with pytest.raises(KeyError):
        organization.of(Toys)


class Twin(RecordMap[Toy], frozen=True):
    stored_name = "twin"
    record = Toy
    id_field = "toy_id"


def test_two_kinds_of_one_record_or_word_are_an_error() -> None:
    for kinds in ((Toys, Twin), (Toys, Toys)):
        with pytest.raises(ValueError, match="two record kinds"):
            RecordKinds(kinds)


INCOMPLETE = {
    "no word": {"record": Toy, "id_field": "toy_id"},
    "no record": {"word": "toy", "id_field": "toy_id"},
    "no id": {"word": "toy", "record": Toy},
    "an id that is not a field": {"word": "toy", "record": Toy, "id_field": "id"},
    "a label that is not a field": {"word": "toy", "record": Toy, "id_field": "toy_id", "label_field": "name"},
}


@pytest.mark.parametrize("declaration", INCOMPLETE.values(), ids=INCOMPLETE)
def test_an_incomplete_declaration_fails_at_import(declaration: dict[str, object]) -> None:
    with pytest.raises(TypeError, match="Incomplete"):
        msgspec.defstruct("Incomplete", [], bases=(RecordMap,), namespace=declaration, frozen=True)


def test_every_kind_of_attached_row_has_its_table() -> None:
    def kinds(base: type[AttachedRow]) -> set[type[AttachedRow]]:
        return {kind for each in base.__subclasses__() for kind in (each, *kinds(each))}

    declared = {kind.table.name for kind in kinds(AttachedRow) if hasattr(kind, "table")}
    assert declared - {"toy_part", "toy_use"} == {table.name for table in ATTACHED_TABLES}
    assert {table.name for table in ATTACHED_TABLES} <= {table.name for table in TABLES}


def test_a_row_of_every_kind_is_read_from_its_columns() -> None:
    event = EmailEventRow(
        id="event",
        message_id="message",
        type=SendResult.SENT,
        sender="",
        recipient="Ada@example.com",
        at_ms=1,
        expires_at_ms=2,
        detail="250 OK",
    )
    account = an_account("organization", "wallet")
    rows = [InterfaceText("interface", "ü"), account, replace(account, exported=True), a_secret("wallet"), event]
    rows += [make(1, 2) for make in MAKE.values()]
    rows += [
        VelocityCounter(id="control/", at_ms=1, window_ms=2, total="3"),
        VelocityEntry(counter_id="control/", at_ms=1, total_before="0"),
        RefusedRequest(id="request", at_ms=1, expires_at_ms=2, user_name="ü"),
    ]
    assert {row.table for row in rows} == set(ATTACHED_TABLES)
    for row in rows:
        assert type(row).from_row(row.row()) == row


def test_equal_organizations_have_equal_sizes() -> None:
    """However they came to be: otherwise a cache's sum would drift."""
    user = a_user("Grace")
    before = an_organization()
    after = apply(before, [Put(user)], before.version)
    assert after.bytes > before.bytes
    assert apply(after, [Remove(type(user), user.user_id)], before.version) == before
    assert from_records(after.id, after.version, records_of(after)) == after
