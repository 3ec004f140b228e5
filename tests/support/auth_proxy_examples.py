"""One valid request for every activity type of authentication proxies and OAuth 2.0 credentials."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support import bundles
from tests.support.callers import unique
from tests.support.organization_fixtures import RecordIds

TARGET_PUBLIC_KEY = bundles.point(bundles.fresh()).hex()


def oauth2_credential(encrypted_client_secret: str) -> dict[str, Any]:
    return {
        "provider": "OAUTH2_PROVIDER_X",
        "clientId": unique("client"),
        "encryptedClientSecret": encrypted_client_secret,
    }


PROXY_SUBMISSIONS: dict[str, Callable[[RecordIds], dict[str, Any]]] = {
    "ACTIVITY_TYPE_DISABLE_AUTH_PROXY": lambda f: {"configId": f.fresh("auth_proxy")},
    "ACTIVITY_TYPE_ENABLE_AUTH_PROXY": lambda f: {},
    "ACTIVITY_TYPE_UPDATE_AUTH_PROXY_CONFIG": lambda f: {
        "configId": f.fresh("auth_proxy"),
        "allowedOrigins": ["https://app.example", "http://localhost:5173"],
        "allowedAuthMethods": ["email", "passkey", "oauth"],
        "sendFromEmailAddress": "login@app.example",
        "sendFromEmailSenderName": "Ada's application",
        "replyToEmailAddress": "help@app.example",
        "otpTemplateId": "template",
        "emailCustomizationParams": {
            "appName": "Ada's application",
            "logoUrl": "https://app.example/logo.png",
            "magicLinkTemplate": "https://app.example/%s",
            "templateVariables": "{}",
        },
        "smsCustomizationParams": {"template": "Your code is {{.OtpCode}}"},
        "walletKitSettings": {
            "enabledSocialProviders": ["google"],
            "oauthClientIds": {"google": "client-of-the-tests"},
            "oauthRedirectUrl": "https://app.example/",
        },
        "otpExpirationSeconds": 120,
        "verificationTokenExpirationSeconds": 600,
        "sessionExpirationSeconds": 3600,
        "otpAlphanumeric": False,
        "otpLength": 6,
        "verificationTokenRequiredForGetAccountPii": True,
        "socialLinkingClientIds": ["client-of-the-tests"],
    },
    "ACTIVITY_TYPE_CREATE_OAUTH2_CREDENTIAL": lambda f: oauth2_credential(f.fresh("client_secret")),
    "ACTIVITY_TYPE_DELETE_OAUTH2_CREDENTIAL": lambda f: {"oauth2CredentialId": f.fresh("oauth2_credential")},
    "ACTIVITY_TYPE_UPDATE_OAUTH2_CREDENTIAL": lambda f: {
        "oauth2CredentialId": f.fresh("oauth2_credential"),
        **oauth2_credential(f.fresh("client_secret")),
    },
    "ACTIVITY_TYPE_OAUTH2_AUTHENTICATE": lambda f: {
        "oauth2CredentialId": f.fresh("oauth2_credential"),
        "authCode": unique("code"),
        "redirectUri": "https://app.example/",
        "codeVerifier": "verifier",
        "nonce": "ab" * 32,
        "bearerTokenTargetPublicKey": TARGET_PUBLIC_KEY,
    },
}
