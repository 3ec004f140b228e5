"""Interfaces on record that an earlier version accepted, and this one would refuse: they decode nothing."""

from __future__ import annotations

import json

import pytest

from keystead.api.enums import SmartContractInterfaceType
from keystead.api.errors import InvalidRequest
from keystead.chains.contract_interfaces import RefusedInterface, check_interface_text, read_interface

ETHEREUM, SOLANA = SmartContractInterfaceType.ETHEREUM, SmartContractInterfaceType.SOLANA
BUY = {"name": "Buy"}
REFUSED = [
    (ETHEREUM, [{"type": "function", "name": "f", "inputs": [], "layout": "packed"}]),
    (
        SOLANA,
        {
            "instructions": [{"name": "go", "accounts": [], "args": [{"name": "x", "type": {"defined": "Side"}}]}],
            "types": [{"name": "Side", "type": {"kind": "enum", "variants": [BUY], "size": "u32"}}],
        },
    ),
]


@pytest.mark.parametrize(("kind", "document"), REFUSED, ids=["Ethereum", "Solana"])
def test_what_is_refused_now_is_known_by_its_reason(kind: SmartContractInterfaceType, document: object) -> None:
    with pytest.raises(InvalidRequest) as refused:
        check_interface_text(kind, json.dumps(document))
    assert read_interface(kind, json.dumps(document)) == RefusedInterface(refused.value.message)
    assert "unknown field" in refused.value.message
