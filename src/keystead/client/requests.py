"""Builds a signed request: its address, its exact bytes, the stamp over them.

Pure, except for the clock that dates a submission. Not here: sending (`client`).
"""

from __future__ import annotations

import ipaddress
import re
import threading
import time
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any
from urllib.parse import urlsplit

import msgspec

from keystead.client.errors import UsageError
from keystead.stamps.signing import Stamper

try:
    VERSION = version("keystead")
except PackageNotFoundError:
    VERSION = "unknown"

CLIENT_NAME = f"keystead-python/{VERSION}"
"""The name that this client sends. The server answers a client that sends a name in the SDK form."""

_PATH = re.compile(r"(?:/?public/v1/)?(?P<kind>query|submit)/(?P<name>[a-z0-9_]+)")


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """A request that is ready to POST, any number of times, with exactly these bytes as `body`.

    `path` is short ("query/list_wallets"), `url` is complete. `headers` include the stamp, which is valid only for
    this body. A submission is valid for an hour.
    """

    path: str
    url: str
    headers: dict[str, str]
    body: bytes


class ServerAddress(msgspec.Struct, frozen=True):
    """The server, and the organization of requests that name none."""

    base_url: str
    organization_id: str

    def __post_init__(self) -> None:
        check_base_url(self.base_url)
        if not self.organization_id:
            raise UsageError("organization_id is missing")

    @property
    def loopback(self) -> str | None:
        """The host if it is this machine, which no proxy can reach; otherwise None."""
        host = urlsplit(self.base_url).hostname or ""
        try:
            is_loopback = ipaddress.ip_address(host).is_loopback
        except ValueError:
            is_loopback = host == "localhost" or host.endswith(".localhost")
        return host if is_loopback else None


def check_base_url(base_url: str) -> None:
    """Raise UsageError unless this can be the address of a server."""
    try:
        parts = urlsplit(base_url)
        _ = parts.port
    except ValueError as refused:
        raise UsageError(f"base_url is not a valid URL: {refused}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError("base_url: expected a URL such as http://localhost:8080 or https://keys.example.com")
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise UsageError("base_url: expected a URL without user, password, query and fragment")


class _UniqueClock:
    """Milliseconds since the epoch, never the same value twice.

    Two equal requests in one millisecond would be equal bytes, which the server would treat as one repeated
    request.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last_ms = 0

    def next_ms(self) -> int:
        with self._lock:
            self._last_ms = max(time.time_ns() // 1_000_000, self._last_ms + 1)
            return self._last_ms


_clock = _UniqueClock()


def short_path(path: str) -> str:
    """The short form of a path: "query/list_wallets" for "/public/v1/query/list_wallets". Raises UsageError."""
    match = _PATH.fullmatch(path)
    if match is None:
        raise UsageError(f"expected a path such as query/list_wallets or submit/create_wallet, got {path!r}")
    return f"{match['kind']}/{match['name']}"


def whole_body(
    path: str, body: Mapping[str, Any], organization_id: str, activity_types: Mapping[str, str]
) -> bytes:
    """The bytes of a request to this short path: `body`, with the members of the envelope that it lacks.

    Raises UsageError for a submission without a type, if `activity_types` has none for its name.
    """
    kind, name = path.split("/")
    fields = without_none(body)
    if kind == "query":
        return _encode({"organizationId": organization_id, **fields})
    activity_type = fields.get("type") or activity_types.get(name)
    if activity_type is None:
        raise UsageError(f"this client does not know {path}; pass the activity type to submit")
    envelope: dict[str, Any] = {
        "type": activity_type,
        "timestampMs": str(_clock.next_ms()),
        "organizationId": organization_id,
        "parameters": {},
    }
    return _encode({**envelope, **fields})


def without_none(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


def to_wire_names(value: Any) -> Any:
    """The value, with the names of its members in camelCase at every depth: walletName for wallet_name."""
    if isinstance(value, Mapping):
        return {_wire_name(name): to_wire_names(member) for name, member in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return [to_wire_names(item) for item in value]
    return value


def _wire_name(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.title() for word in rest)


def _encode(body: Mapping[str, Any]) -> bytes:
    return msgspec.json.encode(body, enc_hook=_as_list)


def stamp_request(address: ServerAddress, path: str, body: bytes, stamper: Stamper) -> Prepared:
    """The request with its stamp. Raises the errors of the stamper."""
    stamp_name, stamp = stamper.stamp(body)
    return Prepared(
        path=path,
        url=f"{address.base_url.rstrip('/')}/public/v1/{path}",
        headers={
            "Content-Type": "application/json",
            "Accept": "application/json",
            "User-Agent": CLIENT_NAME,
            "X-Client-Version": CLIENT_NAME,
            stamp_name: stamp,
        },
        body=body,
    )


def _as_list(value: Any) -> Any:
    """Encode sequences other than lists and tuples as lists."""
    if isinstance(value, Sequence):
        return list(value)
    raise TypeError(f"a {type(value).__name__} cannot be sent")
