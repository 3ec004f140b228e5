"""Policies about the chain of an authorization (EIP-7702). One for chain 0 holds on every chain: no condition about
the chain, alone or in a transaction, is passed by it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from keystead.api.enums import HashFunction, PayloadEncoding
from keystead.chains.ethereum.transaction import parse_ethereum
from keystead.chains.payloads import read_payload
from keystead.policies.authorize import Verdict, authorize
from tests.chains.ethereum.test_ethereum import AUTHORIZATION, MARKET_1559, SIGNER, changed, typed
from tests.policies.examples import EXPLICIT, IMPLICIT, OK, RAW, SIGN
from tests.support.policy_fixtures import allow, deny, request


def alone(chain_id: int) -> Mapping[str, Any]:
    text = f'{{"address": "0x{"ee" * 20}", "chainId": {chain_id}, "nonce": 0}}'
    return read_payload(text, PayloadEncoding.EIP7702_AUTHORIZATION, HashFunction.NO_OP, "payload").keywords


def in_a_transaction(chain_id: int) -> Mapping[str, Any]:
    authorization = changed(AUTHORIZATION, 0, chain_id.to_bytes((chain_id.bit_length() + 7) // 8))
    unsigned = typed(4, [*MARKET_1559, [authorization]])
    return parse_ethereum(unsigned, SIGNER).describe({}).keywords


FORMS = [
    ("alone", RAW, "eth.eip_7702_authorization.chain_id {}", alone),
    ("any", SIGN, "eth.tx.authorization_list.any(each, each.chain_id {})", in_a_transaction),
    ("all", SIGN, "eth.tx.authorization_list.all(each, each.chain_id {})", in_a_transaction),
    ("by position", SIGN, "eth.tx.authorization_list[0].chain_id {}", in_a_transaction),
]
COMPARISONS: list[tuple[str, Mapping[int, bool | None]]] = [
    ("== 1", {0: None, 1: True, 5: False}),
    ("== '1'", {0: None, 1: True, 5: False}),
    ("!= 1", {0: None, 1: False, 5: True}),
    ("in [1, 8453]", {0: None, 1: True, 5: False}),
    ("== 0", {0: True, 1: False}),
    ("== '0'", {0: True, 1: False}),
    ("!= 0", {0: False, 1: True}),
    ("in [0, 1]", {0: True, 1: True, 5: False}),
    ("> 4", {0: None, 1: False, 5: True}),
    ("<= 4", {0: None, 1: True, 5: False}),
]


@pytest.mark.parametrize(("activity", "written", "keywords"), [row[1:] for row in FORMS], ids=[r[0] for r in FORMS])
@pytest.mark.parametrize(("comparison", "values"), COMPARISONS, ids=[row[0] for row in COMPARISONS])
def test_a_condition_about_the_chain(
    activity: str, written: str, keywords: Any, comparison: str, values: Mapping[int, bool | None]
) -> None:
    """Unknown allows nothing, and denies."""
    condition = written.format(comparison)
    for chain_id, value in values.items():
        allowed = authorize(*request("A", activity, [allow(condition)], resources=keywords(chain_id)))
        assert allowed.verdict is (OK if value else IMPLICIT), chain_id
        policies = [deny(condition), allow("activity.action == 'SIGN'")]
        denied = authorize(*request("A", activity, policies, resources=keywords(chain_id)))
        assert denied.verdict is (OK if value is False else EXPLICIT), chain_id


def test_the_reason_is_told() -> None:
    decision = authorize(
        *request("A", RAW, [allow("eth.eip_7702_authorization.chain_id == 1")], resources=alone(0))
    )
    assert decision.verdict is Verdict.DENY_IMPLICIT
    assert "an authorization for chain 0 holds on every chain" in str(decision.evaluations[0].reason)
