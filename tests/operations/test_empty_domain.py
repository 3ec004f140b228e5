"""Typed data without a domain, as one client sends it without EIP712Domain: signed, and noted in the log."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.callers import Caller
from tests.support.organization_fixtures import RecordIds
from tests.support.servers import Server

MAIL = {"types": {"Mail": [{"name": "to", "type": "string"}]}, "primaryType": "Mail", "message": {"to": "Bob"}}


@pytest.mark.parametrize(("domain", "noted"), [({}, True), ({"name": "Mail"}, False)], ids=["empty", "named"])
def test_an_empty_domain_is_noted(
    domain: dict[str, Any], noted: bool, caller: Caller, record_ids: RecordIds, server: Server
) -> None:
    before = len(server.log.read_bytes())
    parameters = {
        "signWith": record_ids.private_key_id,
        "payload": json.dumps(MAIL | {"domain": domain}),
        "encoding": "PAYLOAD_ENCODING_EIP712",
        "hashFunction": "HASH_FUNCTION_NO_OP",
    }
    caller.submitted("sign_raw_payload", parameters)
    assert (b"typed data with an empty domain was signed" in server.log.read_bytes()[before:]) == noted
