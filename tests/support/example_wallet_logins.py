"""One valid request for every activity type of wallets with which users log in."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from keystead.stamps.signing import generate_api_key
from tests.support.callers import now_ms
from tests.support.login_wallets import new_wallet, signed_login, wallet_params
from tests.support.organization_fixtures import RecordIds


def _proven_wallet(record_ids: RecordIds) -> dict[str, Any]:
    given = record_ids.fresh("proven_wallet")
    unknown = wallet_params(new_wallet(), verificationToken=given)
    asked: dict[str, Any] = json.loads(given) if given.startswith("{") else unknown
    return asked


WALLET_LOGINS: dict[str, Callable[[RecordIds], dict[str, Any]]] = {
    "ACTIVITY_TYPE_CREATE_WALLET_AUTHENTICATORS": lambda f: {
        "userId": f.fresh("user"),
        "walletAuthenticators": [_proven_wallet(f)],
    },
    "ACTIVITY_TYPE_DELETE_WALLET_AUTHENTICATORS": lambda f: {
        "userId": f.user_id,
        "walletAuthenticatorIds": [f.fresh("wallet_authenticator")],
    },
    "ACTIVITY_TYPE_VERIFY_WALLET_AUTHENTICATOR": lambda f: (
        signed_login(new_wallet(), generate_api_key().public_key, now_ms()) | {"expirationSeconds": "60"}
    ),
}
