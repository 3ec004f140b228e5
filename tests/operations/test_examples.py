"""Every operation answers its example; the tables of examples are as long as the catalogue."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest

from keystead.api.catalogue import Operation
from keystead.operations import CATALOGUE
from tests.callers import SDK_FORM, Caller, refusal
from tests.databases import Database
from tests.examples import EXAMPLED, NEVER_FOUND, NOT_YET, QUERIES, SUBMISSIONS, example_body
from tests.furniture import NOWHERE, Furniture


def test_every_operation_has_an_example() -> None:
    assert set(QUERIES) == {operation.name for operation in CATALOGUE if operation.kind == "query"}
    assert set(SUBMISSIONS) == {name for operation in CATALOGUE for name in operation.activity_types}


@pytest.mark.parametrize("name", QUERIES)
def test_query(name: str, caller: Caller, furniture: Furniture) -> None:
    response = caller.ask(name, **QUERIES[name](furniture))
    if name in NEVER_FOUND:
        assert refusal(response)[0] == 404
    else:
        assert response.status_code == 200, response.text


@pytest.mark.parametrize("activity_type", SUBMISSIONS)
def test_submission(activity_type: str, caller: Caller, furniture: Furniture) -> None:
    operation = CATALOGUE.of_type(activity_type)
    assert operation is not None
    response = caller.submit(operation.name, SUBMISSIONS[activity_type](furniture), SDK_FORM, type=activity_type)
    if activity_type in NOT_YET:
        assert refusal(response)[0] == 501
    else:
        assert response.json()["activity"]["status"] == "ACTIVITY_STATUS_COMPLETED", response.text


IDS_OF_NOTHING = [getattr(NOWHERE, field.name).encode() for field in fields(NOWHERE) if field.name.endswith("_id")]
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@pytest.mark.parametrize("operation", EXAMPLED, ids=lambda operation: operation.name)
def test_records_that_are_not_there(operation: Operation, caller: Caller, database: Database) -> None:
    """404, naming one of them; operations whose example names none are tried above."""
    body = example_body(caller, operation, NOWHERE)
    if any(nothing in body for nothing in IDS_OF_NOTHING):
        before = database.counts()
        status, message = refusal(caller.post(operation.path, body))
        assert (status, UUID.findall(message)[0].encode() in body) == (404, True), message
        assert database.counts() == before
