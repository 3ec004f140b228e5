"""An installation moves its master key to a PKCS#11 token and runs with it: with real commands, servers and
signer."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from keystead.keys import master_key
from keystead.keys.token_key import TokenKeyName
from tests.conftest import MakeDatabase
from tests.faults.test_signer_dies import ACCOUNT, new_signer
from tests.support.callers import answered
from tests.support.commands import run_keystead
from tests.support.hanging import PATIENCE_S
from tests.support.servers import Installation, Server, bootstrap_installation
from tests.support.softhsm import PIN, needs_softhsm

pytestmark = needs_softhsm


@pytest.fixture
def sqlite_installation(make_sqlite: MakeDatabase) -> Iterator[Installation]:
    """One engine will do: the store does not know what seals."""
    installation = bootstrap_installation(make_sqlite())
    yield installation
    installation.database.close()


def keystead(*words: str) -> subprocess.CompletedProcess[str]:
    return run_keystead(*words, environment=os.environ | {"KEYSTEAD_PKCS11_PIN": PIN}, timeout=PATIENCE_S)


def test_from_a_file_into_a_token(
    sqlite_installation: Installation, token: TokenKeyName, start: Callable[..., Server], tmp_path: Path
) -> None:
    installation = sqlite_installation
    old = tmp_path / "old.key"
    master_key.create(old, installation.master_key)
    pin_file = tmp_path / "pin"
    pin_file.write_text(f"{PIN}\n")
    pin_file.chmod(0o600)
    uri = f"pkcs11:token={token.token};object=production?module-path={token.module}"
    with_pin_file = f"{uri}&pin-source=file:{pin_file}"
    made = keystead("keys", "new-master", uri)
    assert made.returncode == 0, made.stderr
    server = start(installation, master_key_file=with_pin_file, other_master_key_file=old)
    first = wallet(server, "first")
    options = ("--database-url", installation.database.url, "--master-key-file", str(old))
    rotated = keystead("keys", "rotate-master", *options, "--new-master-key-file", uri)
    assert rotated.returncode == 0, rotated.stderr
    second = wallet(server, "second")
    assert server.stop() == 0
    old.unlink()
    # With the PIN in the environment, and none of the old key.
    server = start(installation, master_key_file=uri, pkcs11_pin=PIN)
    dead = server.signer_pid
    os.kill(dead, signal.SIGKILL)
    new_signer(server, dead)
    third = wallet(server, "third")
    wallets = {one["walletId"] for one in server.caller.asked("list_wallets")["wallets"]}
    assert wallets == {first, second, third}
    output = server.log.read_text() + made.stdout + made.stderr + rotated.stdout + rotated.stderr
    assert PIN not in output


def wallet(server: Server, name: str) -> str:
    made = server.caller.submit("create_wallet", {"walletName": name, "accounts": [ACCOUNT]})
    wallet_id: str = answered(made)["activity"]["result"]["createWalletResult"]["walletId"]
    return wallet_id
