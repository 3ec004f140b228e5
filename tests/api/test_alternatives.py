"""The refusal of an operation that is not implemented: the alternative that it names exists."""

from __future__ import annotations

import re

from keystead.api.alternatives import ALTERNATIVES, not_implemented
from keystead.api.public_schema import PATHS
from keystead.operations import CATALOGUE

NAMES = {path.rpartition("/")[2] for path in PATHS}
ANSWERED = {operation.name for operation in CATALOGUE}


def test_operations_with_an_alternative_are_known_and_not_answered() -> None:
    assert ALTERNATIVES.keys() <= NAMES
    assert not ALTERNATIVES.keys() & ANSWERED


def test_what_is_named_instead_is_answered() -> None:
    for operation in ALTERNATIVES:
        _, _, instead = not_implemented(operation).partition("; instead: ")
        assert instead
        assert set(re.findall(r"[a-z]+(?:_[a-z]+)+", instead)) <= ANSWERED


def test_an_operation_without_an_alternative() -> None:
    text = not_implemented("execute_swap")
    assert text == "execute_swap is not implemented by this version of Keystead; docs/coverage.md lists what is"
