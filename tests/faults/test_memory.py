"""The memory of a worker process: it never holds the master key, a mnemonic, a seed or a private scalar."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from tests.faults.test_secrets_stay_in import forms, secrets_of
from tests.support.callers import answered
from tests.support.hanging import PATIENCE_S
from tests.support.organization_fixtures import ETHEREUM_ACCOUNT, create_records
from tests.support.servers import Server, bootstrap_installation

CAP_SYS_PTRACE = 19


def _may_read_memory() -> bool:
    status = Path("/proc/self/status").read_text()
    capabilities = next(line.split()[1] for line in status.splitlines() if line.startswith("CapEff:"))
    return bool(int(capabilities, 16) >> CAP_SYS_PTRACE & 1)


pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not _may_read_memory(),
    reason="reads the memory of processes: root's right, on Linux",
)

CHUNK = 1 << 24


def found_in(pid: int, wanted: dict[str, bytes]) -> set[str]:
    """Which of these bytes the memory of this process that can be written holds, by name."""
    longest, found = max(map(len, wanted.values())), set()
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            place, rights, *_ = line.split()
            begin, end = (int(bound, 16) for bound in place.split("-"))
            if not rights.startswith("rw"):  # what was never written to holds what its file holds
                continue
            for start in range(begin, end, CHUNK):
                memory.seek(start)
                try:
                    content = memory.read(min(CHUNK + longest, end - start))
                except OSError:  # mapped, but nothing is there
                    continue
                found |= {name for name, secret in wanted.items() if secret in content}
    return found


TOPOLOGIES = {
    "SQLite, key file, one worker": ("sqlite", 1, "file"),
    "PostgreSQL, key file, one worker": ("postgres", 1, "file"),
    "PostgreSQL, key file, two workers": ("postgres", 2, "file"),
    "SQLite, key in the environment": ("sqlite", 1, "environment"),
}


@pytest.mark.parametrize(("engine", "workers", "key_from"), TOPOLOGIES.values(), ids=TOPOLOGIES)
def test_workers_never_held_a_secret(
    engine: str, workers: int, key_from: str, request: pytest.FixtureRequest, start: Callable[..., Server]
) -> None:
    installation = bootstrap_installation(request.getfixturevalue(f"make_{engine}")())
    settings: dict[str, object] = {"workers": workers, "log_level": "debug"}
    if key_from == "environment":
        settings |= {"master_key": installation.master_key.secret_text(), "master_key_file": ""}
    server = start(installation, **settings)
    record_ids = create_records(server.caller)
    for number in range(4):
        with httpx.Client(base_url=server.base_url, timeout=PATIENCE_S) as fresh:  # each may reach another worker
            caller = installation.caller(fresh)
            wallet = {"walletName": f"one more {number}", "accounts": [ETHEREUM_ACCOUNT]}
            answered(caller.submit("create_wallet", wallet))
    wanted = {
        f"{name} as {form}": text
        for name, secret in secrets_of(installation, record_ids)
        # This test made the root user's key, and it does not matter what a caller knows. Workers use the password.
        if "root user" not in name and "password" not in name
        for form, text in forms(secret).items()
        if form in ("bytes", "hex")
    }
    assert len(wanted) > 30
    serving = server.children(b"keystead.server.workers") or [server.pid]
    assert len(serving) == workers
    known = {"the organization": installation.organization_id.encode()}
    assert any(found_in(pid, known) for pid in serving)
    for pid in serving:
        assert found_in(pid, wanted) == set()
    # Where the master key is, the same search finds it.
    assert any("master key" in name for name in found_in(server.signer_pid, wanted))
    files = [path for path in server.log.parent.iterdir() if path.is_file() and "master" not in path.name]
    for file in files:
        content = file.read_bytes()
        assert not [name for name, text in wanted.items() if text in content], file
    installation.database.close()
