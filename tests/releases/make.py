"""`python -m tests.releases.make` writes the databases of this release, which later releases must migrate.

Run it once for a release, with its code, and keep what it writes: a folder named after the version of the tables.
One installation on each store carries out every example of the tests, so every kind of record, activity and sealed
value is in it. Not here: reading the databases back (`databases`), what must hold of them (`test_upgrades`).
"""

from __future__ import annotations

import lzma
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec

from keystead.operations import CATALOGUE
from keystead.stamps.signing import generate_api_key
from keystead.storage.migrations import newest
from keystead.storage.schema import migrate
from keystead.storage.sqlite.backup import back_up
from tests.releases.databases import POSTGRESQL, SQLITE, Facts, facts_file, folder_of, listed_ids
from tests.support.callers import SDK_FORM, Caller, answered, api_key_params
from tests.support.databases import PostgresDatabase, SqliteDatabase
from tests.support.example_users import root_user, sub_organization
from tests.support.issuers import taking_tokens
from tests.support.operation_examples import ETHEREUM_ACCOUNT, SUBMISSIONS, create_records, submitter
from tests.support.postgres import BINARIES, running_postgres
from tests.support.servers import Installation, bootstrap_installation, running

_SESSION_SECONDS = "2592000"


def main() -> int:
    """Write both databases and their facts. Returns the exit code."""
    folder = folder_of(newest())
    if folder.exists():
        print(f"{folder} exists already, and a release's databases never change", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as place, running_postgres() as postgres:
        work = Path(place)
        made = work / "made"
        made.mkdir()
        file, url = work / "keystead.db", postgres.create_database()
        migrate(f"sqlite:///{file}")
        migrate(url)
        for name, database in ((SQLITE, SqliteDatabase(file)), (POSTGRESQL, PostgresDatabase(url))):
            installation = bootstrap_installation(database, mode="dev")  # it keeps its messages
            facts = _filled(installation, work)
            facts_file(made, name).write_bytes(msgspec.json.format(msgspec.json.encode(facts)) + b"\n")
            database.close()
        back_up(file, work / "copy.db", lambda *_: None)
        (made / SQLITE).write_bytes(lzma.compress((work / "copy.db").read_bytes()))
        (made / POSTGRESQL).write_bytes(lzma.compress(_dumped(url)))
        shutil.copytree(made, folder)
    return 0


def _filled(installation: Installation, work: Path) -> Facts:
    with running(installation, work / f"log-{installation.organization_id}", taking_tokens(work)) as server:
        root = server.caller
        holder = root.new_user()
        records = create_records(root, holder)
        for activity_type, parameters in SUBMISSIONS.items():
            operation = CATALOGUE.of_type(activity_type)
            assert operation is not None
            by = submitter(activity_type, root)
            answered(by.submit(operation.name, parameters(records), SDK_FORM, type=activity_type))
        waiting = records.fresh("waiting")
        wallet = {"walletName": "Kept", "accounts": [ETHEREUM_ACCOUNT]}
        address = root.result("create_wallet", wallet)["addresses"][0]
        session_key = generate_api_key()
        login = {"publicKey": session_key.public_key, "expirationSeconds": _SESSION_SECONDS}
        root.submitted("stamp_login", login)
        child, child_key = _sub_organization(root)
        counts = installation.database.counts()
        return Facts(
            organization_id=installation.organization_id,
            user_id=installation.user_id,
            api_private_key=installation.key.private_key,
            master_key=installation.master_key.secret_text(),
            holder_id=holder.user_id,
            holder_private_key=holder.key.private_key,
            child_id=child.organization_id,
            child_user_id=child.user_id,
            child_private_key=child_key,
            private_key_id=records.private_key_id,
            wallet_id=records.wallet_id,
            address=address,
            waiting_fingerprint=waiting,
            activity_ids=listed_ids(root),
            rows=counts,
        )


def _sub_organization(root: Caller) -> tuple[Caller, str]:
    """A sub-organization with a root user of its own, and that user's private key."""
    key = generate_api_key()
    made = root.result(
        "create_sub_organization", sub_organization(root_user(apiKeys=[api_key_params(key.public_key)]))
    )
    return root.with_key(key, made["rootUserIds"][0], made["subOrganizationId"]), key.private_key


def _dumped(url: str) -> bytes:
    """Plain SQL that needs no psql."""
    command = [
        str(BINARIES / "pg_dump"),
        "--no-owner",
        "--no-privileges",
        "--inserts",
        "--rows-per-insert=100",
        url,
    ]
    done = subprocess.run(command, check=True, capture_output=True, env=os.environ, stdin=subprocess.DEVNULL)
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
