"""The values that an installation keeps sealed under its master key, and the error for a wrong master key."""

from __future__ import annotations

import msgspec

from keystead.keys.sealing import SealBroken
from keystead.pipeline.ports import Sealed


class ServerKeys(msgspec.Struct, frozen=True):
    """`master_key_check`: a constant that tests a master key; the others: the server's own keys."""

    master_key_check: Sealed
    proof_key: Sealed
    bundle_key: Sealed


class WrongMasterKey(SealBroken):
    """The master key is not the one under which the installation's values are sealed."""
