"""`keystead init`, run as an operator runs it: once, and again."""

from __future__ import annotations

import json
from pathlib import Path

from tests.conftest import MakeDatabase
from tests.support.commands import run_keystead as keystead


def test_init_again_changes_nothing(make_database: MakeDatabase, tmp_path: Path) -> None:
    """The same command, as a deployment repeats it: exit code 0, the same organization, key and credentials."""
    database = make_database()
    command = ["init", "--database-url", database.url, "--organization-name", "Keystead GmbH"]
    command += ["--master-key-file", "master.key", "--credentials", "root.json"]
    first = keystead(*command, cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    files = {path: path.read_bytes() for path in (tmp_path / "master.key", tmp_path / "root.json")}
    values = database.values()
    again = keystead(*command, cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    organization_id = json.loads((tmp_path / "root.json").read_text())["organizationId"]
    expected = f"Nothing to do: this database is initialised already, with organization {organization_id}."
    assert again.stdout.splitlines() == [expected]
    another = [*command[:4], "Another", *command[5:7], "--credentials", "root2.json"]
    other = keystead(*another, cwd=tmp_path)
    assert other.returncode == 0, other.stderr
    assert other.stdout.splitlines() == [
        expected,
        "--organization-name is ignored: the organization exists, and its name stays 'Keystead GmbH'.",
        "--credentials is ignored: no key was made, so root2.json is not written.",
    ]
    assert {path: path.read_bytes() for path in files} == files
    assert sorted(tmp_path.glob("*.json")) == [tmp_path / "root.json"]
    assert database.values() == values
    database.close()


def test_init_does_not_overwrite_credentials(make_sqlite: MakeDatabase, tmp_path: Path) -> None:
    (tmp_path / "root.json").write_text("{}")
    database = make_sqlite()
    command = ["init", "--database-url", database.url, "--organization-name", "Keystead GmbH"]
    refused = keystead(*command, "--master-key-file", "master.key", "--credentials", "root.json", cwd=tmp_path)
    assert refused.returncode == 1
    assert "root.json exists already and is not overwritten" in refused.stderr
    assert (tmp_path / "root.json").read_text() == "{}"
    assert not (tmp_path / "master.key").exists()
    database.close()


def test_tables_of_one_node_are_not_distributed(make_postgres: MakeDatabase, tmp_path: Path) -> None:
    """The command fails before it makes an organization, so that it can be repeated once the cluster is there."""
    database = make_postgres()
    command = [
        "init",
        "--database-url",
        database.url,
        "--organization-name",
        "Keystead GmbH",
        "--distribute",
        "citus",
    ]
    refused = keystead(*command, "--master-key-file", "master.key", "--credentials", "root.json", cwd=tmp_path)
    assert refused.returncode == 1
    assert "CREATE EXTENSION citus" in refused.stderr
    assert list(tmp_path.iterdir()) == []
    assert database.rows("SELECT 1 FROM organization") == []
    database.close()
