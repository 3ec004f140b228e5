"""Reads an HTTP answer: the result is a typed value or an error.

Pure, and the same for both clients. Not here: which requests are repeated (`retries`), sending (`client`).
"""

from __future__ import annotations

import datetime
import functools
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

import msgspec

from keystead.client import errors
from keystead.client.leniency import convert_leniently

T = TypeVar("T")

ALREADY_EXISTS = 6
"""The gRPC code of "already exists", which has HTTP status 409 like conflicts."""

SHOWN_CHARS_MAX = 200
"""How many characters of an unreadable answer an error shows."""

_REFUSALS: Mapping[int, type[errors.ApiError]] = {
    401: errors.Unauthenticated,
    403: errors.PermissionDenied,
    404: errors.NotFound,
    409: errors.Conflict,
    429: errors.LimitReached,
    501: errors.NotImplementedByServer,
    502: errors.Unavailable,
    503: errors.Unavailable,
    504: errors.Unavailable,
}


class _Refusal(msgspec.Struct, rename="camel"):
    """The body of a refusal by the server (a proxy's may differ)."""

    code: int
    message: str
    details: tuple[dict[str, Any], ...] = ()
    turnkey_error_code: str = ""


_refusals = msgspec.json.Decoder(_Refusal)


def read_answer(path: str, body: bytes, kind: type[T]) -> T:
    """The answer to a request to `path`. Raises ProtocolError if it is not JSON of this kind.

    Unknown members are ignored, also in the records inside.
    """
    try:
        try:
            answer: T = _decoder(kind).decode(body)  # type: ignore[arg-type]  # a class is hashable
        except msgspec.ValidationError:
            answer = convert_leniently(msgspec.json.decode(body), kind)
    except msgspec.ValidationError as refused:
        raise errors.ProtocolError(
            f"the answer to {path} cannot be read: {refused}; client and server may have different versions"
        ) from refused
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as broken:
        raise errors.ProtocolError(f"the answer to {path} is not JSON: {broken}: {_excerpt(body)}") from broken
    return answer


def refusal(
    path: str, status: int, headers: Mapping[str, str], body: bytes, now: datetime.datetime | None = None
) -> errors.KeysteadError | None:
    """The error of an answer; None if it is a success. Names in `headers` may have any case. `now` is for
    Retry-After."""
    if 200 <= status < 300:
        return None
    if status < 400:
        where = headers.get("location", "nowhere")
        return errors.ProtocolError(
            f"{path} was answered with a redirect (HTTP {status}) to {where[:SHOWN_CHARS_MAX]}; signed requests "
            "follow no redirects: check the base URL"
        )
    try:
        error = _refusals.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        error = _Refusal(code=2, message=f"{path}: the refusal is not one of this API: {_excerpt(body)}")
    return _refusal_class(status, error.code)(
        error.message,
        http_status=status,
        code=error.code,
        machine_code=error.turnkey_error_code or _machine_code(error.details),
        details=error.details,
        request_id=headers.get("x-request-id"),
        retry_after_s=_retry_after_s(headers.get("retry-after"), now or datetime.datetime.now(datetime.UTC)),
    )


def _refusal_class(status: int, code: int) -> type[errors.ApiError]:
    if status == 409 and code == ALREADY_EXISTS:
        return errors.AlreadyExists
    return _REFUSALS.get(status, errors.InvalidRequest if status < 500 else errors.ServerError)


def _machine_code(details: tuple[dict[str, Any], ...]) -> str:
    for detail in details:
        if isinstance(word := detail.get("turnkeyErrorCode"), str):
            return word
    return ""


def _retry_after_s(header: str | None, now: datetime.datetime) -> float | None:
    """The header is a number of seconds or a date (RFC 9110, section 10.2.3). None for anything else."""
    if header is None:
        return None
    if header.isascii() and header.isdigit():
        return float(header)
    try:
        then = parsedate_to_datetime(header)
    except ValueError:
        return None
    if then.tzinfo is None:
        then = then.replace(tzinfo=datetime.UTC)
    return max((then - now).total_seconds(), 0.0)


def _excerpt(body: bytes) -> str:
    text = body[: SHOWN_CHARS_MAX + 1].decode(errors="replace")
    return repr(text[:SHOWN_CHARS_MAX]) + ("…" if len(text) > SHOWN_CHARS_MAX else "") if text else "it is empty"


@functools.cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)
