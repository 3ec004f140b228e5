"""Keystead: self-hosted key and wallet management, and a client for it.

`from keystead import Client, AsyncClient` is all that most callers need; `keystead.client` has the rest. Names are
loaded when they are first used: the server is part of this package too, and starts without an HTTP client.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from keystead.client import (
        ActivityFailed,
        ActivityNotCompleted,
        AlreadyExists,
        ApiError,
        ApiKeyPair,
        ApiKeyStamper,
        AsyncClient,
        CallbackStamper,
        Client,
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
        Retries,
        ServerError,
        Stamper,
        StampScheme,
        Submitted,
        Unauthenticated,
        Unavailable,
        UsageError,
        generate_api_key,
    )
else:

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from keystead import client

        value = globals()[name] = getattr(client, name)
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})


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
    "PermissionDenied",
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
]
