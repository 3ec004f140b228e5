"""Building a signed request: its address, its exact bytes, the stamp over them.

Pure but for the clock that dates a submission. Not here: sending (`client`).
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

NAMED = f"keystead-python/{VERSION}"
"""What this client calls itself. A server answers a client that names itself in the form of the SDKs."""

_PATH = re.compile(r"(?:/?public/v1/)?(?P<kind>query|submit)/(?P<name>[a-z0-9_]+)")


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """A request, ready to POST: as often as one likes, as long as `body` stays exactly these bytes.

    `path` is short ("query/list_wallets"), `url` whole. The stamp is among `headers`; it is good for this body
    only, and a submission for an hour only.
    """

    path: str
    url: str
    headers: dict[str, str]
    body: bytes


class Address(msgspec.Struct, frozen=True):
    """Where requests go: the server, and the organization unless a request names another."""

    base_url: str
    organization_id: str

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.base_url)
            _ = parts.port
        except ValueError as refused:
            raise UsageError(f"base_url is not a valid URL: {refused}") from None
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError("base_url must be like http://localhost:8080 or https://keys.example.com")
        if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
            raise UsageError("base_url must have no user, password, query or fragment in it")
        if not self.organization_id:
            raise UsageError("organization_id is missing")

    @property
    def loopback(self) -> str | None:
        """The host, if it is this machine: no proxy can reach it, whatever HTTP_PROXY says."""
        host = urlsplit(self.base_url).hostname or ""
        try:
            is_loopback = ipaddress.ip_address(host).is_loopback
        except ValueError:
            is_loopback = host == "localhost" or host.endswith(".localhost")
        return host if is_loopback else None


class _Clock:
    """Milliseconds since the epoch, never the same twice.

    Equal requests of one millisecond would be equal bytes, which the server takes for one request sent again.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last_ms = 0

    def next_ms(self) -> int:
        with self._lock:
            self._last_ms = max(time.time_ns() // 1_000_000, self._last_ms + 1)
            return self._last_ms


_clock = _Clock()


def short_path(path: str) -> str:
    """ "query/list_wallets", also of "/public/v1/query/list_wallets". Raises UsageError for anything else."""
    match = _PATH.fullmatch(path)
    if match is None:
        raise UsageError(f"a path is like query/list_wallets or submit/create_wallet, got {path!r}")
    return f"{match['kind']}/{match['name']}"


def whole_body(
    path: str, body: Mapping[str, Any], organization_id: str, activity_types: Mapping[str, str]
) -> bytes:
    """The bytes of a request to this short path: `body`, and what of the envelope it leaves out.

    Raises UsageError for a submission without a type, if `activity_types` knows none for its name.
    """
    kind, name = path.split("/")
    given = fields_given(body)
    if kind == "query":
        return _encoded({"organizationId": organization_id, **given})
    activity_type = given.get("type") or activity_types.get(name)
    if activity_type is None:
        raise UsageError(f"this client does not know {path}: give the activity type to submit")
    envelope: dict[str, Any] = {
        "type": activity_type,
        "timestampMs": str(_clock.next_ms()),
        "organizationId": organization_id,
        "parameters": {},
    }
    return _encoded({**envelope, **given})


def fields_given(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Without those left out."""
    return {name: value for name, value in fields.items() if value is not None}


def in_wire_names(value: Any) -> Any:
    """The value with the names of members as the wire spells them, walletName for wallet_name, at every depth."""
    if isinstance(value, Mapping):
        return {_wire_name(name): in_wire_names(member) for name, member in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return [in_wire_names(item) for item in value]
    return value


def _wire_name(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.title() for word in rest)


def _encoded(body: Mapping[str, Any]) -> bytes:
    return msgspec.json.encode(body, enc_hook=_plain)


def stamped(address: Address, path: str, body: bytes, stamper: Stamper) -> Prepared:
    """The request with its stamp. Whatever the stamper raises passes through."""
    stamp_name, stamp = stamper.stamp(body)
    return Prepared(
        path=path,
        url=f"{address.base_url.rstrip('/')}/public/v1/{path}",
        headers={
            "Content-Type": "application/json",
            "Accept": "application/json",
            "User-Agent": NAMED,
            "X-Client-Version": NAMED,
            stamp_name: stamp,
        },
        body=body,
    )


def _plain(value: Any) -> Any:
    """Sequences other than lists and tuples are lists on the wire."""
    if isinstance(value, Sequence):
        return list(value)
    raise TypeError(f"a {type(value).__name__} cannot be sent")
