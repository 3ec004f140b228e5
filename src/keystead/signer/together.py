"""Calls to sign with one key that come together cross as one, and each caller gets the own signature back.

Alone, each costs the signer's process a call to read, a key to open and an answer to write, which is as much as the
signature. Here: which calls become one, and what of its result is whose. Not here: the connection (`remote`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from keystead.api.errors import Internal
from keystead.pipeline.ports import Signer
from keystead.signer.rpc import Call

MESSAGE_BYTES_MAX: Final = 1_024
"""Longer messages cross alone, so that many together still fit a frame."""

_SIGN: Final = Signer.sign.__name__


class PendingCall:
    """A call, by the arguments that are its parameters, and where its caller waits for the result."""

    __slots__ = ("arguments", "call", "key", "number", "result")

    def __init__(self, call: Call, arguments: Any, result: asyncio.Future[Any]) -> None:
        """Raises TypeError for what are no arguments of a call: later, it would be in the way of others."""
        self.key = _key_of(call, arguments)
        hash(self.key)
        self.call = call
        self.arguments = arguments
        self.result = result
        self.number = 0  # of the crossing, once there is one


class Crossing(msgspec.Struct, frozen=True):
    """What crosses as one call, for those who asked."""

    call: Call
    arguments: Any
    asked: Sequence[PendingCall]

    def results(self, body: msgspec.Raw) -> Sequence[Any]:
        """What an answer's body says to each of them. Raises Internal, msgspec.MsgspecError."""
        result = self.call.result.decode(body)
        if self.call.name == _SIGN and len(result) != len(self.arguments.messages):
            raise Internal(f"the signer made {len(result)} signatures of {len(self.arguments.messages)} messages")
        return (result,) if len(self.asked) == 1 else [(signature,) for signature in result]


def alone(asked: PendingCall) -> Crossing:
    return Crossing(asked.call, asked.arguments, (asked,))


def crossings(asked: Iterable[PendingCall]) -> list[Crossing]:
    """Those who have one short message each signed by the same key cross together, all others alone."""
    found: list[Crossing] = []
    by_key: dict[Hashable, list[PendingCall]] = {}
    for one in asked:
        if one.key is None:
            found.append(alone(one))
        else:
            by_key.setdefault(one.key, []).append(one)
    found += [alone(same[0]) if len(same) == 1 else _joined(same) for same in by_key.values()]
    return found


def _key_of(call: Call, arguments: Any) -> Hashable | None:
    """What those have in common who sign with one key; None for whoever crosses alone."""
    if call.name != _SIGN or len(arguments.messages) != 1 or len(arguments.messages[0]) > MESSAGE_BYTES_MAX:
        return None
    return arguments.organization_id, arguments.data_key, arguments.key, arguments.scheme


def _joined(same: Sequence[PendingCall]) -> Crossing:
    messages = [one.arguments.messages[0] for one in same]
    return Crossing(same[0].call, replace(same[0].arguments, messages=messages), same)
