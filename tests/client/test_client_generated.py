"""The generated half of the client: current, complete, importable without the server."""

from __future__ import annotations

import inspect
import subprocess
import sys
import types
from pathlib import Path
from typing import Any, get_type_hints

import msgspec
import pytest

import keystead
from keystead import AsyncClient, Client, Submitted
from keystead.api import records
from keystead.api.catalogue import Catalogue, Operation
from keystead.api.enums import Curve
from keystead.api.parameters import NotSupported, Pagination, QueryRequest, RequestStruct
from keystead.api.records import Wire
from keystead.client import shapes
from keystead.client.base import BaseClient
from keystead.client.calls import AsyncCalls, Calls
from keystead.operations import CATALOGUE, client_methods, declare
from keystead.pipeline.execution import Execution, Output
from keystead.pipeline.operation import ActivityOperation

OPERATIONS = list(CATALOGUE)


def test_the_generated_modules_are_current() -> None:
    stale = [
        name
        for name, text in client_methods.modules().items()
        if (client_methods.CLIENT / name).read_text() != text
    ]
    assert not stale, "run python -m keystead.operations.client_methods"


def test_check_tells_and_writing_mends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(client_methods, "CLIENT", tmp_path)
    assert client_methods.main(["--check"]) == 1
    assert "stale" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())
    assert client_methods.main([]) == 0
    assert client_methods.main(["--check"]) == 0
    (tmp_path / "shapes.py").write_text("edited by hand")
    assert client_methods.main(["--check"]) == 1


def test_they_are_formatted() -> None:
    files = [str(client_methods.CLIENT / name) for name in client_methods.modules()]
    run = subprocess.run(
        [sys.executable, "-m", "ruff", "format", "--check", *files], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_every_operation_is_a_method(operation: Operation, kind: type) -> None:
    method = getattr(kind, operation.name)
    hints = get_type_hints(operation.request_structs[0], include_extras=True)
    asked = {
        field.name: field
        for field in msgspec.structs.fields(operation.request_structs[0])
        if hints[field.name] != NotSupported | None
    }
    parameters = inspect.signature(method).parameters
    assert set(parameters) >= {"self", "organization_id", *asked}
    for name, field in asked.items():
        if name != "organization_id":
            assert (parameters[name].default is inspect.Parameter.empty) == field.required, name
    assert all(p.kind is p.KEYWORD_ONLY for name, p in parameters.items() if name != "self")
    assert method.__doc__.startswith(operation.summary)
    assert inspect.iscoroutinefunction(method) == (kind is AsyncClient)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_no_operation_hides_a_method_of_the_client(operation: Operation) -> None:
    own = {*vars(BaseClient), *vars(Client), *vars(AsyncClient), *vars(Calls), *vars(AsyncCalls)}
    assert operation.name not in own


def same_on_the_wire(theirs: Any, ours: Any) -> bool:
    def fields(struct: Any) -> list[tuple[str, str, bool, str]]:
        return [
            (field.name, field.encode_name, field.required, repr(field.default))
            for field in msgspec.structs.fields(struct)
        ]

    return fields(theirs) == fields(ours)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_shapes_are_those_of_the_operation(operation: Operation) -> None:
    if isinstance(operation, ActivityOperation):
        submitted = next(
            shape
            for shape in vars(shapes).values()
            if isinstance(shape, type) and issubclass(shape, Submitted) and shape is not Submitted
            if shape.operation == operation.name
        )
        version = operation.versions[0]
        assert (submitted.activity_type, submitted.result_key) == (version.activity_type, version.result_key)
        assert same_on_the_wire(operation.result, submitted.result_struct)
    else:
        answer = operation.answer_struct
        assert same_on_the_wire(answer, getattr(shapes, answer.__name__))


def test_names_of_a_result_do_not_hide_those_of_a_submission() -> None:
    members = {*vars(Submitted), *Submitted.__annotations__, "activity"}
    assert {name for name in members if not name.startswith("_")} == client_methods.SUBMITTED_MEMBERS


class Nested(Wire, frozen=True):
    """One side: `from_` is "from" on the wire, and \\ is \\."""

    from_: str = msgspec.field(name="from")
    curve: Curve = Curve.P256
    note: str = "none"


class OddIntent(RequestStruct, frozen=True):
    organization_id: str
    sides: tuple[Nested, ...]
    page: Pagination | None = None
    extras: dict[str, Any] | None = None
    limit: int = 7


class OddResult(Wire, frozen=True):
    activity: str
    odd_id: str


class Unspeakable(QueryRequest, frozen=True):
    flags: set[str]


@pytest.fixture
def catalogue(monkeypatch: pytest.MonkeyPatch) -> Catalogue:
    """An empty catalogue in place of the real one."""
    empty = Catalogue()
    monkeypatch.setattr(declare, "CATALOGUE", empty)
    monkeypatch.setattr(client_methods, "CATALOGUE", empty)
    return empty


def test_what_no_operation_needs_yet(catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(declare, "VOTES", {"ODD_ONE"})

    @declare.activity("ACTIVITY_TYPE_ODD_ONE_V3", own=True)
    def odd_one(execution: Execution, intent: OddIntent) -> Output[OddResult]:
        """Do the odd one."""
        raise NotImplementedError

    made = client_methods.modules()
    for line in (
        "organization_id: str,",
        "in_organization_id: str | None = None,",
        "sides: Sequence[shapes.Nested],",
        "extras: dict[str, Any] | None = None,",
        "limit: int = 7,",
        '"odd_one": "ACTIVITY_TYPE_ODD_ONE_V3",',
    ):
        assert f"    {line}\n" in made["operations.py"]
    odd = executed(made["shapes.py"], monkeypatch)
    assert same_on_the_wire(Nested, odd.Nested)
    assert msgspec.json.encode(odd.Nested(from_="a")) == b'{"from":"a"}'
    assert odd.Nested.__doc__ == Nested.__doc__
    # A field of the result that has the name of a submission's own is read through `result` only.
    assert "odd_id" in vars(odd.OddOneSubmitted)
    assert "activity" not in vars(odd.OddOneSubmitted)


def executed(module: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    made = types.ModuleType("odd_shapes")
    monkeypatch.setitem(sys.modules, made.__name__, made)
    exec(module, made.__dict__)
    return made


def test_types_that_cannot_be_written(catalogue: Catalogue) -> None:
    @declare.query(own=True)
    def odd_query(reading: declare.Reading, request: Unspeakable) -> OddResult:
        """Ask oddly."""
        raise NotImplementedError

    with pytest.raises(TypeError, match="set"):
        client_methods.modules()


class Wallet(Wire, frozen=True):
    """Not the record of that name."""


class TwoWalletsResponse(Wire, frozen=True):
    one: records.Wallet
    other: Wallet


def test_two_structs_of_one_name(catalogue: Catalogue) -> None:
    @declare.query(own=True)
    def odd_query(reading: declare.Reading, request: QueryRequest) -> TwoWalletsResponse:
        """Ask oddly."""
        raise NotImplementedError

    with pytest.raises(TypeError, match="rename one of them"):
        client_methods.modules()


def fresh(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_the_client_comes_without_the_server_and_the_server_without_an_http_client() -> None:
    said = "import sys; from keystead import Client; print([n for n in sys.modules if n.startswith('keystead.')])"
    rooms = ("server", "operations", "storage", "activities", "keys", "organizations", "policies")
    loaded = fresh(said)
    assert "keystead.client.client" in loaded
    assert not [room for room in rooms if f"'keystead.{room}" in loaded]
    said = "import sys, keystead, keystead.server.application; print('httpx' in sys.modules, dir(keystead))"
    found, names = fresh(said).split(maxsplit=1)
    assert found == "False"
    assert "'AsyncClient'" in names
    said = "import sys, keystead.client; print({'httpx', 'keystead.client.shapes'} & sys.modules.keys())"
    assert fresh(said) == "set()\n"
    assert fresh("import keystead.client; print(keystead.client.shapes.__name__)") == "keystead.client.shapes\n"


def test_names_of_the_package() -> None:
    for name in keystead.client.__all__:
        assert name in dir(keystead.client)
        assert getattr(keystead.client, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Nobody'"):
        _ = keystead.client.Nobody  # type: ignore[attr-defined]
    for name in keystead.__all__:
        assert getattr(keystead, name) is getattr(keystead.client, name)
    with pytest.raises(AttributeError, match="Clinet"):
        _ = keystead.Clinet  # type: ignore[attr-defined]
