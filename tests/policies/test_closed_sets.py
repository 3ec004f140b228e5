"""The words of closed sets are those that requests accept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from keystead.api.catalogue import activity_kind
from keystead.operations import CATALOGUE
from keystead.pipeline.operation import ActivityOperation
from keystead.policies.closed_sets import WORDS
from keystead.policies.language.namespaces import PARAMS

OPERATIONS = [each for each in CATALOGUE if isinstance(each, ActivityOperation)]


def enumerations(kind: Any) -> Iterator[frozenset[str]]:
    match kind:
        case msgspec.inspect.EnumType(cls=cls):
            yield frozenset(str(member.value) for member in cls)
        case msgspec.inspect.UnionType(types=types):
            for each in types:
                yield from enumerations(each)


CLOSED = {
    (version.activity_type, field.name): words
    for operation in OPERATIONS
    for version in operation.versions
    for field in msgspec.inspect.type_info(version.intent).fields  # type: ignore[attr-defined]
    if field.name in PARAMS.get(activity_kind(version.activity_type), {})
    for words in enumerations(field.type)
}


def test_there_are_closed_parameters() -> None:
    assert {name for _, name in CLOSED} == {"type", "encoding", "hash_function"}


@pytest.mark.parametrize(("activity_type", "name"), CLOSED)
def test_a_parameter_of_a_closed_set(activity_type: str, name: str) -> None:
    assert WORDS[f"activity.params.{name}"] == CLOSED[activity_type, name]
