"""Which installation an operator's command works on: flags, then variables, then the folder of `keystead dev`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from keystead.cli.development.folder import DevelopmentFolder
from keystead.cli.failure import Failure
from keystead.cli.operator.chosen_installation import chosen_settings
from tests.support.commands import run_keystead

FLAG, VARIABLE = "sqlite:///flag.db", "sqlite:///variable.db"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, without variables of Keystead."""
    monkeypatch.chdir(tmp_path)
    for name in os.environ:
        if name.startswith("KEYSTEAD_"):
            monkeypatch.delenv(name)
    return tmp_path


def prepared(path: str) -> None:
    with DevelopmentFolder(Path(path)) as made:
        made.prepare("a seed")


def test_the_order(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared(".keystead")
    prepared("other")
    assert chosen_settings(database_url="").database_url == "sqlite:///.keystead/keystead.db"
    assert chosen_settings(database_url="").master_key_file == ".keystead/master.key"
    monkeypatch.setenv("KEYSTEAD_DATABASE_URL", VARIABLE)
    monkeypatch.setenv("KEYSTEAD_MASTER_KEY", "11" * 32)
    assert chosen_settings(database_url="").database_url == VARIABLE
    chosen = chosen_settings(database_url=FLAG, master_key_file="flag.key")
    assert (chosen.database_url, chosen.master_key_file, chosen.master_key) == (FLAG, "flag.key", "")
    named = chosen_settings(database_url="", data=Path("other"))
    assert (named.database_url, named.mode) == ("sqlite:///other/keystead.db", "dev")


@pytest.mark.parametrize(
    ("variables", "data", "why"),
    [
        ({}, None, "no database: set --database-url"),
        ({}, "nowhere", "--data nowhere: this is not the folder of a development server"),
        ({"KEYSTEAD_DATABASE_URLL": VARIABLE}, None, "unknown setting KEYSTEAD_DATABASE_URLL: did you mean"),
    ],
)
def test_refusals(variables: dict[str, str], data: str | None, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(Failure, match=why):
        chosen_settings(database_url="", data=None if data is None else Path(data))


@pytest.mark.parametrize("command", ["check", "status"])
def test_commands_in_the_folder_of_a_development_server(command: str, folder: Path) -> None:
    prepared(".keystead")
    done = run_keystead(command, cwd=folder)
    assert (done.returncode, done.stdout.splitlines()[-1].endswith("problem found.")) == (0, True), done.stderr
