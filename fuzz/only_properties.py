"""A pytest plugin that keeps the property tests of Hypothesis and drops all others."""

from __future__ import annotations

import pytest
from hypothesis import is_hypothesis_test


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    kept = [item for item in items if _is_property(item)]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
    items[:] = kept


def _is_property(item: pytest.Item) -> bool:
    return isinstance(item, pytest.Function) and is_hypothesis_test(item.obj)
