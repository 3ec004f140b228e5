"""Every operation with every malformed field that follows from its struct: refused, the field named, nothing
written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from keystead.api.catalogue import Operation
from keystead.pipeline.operation import ActivityOperation
from keystead.pipeline.submission import Envelope
from tests.support.callers import Caller, encoded, now_ms, refusal
from tests.support.databases import Database
from tests.support.mutations import Mutation, mutations
from tests.support.operation_examples import EXAMPLED, QUERIES, SUBMISSIONS
from tests.support.organization_fixtures import UNKNOWN_IDS

pytestmark = pytest.mark.one_engine


def broken(operation: Operation, activity_type: str, organization_id: str) -> Iterator[Mutation]:
    """Every broken form of this request; of the current activity type with its envelope."""
    if not isinstance(operation, ActivityOperation):
        valid = {"organizationId": organization_id} | QUERIES[operation.name](UNKNOWN_IDS)
        yield from mutations(operation.request_structs[0], valid)
        return
    version = operation.version_of(activity_type)
    assert version is not None
    envelope = {"type": activity_type, "timestampMs": str(now_ms()), "organizationId": organization_id}
    parameters = SUBMISSIONS[activity_type](UNKNOWN_IDS)
    for mutation in mutations(version.intent, parameters, "parameters"):
        yield mutation._replace(value=envelope | {"parameters": mutation.value})
    if activity_type == operation.activity_types[0]:
        yield from mutations(Envelope, envelope | {"parameters": parameters, "generateAppProofs": True})


REQUESTS = [(operation, name) for operation in EXAMPLED for name in operation.activity_types or (operation.name,)]


@pytest.mark.parametrize(("operation", "name"), REQUESTS, ids=[name for _, name in REQUESTS])
def test_malformed_fields(operation: Operation, name: str, caller: Caller, database: Database) -> None:
    before = database.counts()
    forms = list(broken(operation, name, caller.organization_id))
    assert len(forms) > 4
    wrong = [complaint for form in forms if (complaint := _complaint(operation, form, caller))]
    assert wrong == []
    assert database.counts() == before


def _complaint(operation: Operation, form: Mutation, caller: Caller) -> Any:
    """What is wrong with the refusal of this form; None if it is a 400 that names the field."""
    status, message = refusal(caller.post(operation.path, encoded(form.value)))
    return None if status == 400 and f"`{form.field}`" in message else (form.name, status, message)
