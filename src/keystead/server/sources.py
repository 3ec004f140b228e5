"""Where a server takes its time, its identifiers and its random bytes from.

A development server replaces them: its clock can be moved, and a seed makes its identifiers and keys the same from
run to run. Not here: that clock (`development.clock`), that seed (`development.seeding`).
"""

from __future__ import annotations

import secrets
from collections.abc import Callable

import msgspec

from keystead.api.identifiers import new_id
from keystead.pipeline.ports import ServerClock
from keystead.server.clock import SystemClock


class Sources(msgspec.Struct, frozen=True, kw_only=True):
    """`new_id` makes a UUID, later ones in the order of their text. `entropy(n)` gives n bytes for new keys."""

    clock: ServerClock
    new_id: Callable[[], str] = new_id
    entropy: Callable[[int], bytes] = secrets.token_bytes


SYSTEM_SOURCES = Sources(clock=SystemClock())
