"""Runs an example of every operation against a server, and what it refuses.

The requests are those that the tests send (`tests.support.operation_examples`). Not here: what of an answer is
shown (`pages`), and what replaces values that differ from run to run (`stable`).
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from msgspec import Struct

from keystead.api.catalogue import Operation
from keystead.api.identifiers import new_id
from keystead.storage.schema import migrate
from tests.support.callers import SDK_FORM, Caller
from tests.support.databases import SqliteDatabase
from tests.support.issuers import taking_tokens
from tests.support.operation_examples import (
    QUERIES,
    SUBMISSIONS,
    RecordIds,
    create_records,
    submitter,
)
from tests.support.servers import bootstrap_installation, running
from tools.reference.stable import Stable

ORGANIZATION_ID = "019ab700-0000-7000-8000-00000000aaaa"
ROOT_USER_ID = "019ab700-0000-7000-8000-00000000bbbb"


class Refused(Struct, frozen=True):
    """`when`: what was different from the example."""

    when: str
    status: int
    message: str


class Example(Struct, frozen=True):
    """A request, its answer and refusals, with replaced values. `status`: of the answer."""

    request: Any
    status: int
    answer: Any
    refusals: tuple[Refused, ...]


@contextmanager
def running_server() -> Iterator[Caller]:
    """The root user of a fresh installation."""
    with tempfile.TemporaryDirectory(prefix="keystead-reference-") as name:
        folder = Path(name)
        migrate(f"sqlite:///{folder / 'data.db'}")
        database = SqliteDatabase(folder / "data.db")
        # Refusals are written once a second, so an example would list others each time.
        settings = {**taking_tokens(folder), "refused_requests_days": 0}
        with running(bootstrap_installation(database, mode="dev"), folder / "log", settings) as server:
            yield server.caller
        database.close()


def run_examples(caller: Caller, operations: list[Operation]) -> dict[str, Example]:
    """By name of the operation. Queries first, while the organization holds one record of each kind."""
    record_ids = create_records(caller)
    in_order = sorted(operations, key=lambda operation: (operation.kind != "query", operation.name))
    return {operation.name: _run(caller, operation, record_ids) for operation in in_order}


def _run(caller: Caller, operation: Operation, record_ids: RecordIds) -> Example:
    if operation.kind == "query":
        by, body = caller, {"organizationId": caller.organization_id, **QUERIES[operation.name](record_ids)}
    else:
        activity_type = operation.activity_types[0]
        parameters, by = SUBMISSIONS[activity_type](record_ids), submitter(activity_type, caller)
        body = json.loads(by.submit_body(operation.name, parameters))
    answer = _send(by, operation, body)
    refusals = tuple(_refusals(by, operation, body))
    stable = Stable({by.organization_id: ORGANIZATION_ID, by.user_id: ROOT_USER_ID})
    return Example(
        request=stable.value(body),
        status=answer.status_code,
        answer=stable.value(answer.json()),
        refusals=tuple(_stable(stable, refused) for refused in refusals),
    )


def _send(by: Caller, operation: Operation, body: Any) -> httpx.Response:
    return by.post(operation.path, json.dumps(body).encode(), SDK_FORM)


def _refusals(by: Caller, operation: Operation, body: dict[str, Any]) -> Iterator[Refused]:
    """With an id that does not exist in the place of each id, and the same request a second time."""
    asked = body["parameters"] if operation.kind == "submit" else body
    for member, value in asked.items():
        if member == "organizationId" or not (
            isinstance(value, str) and member.endswith("Id") and len(value) == 36
        ):
            continue
        changed = asked | {member: new_id()}
        yield from _refusal(by, operation, body, changed, f"`{member}` is unknown")
    if operation.kind == "submit":
        yield from _refusal(by, operation, body, asked, "the example is sent a second time, as a new request")


def _refusal(
    by: Caller, operation: Operation, body: dict[str, Any], asked: dict[str, Any], when: str
) -> Iterator[Refused]:
    changed = asked if operation.kind == "query" else body | {"parameters": asked}
    if operation.kind == "submit":
        changed["timestampMs"] = str(int(body["timestampMs"]) + 1)
    answer = _send(by, operation, changed)
    if answer.status_code != 200:
        yield Refused(when, answer.status_code, answer.json()["message"])


def _stable(stable: Stable, refused: Refused) -> Refused:
    return Refused(refused.when, refused.status, stable.text(refused.message))
