"""`python -O` drops assertions, `-OO` also docstrings: a server still documents and runs its operations."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import httpx
import pytest

from keystead.testing import DevelopmentServer
from tests.support.hanging import PATIENCE_S


@pytest.mark.parametrize("level", ["1", "2"], ids=["-O", "-OO"])
def test_a_server_without_assertions_and_docstrings(
    level: str,
    keystead_server: Callable[..., AbstractContextManager[DevelopmentServer]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYTHONOPTIMIZE", level)
    with keystead_server() as server:
        document = httpx.get(f"{server.base_url}/openapi.json", timeout=PATIENCE_S).json()
        assert server.client.create_user_tag(user_tag_name="t", user_ids=[]).completed
    described = {path: item["post"]["summary"] for path, item in document["paths"].items() if "post" in item}
    assert described["/public/v1/submit/create_wallet"].startswith("Make a wallet from a new mnemonic")
