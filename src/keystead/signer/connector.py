"""How a server process connects to the signer: through a socket that both have inherited.

Before the signer starts, a pair of datagram sockets without a name is made. The signer inherits one end; the
server processes inherit the other. To connect, a server process makes a pair of stream sockets and sends one of
them through its end. Other processes, of any parent and any user, have no name to connect to: only the inherited
descriptor reaches the signer. A signer that is started again inherits the same end.
"""

from __future__ import annotations

import socket


def connector_pair() -> tuple[socket.socket, socket.socket]:
    """The end of the server processes, and the end of the signer."""
    servers, signers = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    servers.setblocking(False)
    signers.setblocking(False)
    return servers, signers


def inherited(descriptor: int) -> socket.socket:
    """The end that this process inherited as this descriptor. Programs that it starts do not inherit it."""
    end = socket.socket(fileno=descriptor)
    end.setblocking(False)
    end.set_inheritable(False)
    return end


def connect(connector: socket.socket) -> socket.socket:
    """A stream to the signer. Raises OSError if the other end is closed, or has too many waiting connections."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        ours.setblocking(False)
        socket.send_fds(connector, [b"c"], [theirs.fileno()])
    except OSError:
        ours.close()
        raise
    finally:
        theirs.close()
    return ours


def accept(connector: socket.socket) -> socket.socket | None:
    """A stream that a server process sent; None if no stream has arrived."""
    try:
        _, descriptors, _, _ = socket.recv_fds(connector, 1, 1, getattr(socket, "MSG_CMSG_CLOEXEC", 0))
    except OSError:
        return None
    if not descriptors:
        return None
    stream = socket.socket(fileno=descriptors[0])
    stream.setblocking(False)
    stream.set_inheritable(False)
    return stream
