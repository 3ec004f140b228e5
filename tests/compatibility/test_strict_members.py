"""Every answer has the members without which the strictest published client, the crate turnkey_client, refuses it.

`strict_members.json` has these members (`tools.strict_members`). Its names that end in `?` may be absent.
"""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from keystead.api.catalogue import Operation
from keystead.api.records import Activity, Wire
from keystead.operations import CATALOGUE

STRICT = json.loads(Path(__file__).with_name("strict_members.json").read_text())
ANSWERED = [operation for operation in CATALOGUE if operation.path.removeprefix("/public/v1/") in STRICT["answers"]]


def may_be_absent(ours: type[msgspec.Struct], strict: str, seen: frozenset[tuple[type, str]]) -> Iterator[str]:
    """The members that the crate needs of its struct `strict`, and that ours may leave out."""
    if (ours, strict) in seen:
        return
    seen |= {(ours, strict)}
    fields = {field.encode_name: field for field in msgspec.structs.fields(ours)}
    hints = typing.get_type_hints(ours, include_extras=True)
    for name, holds in STRICT["structs"][strict].items():
        field = fields.get(name.removesuffix("?"))
        is_always_there = field is not None and field.default is msgspec.NODEFAULT
        if not name.endswith("?") and not is_always_there:
            yield f"{strict.rpartition('.')[2]}.{name}"
        inner = None if field is None else struct_in(hints[field.name])
        if holds and inner is not None:
            yield from may_be_absent(inner, holds, seen)


def struct_in(hint: Any) -> type[msgspec.Struct] | None:
    """The struct in the type of a field: `tuple[User, ...]` holds User."""
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return hint
    arguments = () if hint is types.NoneType else typing.get_args(hint)
    return next((found for one in arguments if (found := struct_in(one)) is not None), None)


@pytest.mark.parametrize("operation", ANSWERED, ids=lambda operation: operation.name)
def test_no_member_is_missing(operation: Operation) -> None:
    strict = STRICT["answers"][operation.path.removeprefix("/public/v1/")]
    results = {struct.__name__: struct for struct in operation.results.values()}
    ours = results.get(strict.rpartition(".")[2], next(iter(results.values()), operation.answer_struct))
    assert list(may_be_absent(ours, strict, frozenset())) == []


def test_activities_have_all_members() -> None:
    assert list(may_be_absent(Activity, "external.activity.v1.Activity", frozenset())) == []


def test_the_check_finds_what_is_missing() -> None:
    class Shorter(Wire, frozen=True):
        id: str
        details: Activity
        organization_id: str | None = None

    missing = list(may_be_absent(Shorter, "services.coordinator.public.v1.EmailEvent", frozenset()))
    assert "EmailEvent.organizationId" in missing
    assert "EmailEvent.toAddress" in missing
    assert "EmailEventDetails.bounceType" in missing
    assert "EmailEvent.id" not in missing
    assert len(ANSWERED) > 100
