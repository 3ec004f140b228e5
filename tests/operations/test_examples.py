"""Every operation answers its example; the tables of examples are as long as the catalogue."""

from __future__ import annotations

import pytest

from keystead.describe.stamped import difference_from_stamped
from keystead.operations import CATALOGUE
from tests.support.callers import SDK_FORM, Caller, refusal
from tests.support.operation_examples import (
    ANSWERED_WITH_ANOTHER,
    NEVER_FOUND,
    QUERIES,
    SUBMISSIONS,
    RecordIds,
    submitter,
)


def test_every_operation_has_an_example() -> None:
    assert set(QUERIES) == {operation.name for operation in CATALOGUE if operation.kind == "query"}
    assert set(SUBMISSIONS) == {name for operation in CATALOGUE for name in operation.activity_types}


@pytest.mark.parametrize("name", QUERIES)
def test_query(name: str, caller: Caller, record_ids: RecordIds) -> None:
    response = caller.ask(name, **QUERIES[name](record_ids))
    if name in NEVER_FOUND:
        assert refusal(response)[0] == 404
    else:
        assert response.status_code == 200, response.text


@pytest.mark.parametrize("activity_type", SUBMISSIONS)
def test_submission(activity_type: str, caller: Caller, record_ids: RecordIds) -> None:
    operation = CATALOGUE.of_type(activity_type)
    assert operation is not None
    parameters, by = SUBMISSIONS[activity_type](record_ids), submitter(activity_type, caller)
    response = by.submit(operation.name, parameters, SDK_FORM, type=activity_type)
    expected = ANSWERED_WITH_ANOTHER.get(activity_type, "ACTIVITY_STATUS_COMPLETED")
    assert response.json()["activity"]["status"] == expected, response.text
    assert difference_from_stamped(response.json()["activity"]) is None
