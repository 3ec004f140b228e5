"""The catalogue: a second declaration of a path or type fails, and the catalogue agrees with the public schema."""

from __future__ import annotations

import msgspec
import pytest

from keystead.api.catalogue import Catalogue, Operation, activity_kind, wire_key
from keystead.api.parameters import QueryRequest, RequestStruct
from keystead.api.public_schema import ACTIVITY_TYPES
from keystead.api.records import Wire
from keystead.operations import CATALOGUE, QueryOperation
from keystead.operations.declare import Reading, activity, query
from keystead.pipeline.execution import Execution, Output
from keystead.pipeline.operation import ActivityOperation

ALL = list(CATALOGUE)
SUBMISSIONS = [operation for operation in ALL if isinstance(operation, ActivityOperation)]


class Query(Operation, frozen=True, kw_only=True):
    kind = "query"


class Submission(Operation, frozen=True, kw_only=True):
    kind = "submit"


def declared(kind: type[Operation], name: str, *types: str) -> Operation:
    return kind(
        name=name, module="m", summary="s", request_structs=(), answer_struct=msgspec.Struct, activity_types=types
    )


def test_found_by_path_and_by_type() -> None:
    catalogue = Catalogue()
    catalogue.add(query := declared(Query, "x"))
    catalogue.add(submission := declared(Submission, "x", "B", "A"))
    assert catalogue.at("/public/v1/query/x") is query
    assert [catalogue.of_type(name) for name in "ABC"] == [submission, submission, None]
    assert catalogue.at("/public/v1/query/y") is None
    assert list(catalogue) == [query, submission]


TWICE = [
    ("path", declared(Submission, "x"), declared(Submission, "x"), "/public/v1/submit/x"),
    ("type", declared(Submission, "x", "A"), declared(Submission, "y", "B", "A"), "A"),
]


@pytest.mark.parametrize(("what", "first", "second", "named"), TWICE, ids=[what for what, *_ in TWICE])
def test_declared_twice(what: str, first: Operation, second: Operation, named: str) -> None:
    catalogue = Catalogue()
    catalogue.add(first)
    with pytest.raises(ValueError, match=f"declared twice: {named}"):
        catalogue.add(second)


def test_an_operation_needs_its_documentation() -> None:
    class SomeIntent(RequestStruct, frozen=True):
        pass

    class SomeResult(Wire, frozen=True):
        pass

    def create_nothing(execution: Execution, intent: SomeIntent) -> Output[SomeResult]:
        raise NotImplementedError

    create_nothing.__annotations__.update(intent=SomeIntent)
    create_nothing.__annotations__["return"] = Output[SomeResult]
    with pytest.raises(ValueError, match="create_nothing has no docstring"):
        activity("ACTIVITY_TYPE_CREATE_USERS")(create_nothing)


def test_an_operation_of_our_own_is_declared_as_such() -> None:
    class GetMoonRequest(QueryRequest, frozen=True):
        pass

    class GetMoonResponse(Wire, frozen=True):
        pass

    def get_moon(reading: Reading, request: GetMoonRequest) -> GetMoonResponse:
        """The moon."""
        raise NotImplementedError

    def get_wallet(reading: Reading, request: GetMoonRequest) -> GetMoonResponse:
        """A wallet."""
        raise NotImplementedError

    for function in (get_moon, get_wallet):
        function.__annotations__.update(reading=Reading, request=GetMoonRequest)
        function.__annotations__["return"] = GetMoonResponse
    with pytest.raises(ValueError, match="declare it with own=True and name it"):
        query()(get_moon)
    with pytest.raises(ValueError, match="declare it without own=True"):
        query(own=True)(get_wallet)


@pytest.mark.parametrize("operation", ALL, ids=lambda operation: operation.name)
def test_operation(operation: Operation) -> None:
    assert operation.summary.endswith(".")
    assert operation.is_own or set(operation.activity_types) <= ACTIVITY_TYPES
    if isinstance(operation, QueryOperation):
        assert issubclass(operation.request_structs[0], QueryRequest)
    for struct in operation.request_structs:
        assert issubclass(struct, RequestStruct)
        assert struct.__struct_config__.forbid_unknown_fields


@pytest.mark.parametrize("operation", SUBMISSIONS, ids=lambda operation: operation.name)
def test_versions_of_a_submission(operation: ActivityOperation) -> None:
    """One kind, one intent key each, every key as its type demands: …_V2 -> …IntentV2."""
    assert len({activity_kind(version.activity_type) for version in operation.versions}) == 1
    for version in operation.versions:
        words = activity_kind(version.activity_type)
        number = version.activity_type.removeprefix(f"ACTIVITY_TYPE_{words}").removeprefix("_V")
        camel = "".join(word.capitalize() for word in words.split("_"))
        key = f"{camel[0].lower()}{camel[1:]}Intent{f'V{number}' if number.isdigit() else ''}"
        assert version.intent_key.lower() == key.lower()
        assert "Result" in version.result_key


def test_keys() -> None:
    class CreateUsersIntentV4(RequestStruct, frozen=True):
        pass

    assert wire_key(CreateUsersIntentV4) == "createUsersIntentV4"
    assert [activity_kind(f"ACTIVITY_TYPE_{name}") for name in ("CREATE_USERS_V4", "CREATE_USERS", "A_V1_B")] == [
        "CREATE_USERS",
        "CREATE_USERS",
        "A_V1_B",
    ]
