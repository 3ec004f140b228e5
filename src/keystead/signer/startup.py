"""What the signer's process is told when it starts, and its reply: one line of JSON each.

In a module of its own, so that the process that starts the signer need not load the signer's code.
"""

from __future__ import annotations

import msgspec

from keystead.keys.master_key_source import MasterKeySources


class StartRequest(msgspec.Struct, frozen=True):
    """`connector`: the number of the inherited descriptor through which servers connect."""

    sources: MasterKeySources
    connector: int


class StartReply(msgspec.Struct, frozen=True):
    """`failure`: why it cannot serve, in one line, or "". `confined`: what the process has given up."""

    failure: str = ""
    confined: tuple[str, ...] = ()
