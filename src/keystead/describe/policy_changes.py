"""A change of a policy as lines that people compare: the policy in force, and the policy after the change."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any, Final

FIELDS: Final = ("policyName", "effect", "consensus", "condition", "time", "notes")
"""The fields of a policy, in the order in which they are shown."""

PolicyFields = Mapping[str, Any]


def policy_diff(before: PolicyFields | None, after: PolicyFields | None) -> tuple[str, ...]:
    """The lines of the fields that differ. `- ` marks lines of `before`, `+ ` marks lines of `after`.

    `before` and `after`: the policy, None if there is none. An absent member is the same as "". Empty if nothing
    differs.
    """
    lines: list[str] = []
    for name in FIELDS:
        lines += _field(name, *((policy and policy.get(name)) or "" for policy in (before, after)))
    return tuple(lines)


def _field(name: str, before: str, after: str) -> Iterator[str]:
    if before == after:
        return
    label = "name" if name == "policyName" else name
    for line in difflib.ndiff(_lines(before), _lines(after)):
        if not line.startswith("?"):
            yield f"{line[:2]}{label}: {line[2:]}"


def _lines(text: str) -> list[str]:
    return text.split("\n") if text else []


def policy_to_create(intent: Mapping[str, Any]) -> PolicyFields:
    """The policy that create_policy would make."""
    return {name: intent.get(name) for name in FIELDS}


def policy_after_update(policy: PolicyFields, intent: Mapping[str, Any]) -> PolicyFields:
    """The policy after update_policy. A member that the request does not have stays as it is."""
    given = {
        "policyName": intent.get("policyName"),
        "effect": intent.get("policyEffect"),
        "consensus": intent.get("policyConsensus"),
        "condition": intent.get("policyCondition"),
        "time": intent.get("time"),
        "notes": intent.get("policyNotes"),
    }
    return {name: policy.get(name) if given[name] is None else given[name] for name in FIELDS}
