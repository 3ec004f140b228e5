"""What a process gives up, tried out in processes that do: each prints what it could still do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.hanging import PATIENCE_S

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux gives these up")

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")

_TRY = """
import os, socket, subprocess, sys, threading
from pathlib import Path
from keystead.signer import confinement

def tried(what):
    try:
        what()
    except OSError as refused:
        return type(refused).__name__
    return "yes"

"""


def outcome(code: str, *arguments: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", _TRY + code, *arguments], capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_sockets_and_programs() -> None:
    """Neither in this thread nor in later ones; files, threads and what is open go on."""
    code = """
pair = socket.socketpair()
assert confinement.refuse_new_sockets_and_programs()
found = []
def look():
    found.append(tried(socket.socket))
    found.append(tried(socket.socketpair))
    found.append(tried(lambda: subprocess.run(["/bin/true"])))
    found.append(tried(lambda: os.execv("/bin/true", ["true"])))
look()
thread = threading.Thread(target=look); thread.start(); thread.join()
pair[0].send(b"x")
found.append(tried(lambda: pair[1].recv(1)))
found.append(tried(lambda: Path("/proc/self/status").read_text()))
print(*found)
"""
    refused = ["PermissionError"] * 4
    assert outcome(code) == [*refused, *refused, "yes", "yes"]


def test_network() -> None:
    """Where the system lets it: containers often do not."""
    code = """
before = os.readlink("/proc/self/ns/net")
left = confinement.leave_network()
listening = socket.create_server(("127.0.0.1", 0)) if not left else None
print(left, before != os.readlink("/proc/self/ns/net"), os.getuid() == int(sys.argv[1]),
      tried(lambda: socket.create_connection(("127.0.0.1", 9), 1)))
"""
    left, elsewhere, same_user, connected = outcome(code, str(os.getuid()))
    assert left == elsewhere
    assert same_user == "True"
    # In a network of its own not even the loopback device is up.
    assert connected == ("OSError" if left == "True" else "ConnectionRefusedError")


@as_root
def test_network_that_cannot_be_left() -> None:
    """A process that cannot write its own files in /proc stays where it was, and who it was."""
    code = """
os.setresuid(1234, 1234, 1234)
confinement.keep_memory_private()
print(confinement.leave_network(), os.getuid(), tried(lambda: socket.create_server(("127.0.0.1", 0)).close()))
"""
    assert outcome(code) == ["False", "1234", "yes"]


@as_root
def test_nobody(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.touch(mode=0o600)
    code = """
sys.path[:] = []
became = confinement.become_nobody()
print(became, *os.getresuid(), *os.getresgid(), len(os.getgroups()), tried(Path(sys.argv[1]).read_bytes),
      tried(lambda: os.setuid(0)))
"""
    assert outcome(code, str(mine)) == ["True", *["65534"] * 6, "0", "PermissionError", "PermissionError"]


@as_root
def test_nobody_could_not_read_the_modules(tmp_path: Path) -> None:
    """Then it stays who it is."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    code = "sys.path[:] = [sys.argv[1]]; print(confinement.become_nobody(), os.getuid())"
    assert outcome(code, str(closed)) == ["False", "0"]


def test_memory() -> None:
    """The files of the process in /proc belong to root, and it leaves no core."""
    code = """
confinement.keep_memory_private()
limits = Path("/proc/self/limits").read_text()
print(os.stat("/proc/self/environ").st_uid, *[line.split()[4] for line in limits.splitlines() if "core" in line])
"""
    assert outcome(code) == ["0", "0"]


def test_dies_with_its_parent() -> None:
    code = """
import signal, time
child = os.fork()
if child == 0:
    middle = os.getpid()
    if os.fork() == 0:
        confinement.die_with_parent(middle)
        os.write(1, b"ready ")
        time.sleep(30)
        os.write(1, b"still here")
        os._exit(0)
    time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGKILL)
os.waitpid(child, 0)
"""
    assert outcome(code) == ["ready"]


def test_ends_at_once_if_its_parent_is_gone() -> None:
    """As when a worker is replaced and the server is killed at the same moment."""
    code = """
import time
reading, writing = os.pipe()
child = os.fork()
if child == 0:
    middle = os.getpid()
    if os.fork() == 0:
        while os.getppid() == middle:
            time.sleep(0.01)
        confinement.die_with_parent(middle)
        os.write(writing, b"still here")
    os._exit(0)
os.waitpid(child, 0)
os.close(writing)
print("ended", os.read(reading, 100).decode())
"""
    assert outcome(code) == ["ended"]
