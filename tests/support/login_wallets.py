"""Wallets outside the server, whose owners log in with them: keys, the published kit's messages, signatures.

Here: what a wallet and a page with the published kit do. Not here: requests (`tests/server`).
"""

from __future__ import annotations

import datetime
import secrets
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from keystead.chains.addresses.text import base58, eip55
from keystead.primitives import secp256k1
from keystead.primitives.keccak import keccak256
from keystead.stamps.schemes import eip191_digest

DOMAIN = "app.example.com"


def utc(ms: int) -> str:
    return f"{datetime.datetime.fromtimestamp(ms // 1000, datetime.UTC):%Y-%m-%dT%H:%M:%SZ}"


@dataclass(frozen=True)
class EthereumWallet:
    private_key: bytes

    chain, protocol, chain_id = "Ethereum", "siwe", "1"
    type = "WALLET_AUTHENTICATOR_TYPE_ETHEREUM"

    @property
    def public_key(self) -> str:
        return secp256k1.to_uncompressed(secp256k1.public_key(self.private_key)).hex()

    @property
    def written_address(self) -> str:
        return "0x" + eip55(keccak256(bytes.fromhex(self.public_key)[1:])[-20:].hex())

    @property
    def address(self) -> str:
        """As in the records."""
        return self.written_address.lower()

    def sign(self, message: str) -> str:
        signature, recovery_id = secp256k1.sign_recoverable(self.private_key, eip191_digest(message.encode()))
        return signature.hex() + bytes([27 + recovery_id]).hex()


@dataclass(frozen=True)
class SolanaWallet:
    private_key: bytes

    chain, protocol, chain_id = "Solana", "siws", "solana"
    type = "WALLET_AUTHENTICATOR_TYPE_SOLANA"

    @property
    def _key(self) -> Ed25519PrivateKey:
        return Ed25519PrivateKey.from_private_bytes(self.private_key)

    @property
    def public_key(self) -> str:
        return self._key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw).hex()

    @property
    def written_address(self) -> str:
        return base58(bytes.fromhex(self.public_key))

    @property
    def address(self) -> str:
        return self.written_address

    def sign(self, message: str) -> str:
        return self._key.sign(message.encode()).hex()


LoginWallet = EthereumWallet | SolanaWallet
WALLETS: dict[str, type[LoginWallet]] = {"Ethereum": EthereumWallet, "Solana": SolanaWallet}


def new_wallet(chain: str = "Ethereum") -> LoginWallet:
    return WALLETS[chain](secrets.token_bytes(32))


def login_message(wallet: LoginWallet, session_key: str, now_ms: int, *, domain: str = DOMAIN) -> str:
    """As the published kit writes it. `session_key`: compressed P-256 in hex."""
    return "\n".join(
        [
            f"{domain} wants you to sign in with your {wallet.chain} account:",
            wallet.written_address,
            "",
            "Authorize this key for wallet authentication.",
            "",
            f"URI: https://{domain}/login",
            "Version: 1",
            f"Chain ID: {wallet.chain_id}",
            f"Nonce: {session_key}",
            f"Issued At: {utc(now_ms)}",
            f"Expiration Time: {utc(now_ms + 3_600_000)}",
            "Resources:",
            f"- urn:turnkey:wallet-protocol:{wallet.protocol}",
            f"- urn:turnkey:session-key:{session_key}",
        ]
    )


def wallet_params(wallet: LoginWallet, **members: str) -> dict[str, str]:
    """The wallet as requests name it."""
    return {"type": wallet.type, "address": wallet.written_address, "domain": DOMAIN} | members


def signed_login(wallet: LoginWallet, session_key: str, now_ms: int, *, domain: str = DOMAIN) -> dict[str, str]:
    """The parameters of verify_wallet_authenticator."""
    message = login_message(wallet, session_key, now_ms, domain=domain)
    return {"message": message, "signature": wallet.sign(message), "publicKey": wallet.public_key}
