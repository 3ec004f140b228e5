"""Requests for one-time codes to a development server, and their use. Not here: the parameters."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import httpx

from keystead.client.dev_outbox import DevelopmentOutbox
from keystead.sessions.verification_tokens import VerificationToken, read_verification_token
from tests.support import bundles
from tests.support.callers import SDK_FORM, Caller, answered
from tests.support.example_codes import claims, client_signature, code_params, encrypted_attempt
from tests.support.servers import Server

KEY = bundles.fresh()
PUBLIC_KEY = bundles.compressed(KEY).hex()
"""The key that verification tokens name."""


def signup_signature(token: str, **signup: Any) -> dict[str, str]:
    message = {"signupV2": signup, "tokenId": claims(token)["id"], "type": "USAGE_TYPE_SIGNUP"}
    return client_signature(message, KEY)


def outbox_of(server: Server) -> DevelopmentOutbox:
    return DevelopmentOutbox(server.base_url.replace("127.0.0.1", "localhost"))


class Codes(NamedTuple):
    """A server that keeps its messages, and what asks it for codes."""

    server: Server
    caller: Caller
    outbox: DevelopmentOutbox

    def started(self, contact: str, **others: Any) -> dict[str, Any]:
        result: dict[str, Any] = self.caller.result("init_otp", code_params(contact, **others))
        return result

    def proven(self, contact: str, **others: Any) -> str:
        """A verification token for a contact."""
        before = len(self.outbox.messages(contact))
        begun = self.started(contact, **others)
        response = self.verify(begun, self.outbox.code(contact, count=before + 1))
        token: str = answered(response)["activity"]["result"]["verifyOtpResult"]["verificationToken"]
        return token

    def verify(
        self, begun: dict[str, Any], code: str, public_key: str = PUBLIC_KEY, **others: Any
    ) -> httpx.Response:
        attempt = encrypted_attempt(begun["otpEncryptionTargetBundle"], code, public_key)
        asked = {"otpId": begun["otpId"], "encryptedOtpBundle": attempt, **others}
        return self.caller.submit("verify_otp", asked, SDK_FORM)

    def token(self, begun: dict[str, Any], code: str, **others: Any) -> VerificationToken:
        result = answered(self.verify(begun, code, **others))["activity"]["result"]["verifyOtpResult"]
        keys = self.server.http.get("/installation-keys").json()["keys"]
        (issuer,) = [bytes.fromhex(key["publicKey"]) for key in keys if key["name"] == "verification_key"]
        return read_verification_token(result["verificationToken"], issuer, int(time.time() * 1000))
