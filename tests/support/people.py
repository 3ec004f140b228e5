"""People who log in: root users of sub-organizations, with an e-mail address and an identity, and their requests.

Here: the parameters of logins. Not here: one-time codes (`codes`), what sessions say (`sessions`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import httpx

from keystead.sessions.session_tokens import nonce_of
from keystead.stamps.signing import ApiKeyPair, generate_api_key
from tests.support import bundles
from tests.support.authorization_scenario import new_sub_organization
from tests.support.callers import SDK_FORM, Caller, api_key_params, unique
from tests.support.codes import KEY, Codes
from tests.support.example_codes import an_address, login_signature
from tests.support.issuers import ISSUER
from tests.support.sessions import attested


@dataclass(frozen=True)
class Person:
    """`caller`: by a lasting API key."""

    codes: Codes
    caller: Caller
    email: str
    subject: str

    def verification_token(self, **others: Any) -> str:
        """For the e-mail address, asked for by the parent. It names KEY."""
        return self.codes.proven(self.email, **others)

    def id_token(self, public_key: str, **claims: Any) -> str:
        return id_token(self.codes, self.subject, public_key, **claims)


def new_person(codes: Codes, **members: Any) -> Person:
    """`members` replace those of create_sub_organization's parameters."""
    email, subject, key = an_address(), unique("subject"), generate_api_key()
    user = {
        "userName": "Ada",
        "userEmail": email,
        "apiKeys": [api_key_params(key.public_key)],
        "authenticators": [],
        "oauthProviders": [{"providerName": "issuer", "oidcToken": id_token(codes, subject, "")}],
    }
    caller = new_sub_organization(codes.caller, rootUsers=[user], **members)
    return Person(codes, caller.with_key(key, caller.user_id, caller.organization_id), email, subject)


def id_token(codes: Codes, subject: str, public_key: str, **claims: Any) -> str:
    """A token for a login with this key, made at the server's time."""
    return ISSUER.token(codes.caller.clock() // 1000, **{"sub": subject, "nonce": nonce_of(public_key), **claims})


def otp_login_params(token: str, public_key: str, **others: Any) -> dict[str, Any]:
    signature = login_signature(token, public_key, KEY)
    return {"verificationToken": token, "publicKey": public_key, "clientSignature": signature, **others}


def attested_login(codes: Codes, key: ApiKeyPair, scheme: str, token: str, **envelope: Any) -> httpx.Response:
    """A login by an attested stamp that names the parent. `scheme`: VERIFICATION_TOKEN or OIDC."""
    body = codes.caller.submit_body("stamp_login", {"publicKey": key.public_key}, **envelope)
    headers = attested(key, scheme, token, body) | SDK_FORM
    return codes.server.http.post("/public/v1/submit/stamp_login", content=body, headers=headers)


def holder_of(caller: Caller, bundle: str, target: Any) -> Caller:
    """The caller with the key of a credential bundle, which was encrypted to the private key `target`."""
    made = bundles.credential(bundle, target)
    pair = ApiKeyPair(bundles.compressed(made).hex(), bundles.scalar(made).hex())
    return caller.with_key(pair, caller.user_id)
