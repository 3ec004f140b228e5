"""A record kind in one declaration: a toy kind is stored, read back, limited and removed by it alone."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from keystead.api.errors import InvalidRequest, LimitReached
from keystead.organizations.attached_rows import AttachedRow
from keystead.organizations.attachments import ATTACHED_TABLES
from keystead.organizations.limits import Limit, Limits
from keystead.organizations.organization import Organization, Put, Remove, Version, apply, from_records, records_of
from keystead.organizations.record_kinds import KINDS, RECORD_KINDS, RecordKinds
from keystead.organizations.record_map import RecordMap
from keystead.pipeline.store import CommitOutcome
from keystead.storage.tables import TABLES_BY_NAME
from tests.storage.conftest import opened
from tests.support.commit_history import CommitHistory, found_by
from tests.support.commit_samples import a_user, an_organization

COMMITTED = CommitOutcome.COMMITTED


class Toy(msgspec.Struct, frozen=True, kw_only=True):
    toy_id: str
    toy_name: str
    colours: tuple[str, ...] = ()


TOYS = Limit(name="toys", default=3, description="Most toys of an organization.", called="toys")


class Toys(RecordMap[Toy], frozen=True):
    word = "toy"
    record = Toy
    id_field = "toy_id"
    limits = (TOYS,)
    label_field = "toy_name"
    label_called = "toy name"


WITH_TOYS = RecordKinds((*KINDS, Toys))
BALL = Toy(toy_id="1", toy_name="ball", colours=("red", "ü"))
KITE = Toy(toy_id="2", toy_name="kite")


def organization_with_toys(*toys: Toy) -> Organization:
    return from_records("organization", Version(1, "bootstrap"), [*records_of(an_organization()), *toys], WITH_TOYS)


def test_a_toy_kind_is_stored_read_back_and_removed(database: str) -> None:
    async def run() -> None:
        first = organization_with_toys(BALL)
        async with opened(database, kinds=WITH_TOYS) as store, opened(database, kinds=WITH_TOYS) as other:
            assert await store.bootstrap(first, (), found_by(first), {})
            assert await other.organization(first.id) == first
            history = CommitHistory(first)
            for changes in ([KITE], [msgspec.structs.replace(BALL, toy_name="football")], [Remove(Toy, "1")]):
                assert await store.commit(history.step(*changes)) is COMMITTED
                async with opened(database, kinds=WITH_TOYS) as fresh:
                    for place in (store, other, fresh):
                        assert await place.organization(first.id) == history.head
            assert history.head.of(Toys).in_order() == [KITE]

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
    word = "twin"
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

    assert {kind.table.name for kind in kinds(AttachedRow) if hasattr(kind, "table")} == {
        table.name for table in ATTACHED_TABLES
    }
    assert {table.name for table in ATTACHED_TABLES} <= TABLES_BY_NAME.keys()


def test_equal_organizations_have_equal_sizes() -> None:
    """However they came to be: otherwise a cache's sum would drift."""
    user = a_user("Grace")
    before = an_organization()
    after = apply(before, [Put(user)], before.version)
    assert after.bytes > before.bytes
    assert apply(after, [Remove(type(user), user.user_id)], before.version) == before
    assert from_records(after.id, after.version, records_of(after)) == after
