"""The master key changes under load, as the security page tells an operator; the command is killed on the way."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec

from keystead.api.identifiers import new_id
from keystead.keys import master_key
from keystead.keys.sealing import MasterKey, Purpose, SealContext
from keystead.organizations.kinds.data_key import Sealed, SealedDataKey
from keystead.organizations.kinds.profile import Profile, RootQuorum
from keystead.organizations.organization import Put, Record, Version, from_records
from keystead.pipeline.store import Changes, Commit, CommitResult
from keystead.server.installation.processes import serving_processes
from keystead.server.installation.rotation import rotate_master
from keystead.server.limits.once_per_second import KEPT_S
from keystead.signer.local import LocalSigner
from keystead.stamps.signing import generate_api_key
from keystead.storage.store import DatabaseStore
from tests.conftest import MakeDatabase
from tests.faults.test_signer_dies import ACCOUNT, PATH, WalletLoad
from tests.support.callers import answered, now_ms
from tests.support.commands import run_keystead
from tests.support.hanging import PATIENCE_S
from tests.support.servers import Installation, Server, bootstrap_installation, user_with_key

ORGANIZATIONS = 50


class Rotation:
    """The command, over this installation, from one key file to another."""

    def __init__(self, installation: Installation, old: Path, new: Path) -> None:
        options = {
            "--database-url": installation.database.url,
            "--master-key-file": str(old),
            "--new-master-key-file": str(new),
        }
        words = [word for option in options.items() for word in option]
        self.command = ["keys", "rotate-master", *words]

    def run(self) -> subprocess.CompletedProcess[str]:
        return run_keystead(*self.command, timeout=PATIENCE_S)

    def kill_after(self, moved: int, count: Callable[[], int]) -> None:
        """Start it, and kill it once that many data keys are under the new key."""
        command = [sys.executable, "-m", "keystead", *self.command]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while count() < moved and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()


def test_killed_under_load(installation: Installation, start: Callable[..., Server], tmp_path: Path) -> None:
    add_organizations(installation, ORGANIZATIONS - 1)
    old, new = tmp_path / "old.key", tmp_path / "new.key"
    master_key.create(old, installation.master_key)
    new_key = master_key.create(new)
    rotation = Rotation(installation, old, new)

    def moved() -> int:
        return list(data_keys(installation).values()).count(new_key.key_id)

    server = start(installation, master_key_file=new, other_master_key_file=old)
    with WalletLoad(server.caller, threads=2) as load:
        load.wait_for(10)
        for goal in (1, 30):
            rotation.kill_after(goal, moved)
        load.wait_for(5)
        done = rotation.run()
        load.wait_for(10)
    assert done.returncode == 0, done.stderr
    assert f"Everything is under master key {new_key.key_id}" in done.stdout
    assert moved() == ORGANIZATIONS
    made = {}
    for body, response in load.answers:
        result = answered(response)["activity"]["result"]
        made[body] = result["createWalletResult"]["walletId"]
    # The old key is gone for good, and everything is there.
    assert server.stop() == 0
    old.unlink()
    again = start(replace(installation, master_key=new_key))
    for body, wallet_id in list(made.items())[:: len(made) // 20]:
        activity = answered(again.caller.post(PATH, body))["activity"]
        assert activity["result"]["createWalletResult"]["walletId"] == wallet_id
    with WalletLoad(again.caller, threads=1) as load:
        load.wait_for(2)
    check_secrets_open(installation, new_key, len(made))
    assert rotation.run().returncode == 1  # the old file is gone: said in one line


def test_a_server_that_lacks_the_new_key(
    installation: Installation, start: Callable[..., Server], tmp_path: Path
) -> None:
    """Stops the rotation. If it could not say that it runs, it answers 503 for what needs a key and is not ready,
    each naming both keys; restarted with both, it goes on."""
    old, new = tmp_path / "old.key", tmp_path / "new.key"
    master_key.create(old, installation.master_key)
    new_key = master_key.create(new)
    server = start(installation, master_key_file=old)
    refused = Rotation(installation, old, new).run()
    assert refused.returncode == 1
    assert (
        f"1 serving processes do not have master key {new_key.key_id}: process {server.pid} on " in refused.stderr
    )
    assert set(data_keys(installation).values()) == {installation.master_key.key_id}, "nothing has moved"

    async def rotated_unseen(store: DatabaseStore) -> None:
        await store.installation.delete_process((await serving_processes(store, now_ms()))[0].id)
        await rotate_master(
            store,
            old=installation.master_key,
            new=new_key,
            new_id=new_id,
            now_ms=now_ms(),
            report=lambda _: None,
        )

    installation.database.with_store(rotated_unseen)
    parameters = {"walletName": "a wallet", "accounts": [ACCOUNT]}
    time.sleep(KEPT_S)
    for answer in (server.caller.submit("create_wallet", parameters), server.http.get("/readyz")):
        assert answer.status_code == 503
        assert {installation.master_key.key_id, new_key.key_id} <= set(re.findall("[0-9a-f]{16}", answer.text))
    server.stop()
    again = start(installation, master_key_file=new, other_master_key_file=old)
    assert again.caller.submit("create_wallet", parameters).status_code == 200


def add_organizations(installation: Installation, count: int) -> None:
    """All through one store, which takes long to open."""
    signer = LocalSigner(installation.master_key)

    async def add(store: DatabaseStore) -> None:
        for _ in range(count):
            user, organization_id = user_with_key(generate_api_key()), new_id()
            data_key = SealedDataKey(await signer.new_data_key(organization_id))
            profile = Profile(
                name="Another", root_quorum=RootQuorum(1, (user.user_id,)), created_at=user.created_at
            )
            records: list[Record] = [profile, data_key, user]
            creation = Changes(
                after=from_records(organization_id, Version(1, new_id()), records),
                records=tuple(Put(record) for record in records),
                attachments=(),
                lookups_added=frozenset(),
            )
            commit = Commit(
                organization_id=organization_id,
                decided_on=creation.after.version,
                activity=None,
                new_organization=creation,
            )
            assert await store.commit(commit) is CommitResult.COMMITTED

    installation.database.with_store(add)


def data_keys(installation: Installation) -> dict[str, str]:
    """By organization, under which master key its data key is."""
    rows = installation.database.rows("SELECT organization_id, body FROM record WHERE kind = 'data_key'")
    return {
        organization_id: msgspec.json.decode(body)["sealed"]["key_id"]
        for organization_id, body in ((row[0], bytes(row[1])) for row in rows)
    }


def check_secrets_open(installation: Installation, key: MasterKey, at_least: int) -> None:
    organization = installation.database.organization(installation.organization_id)
    data_key = key.open_data_key(organization.data_key.sealed, organization.id)
    sealed = installation.database.rows("SELECT record_id, key_id, ciphertext FROM sealed_secret")
    assert len(sealed) > at_least
    for record_id, key_id, ciphertext in sealed:
        context = SealContext(Purpose.WALLET, organization_id=organization.id, record_id=record_id)
        data_key.open(Sealed(key_id, bytes(ciphertext)), context)


def test_one_line(make_sqlite: MakeDatabase, tmp_path: Path) -> None:
    """With another's keys, with one key twice, without a key: a line that says so, and exit code 1."""
    installation = bootstrap_installation(make_sqlite())
    keys = [tmp_path / name for name in ("fitting", "one", "other")]
    for path, key in zip(keys, (installation.master_key, None, None), strict=True):
        master_key.create(path, key)
    fitting, one, other = keys
    refused = {
        (one, other): "neither key is the master key of this installation",
        (fitting, fitting): "both master keys are the same",
        (fitting, tmp_path / "missing"): "does not exist",
        (fitting, Path("pkcs11:token=x;object=y")): "the PKCS#11 URI lacks module-path",
    }
    for (first, second), message in refused.items():
        done = Rotation(installation, first, second).run()
        assert done.returncode == 1
        assert message in done.stderr
        assert len(done.stderr.splitlines()) == 1, done.stderr
    installation.database.close()
