"""An installation whose tables a Citus cluster distributes: made by `keystead init`, used by two servers, migrated.

`tests.support.citus` says how to name a cluster. With one, the tests over HTTP run on it, too.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from keystead.stamps.signing import generate_api_key
from keystead.storage import migrations, schema
from keystead.storage.migrations import newest
from keystead.storage.postgres import distribution
from keystead.storage.statements import SQL
from tests.conftest import MakeDatabase
from tests.support.callers import Caller, api_key_params
from tests.support.citus import drop_citus_database, needs_citus, new_citus_database
from tests.support.databases import Database, PostgresDatabase
from tests.support.hanging import PATIENCE_S
from tests.support.load import NO_TAG_LIMIT, Load, check_record
from tests.support.servers import Server, bootstrap_installation

pytestmark = needs_citus

COLUMNS = "SELECT table_name::text, NULLIF(distribution_column, '<none>') FROM citus_tables"

ACCOUNT = {
    "curve": "CURVE_SECP256K1",
    "pathFormat": "PATH_FORMAT_BIP32",
    "path": "m/44'/60'/0'/0/0",
    "addressFormat": "ADDRESS_FORMAT_ETHEREUM",
}


@pytest.fixture
def empty() -> Iterator[Database]:
    database = PostgresDatabase(new_citus_database())
    yield database
    database.close()
    drop_citus_database(database.url)


@pytest.fixture
def database(make_citus: MakeDatabase) -> Iterator[Database]:
    database = make_citus()
    yield database
    database.close()


def test_init(empty: Database, tmp_path: Path) -> None:
    words = ["init", "--database-url", empty.url, "--organization-name", "Keystead GmbH", "--distribute", "citus"]
    words += ["--master-key-file", "master.key", "--credentials", "root.json"]
    printed = []
    for _ in range(2):
        command = [sys.executable, "-m", "keystead", *words]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S)
        assert done.returncode == 0, done.stderr
        printed.append(done.stdout.splitlines())
    assert printed[0][:2] == [
        "The database is migrated.",
        "The tables are distributed over the nodes of the cluster.",
    ]
    assert len(printed[1]) == 1
    assert dict(empty.rows(COLUMNS)) == distribution.COLUMNS
    checked = [sys.executable, "-m", "keystead", "check", "--database-url", empty.url]
    done = subprocess.run(
        [*checked, "--master-key-file", "master.key"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr


def signed_up(caller: Caller, number: int) -> Caller:
    """A sub-organization of the caller's organization, with a key and a wallet; its root user, who has signed."""
    key = generate_api_key()
    user = {"userName": "somebody", "apiKeys": [api_key_params(key.public_key)]}
    user |= {"authenticators": [], "oauthProviders": []}
    wallet = {"walletName": "one", "accounts": [ACCOUNT]}
    parameters = {"subOrganizationName": f"number {number}", "rootQuorumThreshold": 1, "rootUsers": [user]}
    made = caller.result("create_sub_organization", {**parameters, "wallet": wallet})
    person = caller.with_key(key, made["rootUserIds"][0], made["subOrganizationId"])
    payload = {
        "encoding": "PAYLOAD_ENCODING_HEXADECIMAL",
        "hashFunction": "HASH_FUNCTION_NO_OP",
        "payload": "00" * 32,
    }
    person.result("sign_raw_payload", {"signWith": made["wallet"]["addresses"][0], **payload})
    return person


def test_two_servers(database: Database, start: Callable[..., Server]) -> None:
    """Both change one organization; both sign people up, whose rows are on several nodes, and sign for them."""
    installation = bootstrap_installation(database)
    servers = [start(installation, **NO_TAG_LIMIT) for _ in range(2)]
    load = Load([server.caller for server in servers])
    with load:
        load.wait_for(100)
    assert (load.refused, load.unanswered) == ([], [])
    check_record(database, installation.organization_id, load.acknowledged)
    with ThreadPoolExecutor(8) as threads:
        people = list(threads.map(lambda number: signed_up(servers[number % 2].caller, number), range(20)))
    parent = servers[0].caller
    ids = {person.organization_id for person in people}
    assert set(parent.asked("list_suborgs", paginationOptions={"limit": "100"})["organizationIds"]) == ids
    people[0].submitted("delete_sub_organization", {"deleteWithoutExport": True})
    left = parent.asked("list_suborgs", paginationOptions={"limit": "100"})["organizationIds"]
    assert set(left) == ids - {people[0].organization_id}
    shards = "SELECT DISTINCT get_shard_id_for_distribution_column('organization', id) FROM organization"
    assert len(database.rows(shards)) > 1


def test_a_migration_that_adds_a_table(database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = shutil.copytree(SQL, tmp_path / "sql")
    (folder / "postgresql" / f"{newest() + 1:04}_next.sql").write_text(
        'CREATE TABLE note (organization_id TEXT COLLATE "C" NOT NULL, id TEXT NOT NULL, '
        "PRIMARY KEY (organization_id, id));\n"
        "ALTER TABLE record ADD COLUMN noted_at_ms BIGINT;\n"
        "CREATE INDEX record_by_note ON record (organization_id, noted_at_ms);\n"
    )
    known = migrations.migrations
    monkeypatch.setattr(schema, "migrations", lambda dialect: known(dialect, folder))
    monkeypatch.setitem(distribution.COLUMNS, "note", "organization_id")
    assert schema.migrate(database.url)
    assert ("note", "organization_id") in database.rows(COLUMNS)
    together = (
        "SELECT count(DISTINCT colocationid) FROM pg_dist_partition WHERE logicalrelid::text IN ('note', 'record')"
    )
    assert database.rows(together) == [(1,)]
