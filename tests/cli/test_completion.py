"""Completion of commands: typed into the shells themselves, and what each of them is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from keystead.api.enums import ActivityStatus
from tests.support.shells import PROMPT, SHELLS, typed_shell
from tests.support.terminal import Terminal

INSTALLED = {
    "bash": "source <(keystead completion bash)",
    "zsh": "mkdir f; keystead completion zsh > f/_keystead; fpath=(f $fpath); autoload -Uz compinit; compinit -u",
    "fish": "mkdir f; keystead completion fish > f/keystead.fish; set fish_complete_path f; "
    "function fish_prompt; echo -n 'rea''dy> '; end",
}
"""As the help of `keystead completion` says, in other folders."""


@pytest.mark.parametrize("shell", SHELLS)
def test_the_first_tab_completes(shell: str, tmp_path: Path) -> None:
    """The line is run: the command says its usage, because an argument is missing."""
    with typed_shell(shell, tmp_path) as typed:
        typed.type(f"{INSTALLED[shell]}; echo in''stalled\n")
        typed.read_until("installed")
        typed.read_until(PROMPT)
        typed.type("keystead policy di\t\n")
        typed.read_until("Usage: keystead policy diff ")


@pytest.mark.parametrize(
    ("typed", "word", "expected"),
    [
        ("keystead request list_wal", 2, {"list_wallets", "list_wallet_accounts"}),
        (
            "keystead request submit/create_wallet",
            2,
            {"submit/create_wallet", "submit/create_wallet_accounts", "submit/create_wallet_authenticators"},
        ),
        ("keystead request list_policy_w", 2, {"list_policy_warnings"}),
        ("keystead activities --status re", 3, {"rejected"}),
        ("keystead activities --status CONS", 3, {"CONSENSUS_NEEDED"}),
        (
            "keystead activities --status ",
            3,
            {each.removeprefix("ACTIVITY_STATUS_").lower() for each in ActivityStatus},
        ),
    ],
)
def test_values(
    typed: str, word: int, expected: set[str], terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = {"COMP_WORDS": typed, "COMP_CWORD": str(word), "_KEYSTEAD_COMPLETE": "complete_bash"}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert set(terminal.run().out.split()) == expected


@pytest.mark.parametrize(
    ("shell", "environment"),
    [
        ("bash", {"COMP_WORDS": "keystead app", "COMP_CWORD": "1"}),
        ("zsh", {"_TYPER_COMPLETE_ARGS": "keystead app"}),
        ("fish", {"_TYPER_COMPLETE_ARGS": "keystead app", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}),
    ],
)
def test_each_shell_gets_its_script_and_the_commands(
    shell: str, environment: dict[str, str], terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = terminal.run("completion", shell)
    assert (script.code, script.err) == (0, "")
    assert f"_KEYSTEAD_COMPLETE=complete_{shell}" in script.out
    for name, value in {**environment, "_KEYSTEAD_COMPLETE": f"complete_{shell}"}.items():
        monkeypatch.setenv(name, value)
    told = terminal.run()
    assert "approve" in told.out
    assert "activities" not in told.out
