"""The configuration of the signer's process at its start, and its reply: one line of JSON each.

This is a separate module, so that the process that starts the signer does not load the signer's code.
"""

from __future__ import annotations

import msgspec

from keystead.keys.master_key_source import MasterKeySources


class StartRequest(msgspec.Struct, frozen=True):
    """`connector`: the number of the inherited descriptor through which servers connect."""

    sources: MasterKeySources
    connector: int


class StartReply(msgspec.Struct, frozen=True):
    """`failure`: why the process cannot serve, in one line, or "". `confined`: the rights that it gave up."""

    failure: str = ""
    confined: tuple[str, ...] = ()
