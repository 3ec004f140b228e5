"""Commands ask before they send what would lock their own user out by an IP allow-list."""

from __future__ import annotations

import pytest

from tests.support.terminal import FakeServer, Terminal, activity, user, vote

ID = "01a1ffce-afbf-7700-92ee-ff68bc6982e1"
REFUSAL = "address 127.0.0.1 is not on the IP allow-list of this organization"
CAUTION = f"CAUTION  once this is executed, your own requests are refused: {REFUSAL}."
LIST = '{"rules": [{"cidr": "10.1.0.0/20"}], "enabled": true, "generateAppProofs": true}'


@pytest.fixture
def server(fake: FakeServer) -> FakeServer:
    ana, ben = user("Ana"), user("Ben")
    fake.organization([ana, ben], [], ana.user_id, ben.user_id)
    fake.answers["query/get_policy_evaluations"] = {"policyEvaluations": [{"policyIds": []}]}
    waiting = {**activity("CONSENSUS_NEEDED", vote(ben)), "type": "ACTIVITY_TYPE_SET_IP_ALLOWLIST"}
    fake.answers["query/get_activity"] = {"activity": waiting}
    for operation in ("set_ip_allowlist", "remove_ip_allowlist", "approve_activity"):
        fake.answers[f"submit/{operation}"] = {"activity": activity("COMPLETED", vote(ana))}
    fake.answers["query/check_ip_allowlist"] = {"address": "127.0.0.1", "refusal": REFUSAL}
    return fake


def sent(server: FakeServer) -> list[str]:
    return [path for path, _ in server.asked if path.startswith("submit/")]


COMMANDS = {
    ("request", "set_ip_allowlist", LIST): "setIpAllowlist",
    ("request", "submit/set_ip_allowlist", LIST): "setIpAllowlist",
    ("request", "public/v1/submit/set_ip_allowlist", LIST): "setIpAllowlist",
    ("request", "/public/v1/submit/set_ip_allowlist", f'{{"parameters": {LIST}}}'): "setIpAllowlist",
    ("request", "remove_ip_allowlist"): "removeIpAllowlist",
    ("request", "approve_activity", '{"fingerprint": "sha256:x"}'): "approveActivity",
    ("approve", ID): "approveActivity",
}


@pytest.mark.parametrize(("command", "member"), COMMANDS.items(), ids=lambda each: str(each)[:40])
def test_asks(command: tuple[str, ...], member: str, server: FakeServer, terminal: Terminal) -> None:
    terminal.types("n")
    printed = terminal.run(*command)
    assert (printed.code, sent(server)) == (1, [])
    assert CAUTION in printed.err
    assert "Send it nevertheless? [y/N]" in printed.err
    (asked,) = [body for path, body in server.asked if path == "query/check_ip_allowlist"]
    assert "generateAppProofs" not in asked[member]
    terminal.types("y")
    assert terminal.run(*command).code == 0
    assert len(sent(server)) == 1
    assert CAUTION in terminal.run(*command, "--yes").err
    assert len(sent(server)) == 2


def test_without_a_terminal(server: FakeServer, terminal: Terminal) -> None:
    printed = terminal.run("request", "set_ip_allowlist", LIST)
    assert (printed.code, sent(server)) == (1, [])
    assert "keystead request --yes does not ask" in printed.err


@pytest.mark.parametrize("operation", ["set_ip_allowlist", "create_user_tag"])
def test_does_not_ask_without_a_reason(operation: str, server: FakeServer, terminal: Terminal) -> None:
    server.answers["query/check_ip_allowlist"] = {"address": "127.0.0.1"}
    server.answers["submit/create_user_tag"] = server.answers["submit/set_ip_allowlist"]
    printed = terminal.run("request", operation, LIST)
    assert (printed.code, sent(server)) == (0, [f"submit/{operation}"])
    assert "CAUTION" not in printed.err


def test_a_server_that_cannot_say(server: FakeServer, terminal: Terminal) -> None:
    """Such as the public service: it has no such query. The submission is sent."""
    del server.answers["query/check_ip_allowlist"]
    assert terminal.run("request", "set_ip_allowlist", LIST).code == 0
    assert sent(server) == ["submit/set_ip_allowlist"]
