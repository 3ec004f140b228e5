"""`python -OO` strips docstrings and asserts: a server starts and answers without them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from keystead.testing import DevelopmentServer


def test_a_server_without_docstrings_and_asserts(
    keystead_server: Callable[..., AbstractContextManager[DevelopmentServer]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONOPTIMIZE", "2")
    with keystead_server() as server:
        assert server.client.create_user_tag(user_tag_name="t", user_ids=[]).completed
