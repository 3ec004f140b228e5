"""`keystead outbox` and the plugin's `keystead.outbox`: what a development server kept in place of sending it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import SimpleNamespace

import pytest

from keystead.testing import DevelopmentServer
from tests.support.commands import run_keystead
from tests.support.example_codes import an_address, code_params
from tests.support.terminal import Terminal


def settings_of(server: DevelopmentServer) -> dict[str, str]:
    credentials = server.credentials
    return {
        "KEYSTEAD_BASE_URL": server.base_url,
        "KEYSTEAD_ORGANIZATION_ID": credentials.organization_id,
        "KEYSTEAD_API_PUBLIC_KEY": credentials.api_public_key,
        "KEYSTEAD_API_PRIVATE_KEY": credentials.api_private_key,
    }


def test_the_outbox_shows_what_was_kept(
    keystead_server: Callable[..., AbstractContextManager[DevelopmentServer]],
) -> None:
    address = an_address()
    with keystead_server() as server:
        environment = {**os.environ, **settings_of(server)}

        def shown(*options: str) -> str:
            done = run_keystead("outbox", *options, environment=environment)
            assert done.returncode == 0, done.stderr
            return done.stdout

        assert (shown(), shown("--json")) == ("none\n", "")
        server.client.request("submit/init_otp", {"parameters": code_params(address)})
        code = server.outbox.code(address)
        assert f"email to {address}" in shown()
        assert code in shown()
        (kept,) = [json.loads(line) for line in shown("--json").splitlines()]
        assert kept["message"]["secret"] == code


@pytest.mark.parametrize("options", [(), ("--json",)], ids=["text", "JSON"])
def test_follow_shows_each_message_once_until_it_is_stopped(
    keystead_server: Callable[..., AbstractContextManager[DevelopmentServer]],
    terminal: Terminal,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
) -> None:
    first, second = an_address(), an_address()
    with keystead_server() as server:
        for name, value in settings_of(server).items():
            monkeypatch.setenv(name, value)

        def send(address: str) -> str:
            server.client.request("submit/init_otp", {"parameters": code_params(address)})
            return server.outbox.code(address)

        codes = [send(first)]
        between_polls = [lambda: codes.append(send(second)), lambda: None]

        def pause(_: float) -> None:
            if not between_polls:
                raise KeyboardInterrupt
            between_polls.pop(0)()

        clock = SimpleNamespace(sleep=pause, strftime=time.strftime, localtime=time.localtime)
        monkeypatch.setattr("keystead.cli.outbox.time", clock)
        printed = terminal.run("outbox", "--follow", *options)
    assert (printed.code, printed.err) == (0, "")
    if options:
        kept = [json.loads(line)["message"] for line in printed.out.splitlines()]
        assert [(one["recipient"], one["secret"]) for one in kept] == list(zip((first, second), codes, strict=True))
    else:
        shown = [line.split("  ")[1] for line in printed.out.splitlines() if " to " in line and "@" in line]
        assert shown == [f"email to {first}", f"email to {second}"]
        assert [printed.out.count(code) for code in codes] == [1, 1]
