"""`keystead init`, run as an operator runs it: once, and again."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from keystead.api.errors import InvalidRequest
from keystead.cli.failure import Failure
from keystead.cli.operator import installation
from keystead.server.installation.bootstrap import bootstrap as real_bootstrap
from keystead.storage.errors import unavailable
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


class Bootstrap(NamedTuple):
    """What happens to the first organization: it is made, then the command fails."""

    makes: bool
    failure: Exception | None
    credentials_stay: bool


@pytest.mark.parametrize(
    "what",
    [
        Bootstrap(makes=True, failure=None, credentials_stay=True),
        Bootstrap(makes=True, failure=unavailable("did not answer in time"), credentials_stay=True),
        Bootstrap(makes=False, failure=unavailable("did not answer in time"), credentials_stay=True),
        Bootstrap(makes=False, failure=InvalidRequest("the name is too long"), credentials_stay=False),
        Bootstrap(makes=False, failure=None, credentials_stay=False),
    ],
    ids=["made", "made, and not answered", "not made, and not answered", "refused", "made by another process"],
)
def test_the_only_key_is_not_lost(
    what: Bootstrap, make_database: MakeDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def bootstrap(*values: Any, **named: Any) -> Any:
        made = await real_bootstrap(*values, **named) if what.makes else None
        if what.failure is not None:
            raise what.failure
        return made

    monkeypatch.setattr(installation, "bootstrap", bootstrap)
    monkeypatch.setattr("os.umask", lambda _: 0o077)
    database, file = make_database(), tmp_path / "root.json"
    with nullcontext() if what.failure is None else pytest.raises(Failure):
        installation.init(
            database.url, "Keystead GmbH", str(tmp_path / "master.key"), credentials=tmp_path / "root.json"
        )
    assert file.exists() == what.credentials_stay
    organizations = [id_ for (id_,) in database.rows("SELECT id FROM organization")]
    if organizations:
        assert organizations == [json.loads(file.read_text())["organizationId"]]
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
