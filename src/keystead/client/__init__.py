"""Talk to a Keystead server from Python: make a `Client`, then call an operation by its name.

    with Client.from_env() as client:
        made = client.create_wallet(wallet_name="treasury", accounts=[])
        if made.needs_approval:
            print("waits for approval:", made.activity.fingerprint)
        else:
            print(made.wallet_id)

What operations take and give, other than plain values, is in `keystead.client.shapes`. The clients themselves, and
httpx with them, are loaded when they are first used: commands that start a server read credentials only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from keystead.client import shapes
from keystead.client.activity import Submitted
from keystead.client.base import Options
from keystead.client.errors import (
    ActivityFailed,
    ActivityNotCompleted,
    AlreadyExists,
    ApiError,
    Conflict,
    ConnectionFailed,
    InvalidRequest,
    KeysteadError,
    LimitReached,
    NotFound,
    NotImplementedByServer,
    PermissionDenied,
    ProtocolError,
    RequestTimedOut,
    ServerError,
    Unauthenticated,
    Unavailable,
    UsageError,
)
from keystead.client.requests import Prepared
from keystead.client.retries import Retries
from keystead.stamps.schemes import StampScheme
from keystead.stamps.signing import ApiKeyPair, ApiKeyStamper, CallbackStamper, Stamper, generate_api_key

if TYPE_CHECKING:
    from keystead.client.client import AsyncClient, Client
else:

    def __getattr__(name: str) -> object:
        if name not in ("AsyncClient", "Client"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from keystead.client import client

        return getattr(client, name)


__all__ = [
    "ActivityFailed",
    "ActivityNotCompleted",
    "AlreadyExists",
    "ApiError",
    "ApiKeyPair",
    "ApiKeyStamper",
    "AsyncClient",
    "CallbackStamper",
    "Client",
    "Conflict",
    "ConnectionFailed",
    "InvalidRequest",
    "KeysteadError",
    "LimitReached",
    "NotFound",
    "NotImplementedByServer",
    "Options",
    "PermissionDenied",
    "Prepared",
    "ProtocolError",
    "RequestTimedOut",
    "Retries",
    "ServerError",
    "StampScheme",
    "Stamper",
    "Submitted",
    "Unauthenticated",
    "Unavailable",
    "UsageError",
    "generate_api_key",
    "shapes",
]
