"""Facts of transactions, for tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keystead.primitives.unreadable import Unreadable


def readable(facts: Any) -> Any:
    """The facts without fields that are unreadable."""
    if isinstance(facts, Mapping):
        return {name: readable(value) for name, value in facts.items() if not isinstance(value, Unreadable)}
    return [readable(item) for item in facts] if isinstance(facts, list | tuple) else facts


def as_documented(fact: Any) -> Any:
    """The fact; of one that is unreadable, the literal that the documentation has for it."""
    return fact.literal if isinstance(fact, Unreadable) else fact


def reason(fact: Any) -> str:
    """Why a fact is unreadable."""
    assert isinstance(fact, Unreadable)
    return fact.reason
