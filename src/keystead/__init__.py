"""Keystead: self-hosted key and wallet management, and a client for it.

`from keystead import Client, AsyncClient` is all that most callers need; errors and enumerations are here too,
`keystead.client` has the rest. Names are loaded when they are first used: the server is part of this package too,
and starts without an HTTP client.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from keystead.client import (
        AccessType,
        ActivityFailed,
        ActivityNotCompleted,
        ActivityStatus,
        AddressFormat,
        AggregationMethod,
        AggregationOperator,
        AlreadyExists,
        ApiError,
        ApiKeyCurve,
        ApiKeyPair,
        ApiKeyStamper,
        AsyncClient,
        AuthenticationType,
        AuthenticatorTransport,
        AuthMethod,
        CallbackStamper,
        Client,
        Conflict,
        ConnectionFailed,
        CredentialType,
        Curve,
        DevControls,
        Effect,
        FeatureName,
        HashFunction,
        InvalidRequest,
        KeysteadError,
        LimitReached,
        MnemonicLanguage,
        NotFound,
        NotImplementedByServer,
        Oauth2Provider,
        OnEvaluationError,
        OtpType,
        PathFormat,
        PayloadEncoding,
        PermissionDenied,
        ProtocolError,
        RequestTimedOut,
        Retries,
        ServerError,
        SmartContractInterfaceType,
        Stamper,
        StampScheme,
        Submitted,
        TagType,
        TransactionType,
        TransportEncryptionSuite,
        Unauthenticated,
        Unavailable,
        UsageError,
        VoteSelection,
        WalletAuthenticatorType,
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
    "OtpType",
    "PathFormat",
    "PayloadEncoding",
    "PermissionDenied",
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
]
