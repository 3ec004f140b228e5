"""Fixtures: a terminal to type commands at, and a server that answers as a test wants it to."""

from __future__ import annotations

import httpx
import pytest

from keystead import generate_api_key
from keystead.client.client import Client
from keystead.client.credentials import ENVIRONMENT
from tests.support.terminal import ORGANIZATION, FakeServer, Terminal


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    return Terminal(monkeypatch, capsys)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeServer:
    key = generate_api_key(seed=b"a key for the terminal")
    settings = {
        "base_url": "http://keystead.test",
        "organization_id": ORGANIZATION,
        "api_public_key": key.public_key,
        "api_private_key": key.private_key,
    }
    for name, variable in ENVIRONMENT.items():
        monkeypatch.setenv(variable, settings[name])
    answering = FakeServer()
    monkeypatch.setattr(
        Client, "_new_http_client", lambda _: httpx.Client(transport=httpx.MockTransport(answering)), raising=True
    )
    return answering
