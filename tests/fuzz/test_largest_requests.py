"""The largest request of each operation that its declared bounds let through: answered or refused, in one piece."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fuzz.__main__ import server_to_attack
from fuzz.largest_requests import Largest, largest_requests
from fuzz.tables import changed_by_refusal, state
from tests.support.authorization_scenario import new_parent, new_sub_organization
from tests.support.callers import refusal
from tests.support.organization_fixtures import create_records
from tests.support.servers import Server

NOT_IMPLEMENTED = 501
BY_OPERATION: dict[str, list[Largest]] = {}
for largest in largest_requests():
    if largest.is_current:
        BY_OPERATION.setdefault(largest.operation.name, []).append(largest)


@pytest.fixture(scope="module")
def attacked() -> Iterator[Server]:
    with server_to_attack("sqlite") as server:
        yield server


@pytest.mark.parametrize("name", BY_OPERATION)
def test_largest_requests(name: str, attacked: Server) -> None:
    database = attacked.installation.database
    is_of_parent = BY_OPERATION[name][0].is_of_parent
    tenant = new_parent(attacked) if is_of_parent else new_sub_organization(attacked.caller)
    records = create_records(tenant)
    for one in BY_OPERATION[name]:
        body = one.body(tenant, one.parameters(records))
        before = state(database)
        response = tenant.post(one.operation.path, body)
        if response.status_code == 200:
            continue
        status, _ = refusal(response)
        assert status < 500 or status == NOT_IMPLEMENTED, one.name
        assert changed_by_refusal(name, status, before, state(database)) == [], one.name
