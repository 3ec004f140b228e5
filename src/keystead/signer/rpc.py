"""The messages between a server process and the signer: calls, answers and refusals, one frame each.

A frame is four bytes of length (big endian) and MessagePack of that length. The calls are the methods of the
signer's protocol. Its types define how arguments and results are encoded and how long each may be, so a new method
needs no code here. Several frames are written together. Not here: sockets (`client`, `process`).
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol, get_type_hints

import msgspec

from keystead.api import errors
from keystead.api.errors import Internal, InvalidRequest, ServiceError, TooLarge
from keystead.keys.sealing import MasterKeyMissing, SealBroken
from keystead.pipeline.signer_port import Signer
from keystead.pipeline.signer_values import Id
from keystead.signer.bounds import FRAME_BYTES_MAX
from keystead.signer.installation_keys import SealedInstallationKeys, WrongMasterKey

LENGTH_BYTES: Final = 4


class Handshake(Protocol):
    """The calls of a server process besides the signer's protocol."""

    async def unlock(self, sealed: SealedInstallationKeys) -> str:
        """Present the installation's sealed values: the first call of each connection. Returns the sealing master
        key's id.

        Raises WrongMasterKey if no master key opens the check value, SealBroken if none opens the others.
        """
        ...

    async def master_key_ids(self) -> tuple[str, ...]:
        """The ids of the master keys that the signer has, first the one that seals."""
        ...

    async def ready(self, master_key_id: Id) -> None:
        """Raise Unavailable, which names both ids, unless the signer has this master key."""
        ...


class Request(msgspec.Struct, frozen=True, array_like=True):
    """`arguments`: the call's arguments in the order of its parameters."""

    number: int
    call: str
    arguments: msgspec.Raw


class CallAnswer(msgspec.Struct, frozen=True, array_like=True):
    """`body`: the call's result, or an ErrorReply."""

    number: int
    refused: bool
    body: msgspec.Raw


class ErrorReply(msgspec.Struct, frozen=True, array_like=True):
    """An error that the other side knows. Any other error is sent as Internal, without its text."""

    name: str
    message: str
    machine_code: str = ""
    details: Sequence[Mapping[str, Any]] | None = None


class Call(msgspec.Struct, frozen=True):
    """One method of a protocol: its parameters as a struct, and how these and the result are decoded."""

    name: str
    parameters: type[msgspec.Struct]
    arguments: msgspec.msgpack.Decoder[Any]
    result: msgspec.msgpack.Decoder[Any]


_encoder = msgspec.msgpack.Encoder()
_answers = msgspec.msgpack.Decoder(CallAnswer)
_requests = msgspec.msgpack.Decoder(Request)
_refusals = msgspec.msgpack.Decoder(ErrorReply)

REFUSALS: Final[Mapping[str, type[Exception]]] = {
    error.__name__: error
    for error in (*vars(errors).values(), SealBroken, MasterKeyMissing, WrongMasterKey)
    if isinstance(error, type) and issubclass(error, ServiceError | SealBroken)
}
"""The errors that the signer reports by name."""


def calls_of(protocol: type) -> dict[str, Call]:
    """The public methods of a protocol, by name."""
    methods = inspect.getmembers(protocol, inspect.isfunction)
    return {name: _call(name, method) for name, method in methods if not name.startswith("_")}


def _call(name: str, method: Any) -> Call:
    hints = get_type_hints(method, include_extras=True)
    fields: list[Any] = []
    for parameter in list(inspect.signature(method).parameters.values())[1:]:
        default = () if parameter.default is parameter.empty else (parameter.default,)
        fields.append((parameter.name, hints[parameter.name], *default))
    hidden = {"__repr__": lambda _: f"{name}(…)"}  # any of them may be secret
    parameters = msgspec.defstruct(name, fields, frozen=True, array_like=True, module=__name__, namespace=hidden)
    return Call(name, parameters, msgspec.msgpack.Decoder(parameters), msgspec.msgpack.Decoder(hints["return"]))


@functools.cache
def calls() -> dict[str, Call]:
    """Every call that the signer's process answers."""
    return calls_of(Signer) | calls_of(Handshake)


def request_frame(number: int, call: Call, arguments: msgspec.Struct) -> bytes:
    """Encode a call. Raises InvalidRequest for a number beyond 64 bits, TooLarge for more bytes than a frame
    holds."""
    try:
        encoded = _encoder.encode(arguments)
    except OverflowError:
        raise InvalidRequest(f"invalid request: a number is beyond 64 bits (signer call {call.name})") from None
    return _frame(_encoder.encode(Request(number, call.name, msgspec.Raw(encoded))))


def arguments_of(call: Call, request: Request) -> dict[str, Any]:
    """The arguments by name. Raises InvalidRequest if one exceeds its bounds or has the wrong type."""
    try:
        values = msgspec.structs.astuple(call.arguments.decode(request.arguments))
    except msgspec.MsgspecError as wrong:
        raise InvalidRequest(f"invalid request: signer call {call.name}: {wrong}") from None
    return dict(zip(call.parameters.__struct_fields__, values, strict=True))


def result_frame(number: int, result: Any) -> bytes:
    """Encode a result. Raises TooLarge for more bytes than a frame holds."""
    return _frame(_encoder.encode(CallAnswer(number, False, msgspec.Raw(_encoder.encode(result)))))


def refusal_frame(number: int, refused: Exception) -> bytes:
    """Encode an error. One that is not in REFUSALS becomes Internal, because its text may hold anything."""
    known = type(refused).__name__ in REFUSALS
    if isinstance(refused, ServiceError) and known:
        refusal = ErrorReply(type(refused).__name__, refused.message, refused.machine_code, refused.details)
    elif known:
        refusal = ErrorReply(type(refused).__name__, str(refused))
    else:
        refusal = ErrorReply(Internal.__name__, "the signer failed", Internal.default_machine_code)
    return _frame(_encoder.encode(CallAnswer(number, True, msgspec.Raw(_encoder.encode(refusal)))))


def read_request(frame: bytes) -> Request:
    """Decode the body of a request's frame. Raises msgspec.MsgspecError for anything else."""
    return _requests.decode(frame)


def read_answer(frame: bytes) -> CallAnswer:
    """Decode the body of an answer's frame. Raises msgspec.MsgspecError for anything else."""
    return _answers.decode(frame)


def refusal_of(answer: CallAnswer) -> Exception:
    """The exception in a refusing answer."""
    refusal = _refusals.decode(answer.body)
    kind = REFUSALS[refusal.name]
    if issubclass(kind, ServiceError):
        return kind(refusal.message, machine_code=refusal.machine_code, details=refusal.details)
    return kind(refusal.message)


def _frame(body: bytes) -> bytes:
    if len(body) > FRAME_BYTES_MAX:
        raise TooLarge(f"the signer accepts at most {FRAME_BYTES_MAX} bytes in one call, not {len(body)}")
    return len(body).to_bytes(LENGTH_BYTES) + body


class BadFrame(Exception):
    """The other side announced a frame longer than FRAME_BYTES_MAX."""


class Frames:
    """Splits bytes into frames as they arrive."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def take(self, data: bytes) -> Iterator[bytes]:
        """Add these bytes to the buffer. Yields the bodies of the frames that they complete. Raises BadFrame."""
        buffer = self._buffer
        buffer += data
        while len(buffer) >= LENGTH_BYTES:
            length = int.from_bytes(buffer[:LENGTH_BYTES])
            if length > FRAME_BYTES_MAX:
                raise BadFrame(f"a frame of {length} bytes")
            end = LENGTH_BYTES + length
            if len(buffer) < end:
                return
            body = bytes(buffer[LENGTH_BYTES:end])
            del buffer[:end]
            yield body


class FrameBatch:
    """Writes the frames of one iteration of the event loop at once."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write = write
        self._frames: list[bytes] = []

    def add(self, frame: bytes) -> None:
        if not self._frames:
            asyncio.get_running_loop().call_soon(self._flush)
        self._frames.append(frame)

    def _flush(self) -> None:
        frames, self._frames = self._frames, []
        self._write(b"".join(frames))
