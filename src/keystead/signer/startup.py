"""What the signer's process is told at its start, and what it answers: a line of JSON each.

Apart from the process itself, which whoever starts it need not load.
"""

from __future__ import annotations

import msgspec

from keystead.keys.master_key_source import MasterKeySources


class Orders(msgspec.Struct, frozen=True):
    """What the process is told at its start. `service`: who started it, and with its children may connect."""

    sources: MasterKeySources
    listener: int
    service: int


class Ready(msgspec.Struct, frozen=True):
    """What it answers. `failure`: why it cannot serve, in one line; `confined`: what it gave up."""

    failure: str = ""
    confined: tuple[str, ...] = ()
