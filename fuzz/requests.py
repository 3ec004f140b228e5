"""Mutated requests to every operation of the catalogue, over HTTP, against a server process.

What must hold: no answer of the 500s but 501; every refusal is JSON in the documented shape and leaves every table
as it was; no traceback in the log; the server lives. Here: this loop. Not here: mutating (`mutating`), what a
refusal may write (`tables`), the examples (`tests.support.operation_examples`).
"""

from __future__ import annotations

import json
import random
import time
from typing import Any

import httpx

from fuzz.findings import Findings
from fuzz.mutating import mutated_bytes, mutated_json
from fuzz.tables import changed_by_refusal, state
from keystead.api.catalogue import Operation
from keystead.operations import CATALOGUE
from tests.support.authorization_scenario import new_parent, new_sub_organization
from tests.support.callers import Caller, refusal
from tests.support.operation_examples import example_body
from tests.support.organization_fixtures import RecordIds, create_records
from tests.support.servers import Server

REQUESTS_OF_A_TENANT = 300
"""After this number of requests, a new organization is created, because mutations may have removed the root user
of the last one. Every other one has no parent, and operations that sub-organizations are refused."""

_NOT_IMPLEMENTED = 501
"""The status of operations of the public API that Keystead does not implement."""

Target = tuple[Operation, str]


def fuzz_requests(server: Server, findings: Findings, chance: random.Random, *, until: float, limit: int) -> None:
    """Send until `until` (`time.monotonic`), at most `limit` requests. The server needs a mail server that accepts
    its messages."""
    targets: list[Target] = [
        (operation, activity_type)
        for operation in CATALOGUE
        for activity_type in (getattr(operation, "activity_types", None) or ("",))
    ]
    log_at, is_of_parent = 0, False
    while findings.tried < limit and time.monotonic() < until:
        is_of_parent = not is_of_parent
        tenant = new_parent(server) if is_of_parent else new_sub_organization(server.caller)
        records = create_records(tenant)
        chance.shuffle(targets)
        for target in targets[:REQUESTS_OF_A_TENANT]:
            if findings.tried >= limit or time.monotonic() >= until:
                break
            _try(server, tenant, records, target, findings, chance)
        log_at = _read_log(server, findings, log_at)
        if not server.is_ready():
            findings.add("the server is not ready after a series of requests", b"")
            return


def _try(
    server: Server, tenant: Caller, records: RecordIds, target: Target, findings: Findings, chance: random.Random
) -> None:
    operation, activity_type = target
    database = server.installation.database
    try:
        valid = example_body(tenant, operation, records, activity_type)
    except (AssertionError, KeyError):  # an earlier mutation has taken away what the example needs
        return
    for _ in range(4):
        body = _mutated(valid, chance)
        before = state(database)
        findings.tried += 1
        try:
            response = tenant.post(operation.path, body)
        except httpx.TransportError as error:
            findings.add(f"{operation.name}: no answer: {error!r}", body)
            continue
        if response.status_code >= 500 and response.status_code != _NOT_IMPLEMENTED:
            findings.add(f"{operation.name}: {response.status_code} {response.text[:120]}", body)
        elif response.status_code != 200:
            _check_refusal(operation.name, response, body, findings)
            changed = changed_by_refusal(operation.name, response.status_code, before, state(database))
            if changed:
                said = f"refused with {response.status_code}, yet changed: {', '.join(changed)}"
                findings.add(f"{operation.name}: {said}", body)


def _mutated(valid: bytes, chance: random.Random) -> bytes:
    if chance.random() < 0.2:
        return mutated_bytes(valid, chance)
    document: Any = json.loads(valid)
    # Mutate what the operation reads more often than the envelope.
    if "parameters" in document and chance.random() < 0.85:
        document["parameters"] = mutated_json(document["parameters"], chance)
    else:
        document = mutated_json(document, chance)
    return json.dumps(document, ensure_ascii=chance.random() < 0.5).encode("utf-8", "surrogatepass")


def _check_refusal(name: str, response: httpx.Response, body: bytes, findings: Findings) -> None:
    try:
        refusal(response)
    except (AssertionError, KeyError, ValueError) as error:
        findings.add(f"{name}: a refusal that is not in the documented shape: {error!r}"[:200], body)


def _read_log(server: Server, findings: Findings, start: int) -> int:
    text = server.log.read_bytes()[start:]
    for line in text.splitlines():
        if b"traceback" in line.lower():  # of a defect that was logged, or of a process that ended
            findings.add(f"the log has a traceback: {line[:160]!r}", line)
    return start + len(text)
