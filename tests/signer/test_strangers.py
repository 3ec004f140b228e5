"""Attacks by processes of the same user that are not of the service: none finds a way to connect to the signer.

The service is a subreaper, as process 1 of a container is: its orphaned grandchildren become its children.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.hanging import PATIENCE_S

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the attacks use /proc")

ATTACK = """
import ctypes, os, socket, stat, struct, sys
from pathlib import Path

os.chdir("/")
pids = sys.argv[1].split(",")
found = []

# 1. A descriptor that was inherited.
for number in os.listdir("/proc/self/fd"):
    try:
        if stat.S_ISSOCK(os.fstat(int(number)).st_mode):
            found.append(f"inherited {number}")
    except OSError:
        pass

# 2. A socket with a name, in a folder or abstract, that one of the service's processes listens on.
for line in Path("/proc/net/unix").read_text().splitlines()[1:]:
    words = line.split()
    if len(words) > 7:
        with socket.socket(socket.AF_UNIX) as attempt:
            try:
                attempt.settimeout(1)
                attempt.connect(words[7].replace("@", "\\0"))
                peer, _, _ = struct.unpack("3i", attempt.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
            except OSError:
                continue
            if str(peer) in pids:
                found.append(f"connected {words[7]}")

# 3. The descriptors of the service's processes, opened by name or taken over.
libc = ctypes.CDLL(None, use_errno=True)
for pid in pids:
    pidfd = libc.syscall(434, int(pid), 0)
    for number in range(64):
        try:
            os.close(os.open(f"/proc/{pid}/fd/{number}", os.O_RDWR))
            if stat.S_ISSOCK(os.stat(f"/proc/{pid}/fd/{number}").st_mode):
                found.append(f"opened {pid} {number}")
        except OSError:
            pass
        if os.geteuid() != 0 and libc.syscall(438, pidfd, number, 0) >= 0:
            found.append(f"took {pid} {number}")

Path(sys.argv[2]).write_text(" ".join(found) or "nothing")
"""

SERVICE = """
import ctypes, os, subprocess, sys, tempfile, time
from pathlib import Path

role, attack = sys.argv[1:]
os.chdir("/")
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
from keystead.signer.confinement import become_nobody, keep_memory_private
from keystead.signer.master_keys import KeyFile, MasterKeySources, create_development_key
from keystead.signer.supervision import SignerProcess

become_nobody()  # the adversary is of the same user, and not root, who may do anything
keep_memory_private()
with tempfile.TemporaryDirectory() as folder:
    key, outcome = Path(folder) / "master.key", Path(folder) / "outcome"
    create_development_key(key, None)
    with SignerProcess(MasterKeySources(KeyFile(str(key)))) as signer:
        signer.wait_until_ready()
        command = [sys.executable, "-c", attack, f"{os.getpid()},{signer._process.pid}", str(outcome)]
        if role == "child":
            subprocess.run(command)
        else:  # the parent of an orphan ends at once
            start = "run" if role == "grandchild" else "Popen"
            between = f"import subprocess, sys; subprocess.{start}(sys.argv[1:])"
            subprocess.run([sys.executable, "-W", "ignore", "-c", between, *command])
        deadline = time.monotonic() + 30
        while not outcome.exists() or not outcome.read_text():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        print(outcome.read_text())
"""


@pytest.mark.parametrize("role", ["child", "grandchild", "orphan"])
def test_no_way_in(role: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SERVICE, role, ATTACK],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        cwd=tmp_path,
    )
    assert done.stdout == "nothing\n", done.stderr


def test_the_attack_would_find_a_way(tmp_path: Path) -> None:
    """In a service that hands the descriptor to a child."""
    careless = SERVICE.replace(
        "subprocess.run(command)", "subprocess.run(command, pass_fds=[signer.connector.fileno()])"
    )
    done = subprocess.run(
        [sys.executable, "-c", careless, "child", ATTACK],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        cwd=tmp_path,
    )
    assert done.stdout.startswith("inherited "), done.stderr
