"""Talk to a Keystead server from Python: make a `Client`, then call an operation by its name.

    with Client.from_env() as client:
        made = client.create_wallet(wallet_name="treasury", accounts=[])
        if made.needs_approval:
            print("waits for approval:", made.activity.fingerprint)
        else:
            print(made.wallet_id)

The types of arguments and results, other than plain values and the enumerations here, are in
`keystead.client.shapes`. The clients, the shapes and httpx are loaded at their first use, because commands that
start a server only read credentials.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from keystead.api.enums import (
    AccessType,
    ActivityStatus,
    AddressFormat,
    AggregationMethod,
    AggregationOperator,
    ApiKeyCurve,
    AuthenticationType,
    AuthenticatorTransport,
    AuthMethod,
    CredentialType,
    Curve,
    Effect,
    FeatureName,
    HashFunction,
    MnemonicLanguage,
    Oauth2Provider,
    OnEvaluationError,
    OtpType,
    PathFormat,
    PayloadEncoding,
    SmartContractInterfaceType,
    TagType,
    TransactionType,
    TransportEncryptionSuite,
    VoteSelection,
    WalletAuthenticatorType,
)
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
from keystead.client.retries import Retries
from keystead.stamps.schemes import StampScheme
from keystead.stamps.signing import ApiKeyPair, ApiKeyStamper, CallbackStamper, Stamper, generate_api_key

if TYPE_CHECKING:
    from keystead.client import shapes
    from keystead.client.activity import Submitted
    from keystead.client.base import Options
    from keystead.client.client import AsyncClient, Client
    from keystead.client.dev_controls import DevControls
    from keystead.client.requests import Prepared
else:
    _MODULE_OF = {
        "AsyncClient": "client",
        "Client": "client",
        "DevControls": "dev_controls",
        "Options": "base",
        "Prepared": "requests",
        "Submitted": "activity",
    }

    def __getattr__(name: str) -> object:
        from importlib import import_module

        if name == "shapes":
            return import_module("keystead.client.shapes")
        if name not in _MODULE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f"keystead.client.{_MODULE_OF[name]}"), name)
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})


__all__ = [
    "AccessType",
    "ActivityFailed",
    "ActivityNotCompleted",
    "ActivityStatus",
    "AddressFormat",
    "AggregationMethod",
    "AggregationOperator",
    "AlreadyExists",
    "ApiError",
    "ApiKeyCurve",
    "ApiKeyPair",
    "ApiKeyStamper",
    "AsyncClient",
    "AuthMethod",
    "AuthenticationType",
    "AuthenticatorTransport",
    "CallbackStamper",
    "Client",
    "Conflict",
    "ConnectionFailed",
    "CredentialType",
    "Curve",
    "DevControls",
    "Effect",
    "FeatureName",
    "HashFunction",
    "InvalidRequest",
    "KeysteadError",
    "LimitReached",
    "MnemonicLanguage",
    "NotFound",
    "NotImplementedByServer",
    "Oauth2Provider",
    "OnEvaluationError",
    "Options",
    "OtpType",
    "PathFormat",
    "PayloadEncoding",
    "PermissionDenied",
    "Prepared",
    "ProtocolError",
    "RequestTimedOut",
    "Retries",
    "ServerError",
    "SmartContractInterfaceType",
    "StampScheme",
    "Stamper",
    "Submitted",
    "TagType",
    "TransactionType",
    "TransportEncryptionSuite",
    "Unauthenticated",
    "Unavailable",
    "UsageError",
    "VoteSelection",
    "WalletAuthenticatorType",
    "generate_api_key",
    "shapes",
]
