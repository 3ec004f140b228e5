"""KEYSTEAD_DATABASE_URL_FILE, for the commands and for the server."""

from __future__ import annotations

from pathlib import Path

import pytest

from keystead.server.settings.database_url_file import warn_of_readable_password
from keystead.server.settings.settings import SettingsError, from_environment
from tests.support.terminal import Terminal

NAME = "KEYSTEAD_DATABASE_URL_FILE"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "url"
    path.write_text(f"sqlite:///{tmp_path}/keystead.db\n")
    return path


def test_a_command_reads_the_file(file: Path, terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KEYSTEAD_DATABASE_URL", raising=False)
    assert "no database: set" in terminal.run("migrate").err
    monkeypatch.setenv(NAME, str(file))
    assert terminal.run("migrate").out == "The database is migrated.\n"
    assert file.with_name("keystead.db").exists()
    monkeypatch.setenv(NAME, str(file.with_name("missing")))
    printed = terminal.run("migrate")
    assert (printed.code, printed.err.splitlines()) == (
        1,
        [f"keystead: {NAME}: {file.with_name('missing')} cannot be read: No such file or directory"],
    )
    again = terminal.run("migrate", "--database-url", file.read_text().strip())
    assert "the database needs no migration" in again.out, "the option comes first"


def test_the_server_reads_the_file(file: Path) -> None:
    assert from_environment({NAME: str(file)}).database_url == file.read_text().strip()


@pytest.mark.parametrize("text", ["", "sqlite:///one.db\nsqlite:///other.db"])
def test_a_file_without_one_line_is_refused(text: str, file: Path) -> None:
    file.write_text(text)
    with pytest.raises(SettingsError, match="must hold one line"):
        from_environment({NAME: str(file)})


def test_both_are_refused(file: Path) -> None:
    with pytest.raises(SettingsError, match="not both"):
        from_environment({NAME: str(file), "KEYSTEAD_DATABASE_URL": "sqlite:///other.db"})


@pytest.mark.parametrize("command", [("migrate",), ("status",), ("keys", "list")], ids=" ".join)
def test_a_command_refuses_both(
    command: tuple[str, ...], file: Path, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They name two databases. The option takes precedence over both."""
    monkeypatch.setenv("KEYSTEAD_DATABASE_URL", f"sqlite:///{file}.other")
    monkeypatch.setenv(NAME, str(file))
    refused = terminal.run(*command)
    assert refused.code == 1
    assert f"set KEYSTEAD_DATABASE_URL or {NAME}, not both" in refused.err
    assert [path.name for path in file.parent.iterdir()] == ["url"]
    assert "not both" not in terminal.run(*command, "--database-url", f"sqlite:///{file}.third").err


WITH_PASSWORD = "postgresql://me:secret-word@host/db"


@pytest.mark.parametrize(
    ("url", "mode", "warns"),
    [
        (WITH_PASSWORD, 0o644, True),
        ("postgresql://host/db?password=secret-word", 0o644, True),
        (WITH_PASSWORD, 0o600, False),
        ("postgresql://me@host/db", 0o644, False),
        ("sqlite:///x.db", 0o644, False),
    ],
)
def test_a_password_that_others_can_read(
    url: str, mode: int, warns: bool, file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file.write_text(url)
    file.chmod(mode)
    warn_of_readable_password(from_environment({NAME: str(file)}))
    assert caplog.messages == (
        [
            f"the file with the database URL, {file}, has mode 0644, which gives access to other users than its "
            f"owner, and holds a password; run: chmod 600 {file}"
        ]
        if warns
        else []
    )
