"""Tokens and client signatures that independent software made, each with the verdict it must get."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from keystead.api.enums import OtpType
from keystead.sessions import compact_jwt
from keystead.sessions.client_signatures import (
    InvalidClientSignature,
    check_login_signature,
    check_signup_signature,
)
from keystead.sessions.compact_jwt import is_signed_by
from keystead.sessions.session_tokens import (
    SessionClaims,
    SessionProfileClaims,
    session_message,
    session_signing_input,
)
from keystead.sessions.verification_tokens import (
    InvalidVerificationToken,
    VerificationToken,
    read_verification_token,
    verification_signing_input,
)

FILE: dict[str, Any] = json.loads((Path(__file__).parents[1] / "vectors" / "tokens.json").read_bytes())
ISSUER = bytes.fromhex(FILE["keys"]["tlsFetcherSign"]["publicKeyUncompressed"])
NOW_MS = 1_766_000_000_000


def of_kind(kind: str) -> list[dict[str, Any]]:
    return [vector for vector in FILE["vectors"] if vector["kind"] == kind]


def named(vectors: list[dict[str, Any]]) -> list[str]:
    return [vector["id"] for vector in vectors]


@pytest.mark.parametrize("vector", of_kind("session-jwt"), ids=named(of_kind("session-jwt")))
def test_session_token(vector: dict[str, Any]) -> None:
    token = compact_jwt.read_compact(vector["jwt"], characters_max=4096)
    claims = json.loads(token.payload)
    profile = None
    if "session_profile_id" in claims:
        profile = SessionProfileClaims(
            session_profile_id=claims["session_profile_id"], name=claims["session_type"], scope=claims["scope"]
        )
    written = session_signing_input(
        SessionClaims(
            expires_at_s=claims["exp"],
            public_key=claims["public_key"],
            user_id=claims["user_id"],
            organization_id=claims["organization_id"],
            profile=profile,
        )
    )
    assert written == token.signing_input
    signed = is_signed_by(bytes.fromhex(vector["publicKey"]), token.signature, session_message(written))
    assert signed == (vector["expected"] == "valid")


@pytest.mark.parametrize("vector", of_kind("verification-token"), ids=named(of_kind("verification-token")))
def test_verification_token(vector: dict[str, Any]) -> None:
    key = bytes.fromhex(vector["publicKey"])
    if vector["id"] == "verification-token-no-public-key":
        # The published verifier wants the key. Here a token without one is of the older VERIFY_OTP, and confirms no
        # client signature.
        assert read_verification_token(vector["jwt"], key, NOW_MS).public_key is None
    elif vector["expected"] == "valid":
        token = read_verification_token(vector["jwt"], key, NOW_MS)
        assert verification_signing_input(token).decode() == vector["jwt"].rpartition(".")[0]
    else:
        with pytest.raises(InvalidVerificationToken):
            read_verification_token(vector["jwt"], key, NOW_MS)


@pytest.mark.parametrize("vector", of_kind("client-signature"), ids=named(of_kind("client-signature")))
def test_client_signature(vector: dict[str, Any]) -> None:
    token = read_verification_token(vector["verificationToken"], ISSUER, NOW_MS)
    given = vector["clientSignature"]
    signed: dict[str, Any] = {name: given[name] for name in ("message", "signature")}
    message = json.loads(given["message"])

    def check() -> None:
        if message["type"] == "USAGE_TYPE_LOGIN":
            check_login_signature(
                public_key=given["publicKey"],
                token=token,
                session_public_key=message["login"]["publicKey"],
                **signed,
            )
        else:
            check_signup_signature(
                public_key=given["publicKey"], token=token, requested=message["signupV2"], **signed
            )

    if vector["expected"] == "valid":
        check()
    else:
        with pytest.raises(InvalidClientSignature):
            check()


@pytest.mark.parametrize("vector", of_kind("app-proof"), ids=named(of_kind("app-proof")))
def test_app_proof(vector: dict[str, Any]) -> None:
    proof = vector["appProof"]
    signing_half = bytes.fromhex(proof["publicKey"])[65:]
    signed = is_signed_by(signing_half, bytes.fromhex(proof["signature"]), proof["proofPayload"].encode())
    assert signed == (vector["expected"] == "valid")


TOKEN = VerificationToken(
    id="eb39b199-3352-4289-b31f-57194c79609c",
    organization_id="7c7c2b9e-5bb4-4a3e-8f0e-0d0b4a6f9b11",
    otp_type=OtpType.EMAIL,
    contact="user@example.com",
    expires_at_ms=4_102_444_800_000,
    public_key=FILE["keys"]["signer"]["publicKey"],
)


def test_the_digest_is_of_the_digest() -> None:
    assert session_message(b"header.payload") == sha256(b"header.payload").digest()
