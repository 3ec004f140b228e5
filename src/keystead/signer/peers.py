"""Who is at the other end of a Unix socket, as the kernel says. Linux; elsewhere only the folder protects."""

from __future__ import annotations

import os
import socket
import struct
from pathlib import Path

import msgspec


class Peer(msgspec.Struct, frozen=True):
    """Of a listening socket's peer: who connected; of a connecting one's: who listens. `pid` 0: unknown."""

    pid: int
    uid: int


def peer_of(connected: socket.socket) -> Peer:
    """Where the system cannot say, the answer is this user: the socket lies in a folder that only it can enter."""
    if not hasattr(socket, "SO_PEERCRED"):
        return Peer(0, os.getuid())
    pid, uid, _ = struct.unpack("3i", connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return Peer(pid, uid)


def parent_of(pid: int) -> int | None:
    """The process that started this one, None where that cannot be found out."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The name, in brackets, may hold anything; what follows its end does not.
    return int(status.rpartition(")")[2].split()[1])
