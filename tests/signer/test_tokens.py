"""The signer's tokens and credential bundles: what it signs verifies under the keys that it publishes."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from keystead.api.enums import OtpType, WalletAuthenticatorType
from keystead.api.errors import Internal
from keystead.keys.client_secrets import ClientSecretKey
from keystead.keys.sealing import MasterKey
from keystead.sessions.compact_jwt import is_signed_by, read_compact
from keystead.sessions.session_tokens import SessionClaims, session_message
from keystead.sessions.verification_tokens import (
    InvalidVerificationToken,
    VerificationToken,
    read_verification_token,
)
from keystead.sessions.wallet_tokens import WalletClaim, WalletToken, read_wallet_token
from keystead.signer.installation_keys import (
    BUNDLE_KEY,
    INSTALLATION_KEYS,
    PROOF_KEY,
    SESSION_KEY,
    VERIFICATION_KEY,
    WEBHOOK_KEY,
)
from keystead.signer.local import LocalSigner, open_signer
from keystead.stamps.base64url import encode_base64url
from tests.support import bundles

VECTORS: dict[str, Any] = json.loads((Path(__file__).parents[1] / "vectors" / "hpke.json").read_bytes())
CLIENT_SECRETS = [one for one in VECTORS["cases"] if one["id"] == "oauth2-client-secret"]
MASTER = MasterKey.generate()
SIGNER = open_signer(MASTER, LocalSigner(MASTER).new_installation_keys())
PUBLISHED = {key.name: key for key in asyncio.run(SIGNER.installation_keys())}

CLAIMS = SessionClaims(
    expires_at_s=1_900_000_000, public_key="02" + "ab" * 32, user_id="user", organization_id="organization"
)
TOKEN = VerificationToken(
    id="token",
    organization_id="organization",
    otp_type=OtpType.EMAIL,
    contact="a@example.com",
    expires_at_ms=1_900_000_000_000,
    public_key="02" + "ab" * 32,
)

WALLET = WalletToken(
    id="token",
    organization_id="organization",
    wallet=WalletClaim(WalletAuthenticatorType.ETHEREUM, "0x" + "ab" * 20, "app.example.com"),
    public_key="04" + "cd" * 64,
    session_public_key="02" + "ab" * 32,
    expires_at_ms=1_900_000_000_000,
)


def point(name: str) -> bytes:
    return bytes.fromhex(PUBLISHED[name].public_key)


def test_every_key_is_published_with_its_use() -> None:
    assert list(PUBLISHED) == [key.name for key in INSTALLATION_KEYS]
    assert len({key.public_key for key in PUBLISHED.values()}) == len(PUBLISHED)
    for key in PUBLISHED.values():
        size, first = (64, "") if key.name == WEBHOOK_KEY.name else (130, "04")  # Ed25519, or an uncompressed point
        assert (len(key.public_key), key.public_key[: len(first)], bool(key.use)) == (size, first, True)
        assert (key.composite_public_key is not None) == (key.name in (PROOF_KEY.name, BUNDLE_KEY.name))
    told = asyncio.run(SIGNER.bundle_signer())
    bundle_key = PUBLISHED[BUNDLE_KEY.name]
    assert (bundle_key.public_key, bundle_key.composite_public_key) == (
        told.signing_public_key,
        told.composite_public_key,
    )


def test_a_session_token_verifies_under_the_session_key_alone() -> None:
    token = read_compact(asyncio.run(SIGNER.sign_session_token(CLAIMS)), characters_max=2000)
    message = session_message(token.signing_input)
    assert is_signed_by(point(SESSION_KEY.name), token.signature, message)
    assert not is_signed_by(point(SESSION_KEY.name), token.signature, token.signing_input)
    assert not is_signed_by(point(VERIFICATION_KEY.name), token.signature, message)


def test_a_verification_token_reads_back() -> None:
    text = asyncio.run(SIGNER.sign_verification_token(TOKEN))
    assert read_verification_token(text, point(VERIFICATION_KEY.name), now_ms=0) == TOKEN


def test_a_wallet_token_reads_back_and_is_no_other_token() -> None:
    text, other = asyncio.run(SIGNER.sign_wallet_token(WALLET)), asyncio.run(SIGNER.sign_verification_token(TOKEN))
    key = point(VERIFICATION_KEY.name)
    assert read_wallet_token(text, key, now_ms=0) == WALLET
    claims = json.loads(read_compact(text, characters_max=4096).payload)
    assert (claims["type"], claims["wallet"]["address"]) == ("WALLET", WALLET.wallet.address)
    assert claims["sessionPublicKey"] == claims["ephemeralPublicKey"] == WALLET.session_public_key
    for read, wrong in ((read_wallet_token, other), (read_verification_token, text)):
        with pytest.raises(InvalidVerificationToken, match="a claim is missing or malformed"):
            read(wrong, key, now_ms=0)
    for now_ms, issuer, why in (
        (WALLET.expires_at_ms, key, "expired"),
        (0, point(SESSION_KEY.name), "not this server's"),
    ):
        with pytest.raises(InvalidVerificationToken, match=why):
            read_wallet_token(text, issuer, now_ms)
    header, _, signature = text.split(".")
    for name, value in {**claims, "wallet": {**claims["wallet"], "domain": "evil.example"}}.items():
        changed = {**claims, name: value if name == "wallet" else f"{value}0"}
        altered = encode_base64url(json.dumps(changed).encode())
        with pytest.raises(InvalidVerificationToken, match="not this server's"):
            read_wallet_token(f"{header}.{altered}.{signature}", key, now_ms=0)


def test_a_credential_bundle_holds_the_private_half() -> None:
    client = bundles.fresh()
    made = asyncio.run(SIGNER.new_credential_bundle(bundles.point(client)))
    assert bundles.compressed(bundles.credential(made.bundle, client)).hex() == made.public_key
    again = asyncio.run(SIGNER.new_credential_bundle(bundles.point(client)))
    assert again.public_key != made.public_key


@pytest.mark.parametrize("key", [SESSION_KEY, VERIFICATION_KEY])
def test_without_the_key(key: object) -> None:
    bare = LocalSigner(MASTER)
    with pytest.raises(Internal, match="this server has no key that signs"):
        if key is SESSION_KEY:
            asyncio.run(bare.sign_session_token(CLAIMS))
        else:
            asyncio.run(bare.sign_verification_token(TOKEN))


@pytest.mark.parametrize("vector", CLIENT_SECRETS, ids=lambda vector: str(vector["id"]))
def test_a_client_secret_of_a_published_client_opens(vector: dict[str, Any]) -> None:
    """The vector of the published encryption, with the private key that it names."""
    key = ClientSecretKey(bytes.fromhex(vector["receiverPrivateKey"]))
    assert key.open(bytes.fromhex(vector["value"])).decode() == vector["plaintext"]
