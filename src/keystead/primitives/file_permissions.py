"""Which permissions a file with a secret may have: a master key, a TLS key, the URL of a database.

Here: the rule, a function of the file's mode and owner. Not here: reading files.
"""

from __future__ import annotations

from typing import Final

_OTHERS: Final = 0o007
_GROUP: Final = 0o070
_GROUP_WRITES_OR_EXECUTES: Final = 0o030
_ROOT: Final = 0


def permission_problem(mode: int, owner: int) -> str:
    """Why a file of this mode and owner (user id) is refused, or "".

    Only the owner may have access. A file of root may also be readable by its group, because Kubernetes mounts a
    Secret for a pod with fsGroup in this way (mode 0440), and the service's user is not the owner.
    """
    if mode & _OTHERS or mode & _GROUP_WRITES_OR_EXECUTES or (mode & _GROUP and owner != _ROOT):
        return f"has mode {mode:04o}, which gives access to other users than its owner"
    return ""
