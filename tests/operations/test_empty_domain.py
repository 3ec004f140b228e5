"""Typed data without a domain, as one client sends it without EIP712Domain: signed, and noted in the log."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.callers import Caller
from tests.support.organization_fixtures import RecordIds
from tests.support.servers import Server

TYPES = {"Mail": [{"name": "to", "type": "string"}]}
MAIL: dict[str, Any] = {"types": TYPES, "primaryType": "Mail", "message": {"to": "Bob"}}


DECLARED = MAIL | {"types": {**TYPES, "EIP712Domain": []}}
NOTE = b'"level":"warning","event":"typed data with an empty domain was signed'


@pytest.mark.parametrize("name", ["sign_raw_payload", "sign_raw_payloads"])
@pytest.mark.parametrize(
    ("typed_data", "noted"),
    [
        (MAIL | {"domain": {}}, True),
        (DECLARED | {"domain": {}}, True),
        (MAIL | {"domain": {"name": "Mail"}}, False),
    ],
    ids=["empty", "declared empty", "named"],
)
def test_an_empty_domain_is_noted(
    name: str, typed_data: dict[str, Any], noted: bool, caller: Caller, record_ids: RecordIds, server: Server
) -> None:
    before = len(server.log.read_bytes())
    payload = json.dumps(typed_data)
    parameters = {
        "signWith": record_ids.private_key_id,
        **({"payloads": [payload]} if name == "sign_raw_payloads" else {"payload": payload}),
        "encoding": "PAYLOAD_ENCODING_EIP712",
        "hashFunction": "HASH_FUNCTION_NO_OP",
    }
    caller.submitted(name, parameters)
    assert (NOTE in server.log.read_bytes()[before:]) == noted
