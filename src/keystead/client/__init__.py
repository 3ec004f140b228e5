"""Talk to a Keystead server from Python: make a `Client`, then call an operation by its name.

    with Client.from_env() as client:
        made = client.create_wallet(wallet_name="treasury", accounts=[])
        if made.needs_approval:
            print("waits for approval:", made.activity.fingerprint)
        else:
            print(made.wallet_id)

What operations take and give, other than plain values, is in `keystead.client.shapes`.
"""

from keystead.client import shapes
from keystead.client.activity import Submitted
from keystead.client.base import Options
from keystead.client.client import AsyncClient, Client
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
