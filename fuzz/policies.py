"""Random conditions over random transactions with parts removed: the verdict of DENY, compared with the truth.

What must hold: a policy that denies a transaction of which everything is known denies it also if parts are removed,
and what is decided without them is what is decided with them. Here: this loop. Not here: the transactions and the
truth (`tests.support.removed_parts`), the conditions (`tests.support.fact_conditions`).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from random import Random
from typing import Any

from fuzz.findings import Findings
from keystead.policies.authorize import Verdict, authorize
from keystead.policies.bounds import EXPRESSION_STEPS_MAX
from keystead.policies.language.evaluation_context import Budget, EvaluationContext, Value
from keystead.policies.request import RequestedActivity, condition_values
from tests.support.fact_conditions import FactWriter
from tests.support.policy_fixtures import allow, compiled, deny, request
from tests.support.removed_parts import random_removal

_ACTIVITY = "SIGN_TRANSACTION_V2"
_CONDITIONS = 10
"""How many conditions each transaction gets."""


def fuzz_policies(findings: Findings, chance: Random, *, until: float, limit: int) -> Counter[str]:
    """Run until `until` (`time.monotonic`), with at most `limit` conditions.

    Returns how often a condition had which value, such as "unknown of true": unknown without the removed parts, and
    true with them.
    """
    counts: Counter[str] = Counter()
    while findings.tried < limit and time.monotonic() < until:
        removal = random_removal(chance)
        writer = FactWriter(chance, removal.seen, removal.truth)
        for _ in range(_CONDITIONS):
            condition = writer.condition(chance.randrange(3))
            truth, seen = (_value(condition, keywords) for keywords in (removal.truth, removal.seen))
            findings.tried += 1
            counts[f"{_in_words(seen)} of {_in_words(truth)}"] += 1
            if wrong := _what_is_wrong(condition, removal.seen, truth, seen):
                findings.add(f"{wrong}: {condition}"[:200], repr((condition, removal)).encode())
    return counts


def _value(condition: str, keywords: Mapping[str, Any]) -> Value:
    values = condition_values(RequestedActivity(type=f"ACTIVITY_TYPE_{_ACTIVITY}"), keywords)
    return compiled(condition).evaluate(EvaluationContext(values), Budget(EXPRESSION_STEPS_MAX))


def _what_is_wrong(condition: str, seen_keywords: Mapping[str, Any], truth: Value, seen: Value) -> str:
    asked = request("A", _ACTIVITY, [deny(condition), allow()], resources=seen_keywords)
    if truth is True and authorize(*asked).verdict is not Verdict.DENY_EXPLICIT:
        return "DENY is silent without the removed parts"
    if isinstance(seen, bool) and isinstance(truth, bool) and seen is not truth:
        return f"it is {seen} without the removed parts, and {truth} with them"
    return ""


def _in_words(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else "unknown"
