"""Restricts the rights of a process: core dumps, reads by other processes, network, programs, its user.

Linux only. On other systems each function reports that nothing was done. Not here: which process uses which
restriction (`process`, `cli`).
"""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import signal
import sys
from pathlib import Path
from typing import Final

_NOBODY: Final = 65_534

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_SECCOMP = 22
_PR_SET_NO_NEW_PRIVS = 38
_SECCOMP_MODE_FILTER = 2
_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000


def keep_memory_private() -> None:
    """Disable core dumps. On Linux, also refuse other processes of this user to read this one's memory and
    environment."""
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0 if hard == 0 else hard))
    if sys.platform == "linux":
        _prctl(_PR_SET_DUMPABLE, 0)


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when the process `parent`, which started it, ends for any reason. Linux
    only.

    If `parent` has ended already, this process ends now, because the kernel would send no signal.
    """
    if sys.platform == "linux":
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def leave_network() -> bool:
    """Move this process to an empty network namespace. Returns whether that was done. The process must have only
    one thread.

    Open Unix sockets stay usable. Needs root or a user namespace. For a user namespace, call `keep_memory_private`
    afterwards, because it closes this process's own files in /proc.
    """
    if sys.platform != "linux":
        return False
    if os.geteuid() == 0:
        return _unshare(_CLONE_NEWNET)
    # Some systems create the namespace and then refuse the next steps, and the process cannot go back. Therefore a
    # child process tries first.
    child = os.fork()
    if child == 0:
        os._exit(0 if _enter_namespaces() else 1)
    return os.waitpid(child, 0)[1] == 0 and _enter_namespaces()


def _enter_namespaces() -> bool:
    uid, gid = os.getuid(), os.getgid()
    if not _unshare(_CLONE_NEWUSER | _CLONE_NEWNET):
        return False
    try:
        # With these, files and the process itself keep their owner.
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
        Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
    except OSError:
        return False
    return True


def become_nobody() -> bool:
    """Change from root to the user `nobody`. Returns whether that was done.

    It is not done if this user could not read the modules that will be imported later.
    """
    if os.geteuid() != 0 or not all(_all_may_read(Path(place)) for place in sys.path if place):
        return False
    os.setgroups([])
    os.setresgid(_NOBODY, _NOBODY, _NOBODY)
    os.setresuid(_NOBODY, _NOBODY, _NOBODY)
    return True


def _all_may_read(path: Path) -> bool:
    """Whether everybody may read this folder or archive. A missing one counts as readable."""
    path = path.resolve()
    if not path.exists():
        return True
    return bool(path.stat().st_mode & 0o004) and all(folder.stat().st_mode & 0o001 for folder in path.parents)


_REFUSED_CALLS: Final = {
    # By machine: the architecture's number, and the system calls socket, socketpair, connect, bind, listen, execve,
    # execveat, ptrace, process_vm_readv, process_vm_writev, io_uring_setup (io_uring could make the other calls).
    "x86_64": (0xC000003E, (41, 53, 42, 49, 50, 59, 322, 101, 310, 311, 425)),
    "aarch64": (0xC00000B7, (198, 199, 203, 200, 201, 221, 281, 117, 270, 271, 425)),
}

_X32_BIT = 0x40000000


def refuse_new_sockets_and_programs() -> bool:
    """Have the kernel refuse this process new sockets, new programs and other processes' memory. Returns whether
    that was done. Threads and children inherit it. It cannot be undone."""
    if sys.platform != "linux" or platform.machine() not in _REFUSED_CALLS:
        return False
    architecture, numbers = _REFUSED_CALLS[platform.machine()]
    program = _filter(architecture, numbers)
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    instructions = ctypes.create_string_buffer(program, len(program))
    head = _Program(len(program) // 8, ctypes.cast(instructions, ctypes.c_void_p))
    return _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(head))


class _Program(ctypes.Structure):
    """The kernel's struct sock_fprog."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


def _filter(architecture: int, numbers: tuple[int, ...]) -> bytes:
    """A classic BPF program over struct seccomp_data, with the number at byte 0 and the architecture at byte 4."""
    load, equal, at_least, done = 0x20, 0x15, 0x35, 0x06
    allow, refuse = 0x7FFF0000, 0x00050000 | 1  # SECCOMP_RET_ERRNO with EPERM

    def instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
        return code.to_bytes(2, sys.byteorder) + bytes((if_true, if_false)) + value.to_bytes(4, sys.byteorder)

    tests = [instruction(equal, architecture, 0, len(numbers) + 3), instruction(load, 0)]
    # Another architecture, or the second numbering of calls on x86-64 (x32), would evade the list.
    tests.append(instruction(at_least, _X32_BIT, len(numbers) + 1, 0))
    tests += [instruction(equal, number, len(numbers) - place, 0) for place, number in enumerate(numbers)]
    return b"".join((instruction(load, 4), *tests, instruction(done, allow), instruction(done, refuse)))


def _prctl(option: int, value: int, pointer: int = 0) -> bool:
    return bool(_libc().prctl(option, ctypes.c_ulong(value), ctypes.c_ulong(pointer), 0, 0) == 0)


def _unshare(flags: int) -> bool:
    return bool(_libc().unshare(flags) == 0)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
