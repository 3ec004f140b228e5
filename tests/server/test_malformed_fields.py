"""Every operation, every way to break its request that its struct knows of: refused, named, and nothing written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from keystead.activities.activity import ActivityOperation
from keystead.activities.requests import Envelope
from keystead.api.catalogue import Operation
from tests.callers import Caller, encoded, now_ms, refusal
from tests.databases import Database
from tests.examples import EXAMPLED, NOWHERE, QUERIES, SUBMISSIONS
from tests.mutations import mutations

ANY_ORGANIZATION = "0197b0a6-2b8b-7a52-8e2f-8a4b6e1f2c3d"


class Case(NamedTuple):
    name: str
    operation: Operation
    request: dict[str, Any]
    field: str


def cases() -> Iterator[Case]:
    for operation in EXAMPLED:
        if isinstance(operation, ActivityOperation):
            yield from _submissions(operation)
        else:
            valid = {"organizationId": ANY_ORGANIZATION} | QUERIES[operation.name](NOWHERE)
            for broken in mutations(operation.request_structs[0], valid):
                yield Case(f"{operation.name} {broken.name}", operation, broken.value, broken.field)


def _submissions(operation: ActivityOperation) -> Iterator[Case]:
    envelope = {"type": operation.activity_types[0], "timestampMs": "", "organizationId": ANY_ORGANIZATION}
    for version in operation.versions:
        parameters = SUBMISSIONS[version.activity_type](NOWHERE)
        short = version.activity_type.removeprefix("ACTIVITY_TYPE_")
        for broken in mutations(version.intent, parameters, "parameters"):
            request = envelope | {"type": version.activity_type, "parameters": broken.value}
            yield Case(f"{short} {broken.name}", operation, request, broken.field)
    valid = envelope | {"parameters": SUBMISSIONS[operation.activity_types[0]](NOWHERE), "generateAppProofs": True}
    for broken in mutations(Envelope, valid):
        yield Case(f"{operation.name} {broken.name}", operation, broken.value, broken.field)


@pytest.mark.parametrize("case", list(cases()), ids=lambda case: case.name)
def test_malformed_field(case: Case, caller: Caller, database: Database) -> None:
    request = _addressed(case.request, caller.organization_id)
    before = database.counts()
    status, message = refusal(caller.post(case.operation.path, encoded(request)))
    assert (status, f"`{case.field}`" in message) == (400, True), message
    assert database.counts() == before


def _addressed(request: dict[str, Any], organization_id: str) -> dict[str, Any]:
    """With the members that were not known when the cases were made, unless they are what is broken."""
    current = {"organizationId": (ANY_ORGANIZATION, organization_id), "timestampMs": ("", str(now_ms()))}
    fitting = {name: new for name, (old, new) in current.items() if request.get(name) == old}
    return request | fitting
