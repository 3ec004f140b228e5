"""The message with which a wallet logs in: EIP-4361 and its form for Solana, as the published kit writes it.

Here: the signature over the message's exact bytes, then each of its lines. Pure. Not here: the token that follows
(`sessions.wallet_tokens`), single use of a message (`operations.logins.wallet_logins`).
"""

from __future__ import annotations

import datetime
import re
from binascii import unhexlify
from typing import Final, assert_never

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from keystead.api.enums import WalletAuthenticatorType
from keystead.api.errors import InvalidRequest
from keystead.chains.addresses.text import eip55
from keystead.chains.bounds import LOGIN_MESSAGE_BYTES_MAX
from keystead.chains.bundle_texts import compress_point, read_target
from keystead.chains.wallet_claims import InvalidWalletClaim, normal_domain, solana_key, wallet_claim
from keystead.primitives import secp256k1
from keystead.primitives.keccak import keccak256
from keystead.sessions.wallet_tokens import WalletClaim
from keystead.stamps.schemes import eip191_digest

FUTURE_MS: Final = 60_000
"""How far `Issued At` may be after the server's time: the published kit refuses more, too."""

LIFE_MS: Final = 24 * 3_600_000
"""Most time from `Issued At` to `Expiration Time`: so long the use of a message is on record."""

STATEMENT: Final = "Authorize this key for wallet authentication."
_FIRST_LINE: Final = re.compile(r"(\S+) wants you to sign in with your (Ethereum|Solana) account:")
_TYPES: Final = {"Ethereum": WalletAuthenticatorType.ETHEREUM, "Solana": WalletAuthenticatorType.SOLANA}
_PROTOCOLS: Final = {WalletAuthenticatorType.ETHEREUM: "siwe", WalletAuthenticatorType.SOLANA: "siws"}
_URI: Final = re.compile(r"https?://([^/?#@]+)([/?#]\S*)?")
_CHAIN_IDS: Final = {
    WalletAuthenticatorType.ETHEREUM: re.compile(r"[1-9][0-9]{0,77}"),
    WalletAuthenticatorType.SOLANA: re.compile(r"[A-Za-z0-9:_-]{1,64}"),
}
_SESSION_KEY: Final = re.compile(r"0[23][0-9a-f]{64}")
_TIME: Final = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z")
_RECOVERY_IDS: Final = {0: 0, 1: 1, 27: 0, 28: 1}
"""By the last byte of a signature."""

_CONTRACTS: Final = (
    "a contract wallet (EIP-1271, EIP-6492) cannot log in here, because only its chain can verify what it signs"
)


class InvalidLogin(Exception):
    """A message or its signature is not valid. The message says where and why."""


class WalletLogin(msgspec.Struct, frozen=True, kw_only=True):
    """What a signed message proves. See `WalletToken` for the keys. `expires_at_ms`: of the message."""

    wallet: WalletClaim
    public_key: str
    session_public_key: str
    expires_at_ms: int


def verified_login(message: str, signature: str, public_key: str | None, now_ms: int) -> WalletLogin:
    """What the message says, after its signature and every line were checked.

    `signature`: hex, 65 bytes of personal_sign (r, s, v), or 64 of Ed25519; with or without 0x. `public_key`: the
    wallet's key if the request names it, in hex, or in base 58 for Solana. `now_ms`: milliseconds since the epoch.
    Of the message, only the two lines that name the wallet are read before the signature is verified. Raises
    InvalidLogin.
    """
    lines, octets = _Lines(message), message.encode()
    first = _FIRST_LINE.fullmatch(lines.next())
    if first is None:
        raise lines.refused("expected `DOMAIN wants you to sign in with your Ethereum account:`, or Solana")
    type_, address = _TYPES[first[2]], lines.next()
    key = _signing_key(type_, address, octets, signature)
    if public_key is not None and not _is_same_key(type_, key, public_key):
        raise InvalidLogin("the wallet's key in `publicKey` is not the key that signed it")
    return _read(lines, type_, first[1], address, key, now_ms)


class _Lines:
    """The lines of a message, one after the other."""

    def __init__(self, message: str) -> None:
        if not message.replace("\n", " ").isprintable() or not message.isascii():
            raise InvalidLogin("it has other characters than printable ASCII and line feeds")
        if len(message) > LOGIN_MESSAGE_BYTES_MAX:
            raise InvalidLogin(f"it has more than {LOGIN_MESSAGE_BYTES_MAX} bytes")
        self._lines = message.split("\n")
        self._at = 0

    def next(self) -> str:
        self._at += 1
        if self._at > len(self._lines):
            raise InvalidLogin(f"it has {len(self._lines)} lines, and another one must follow")
        return self._lines[self._at - 1]

    def exactly(self, text: str) -> None:
        if self.next() != text:
            raise self.refused(f"expected {text!r}")

    def field(self, name: str) -> str:
        line = self.next()
        if not line.startswith(f"{name}: "):
            raise self.refused(f"expected `{name}: …`")
        return line.removeprefix(f"{name}: ")

    def has_field(self, name: str) -> bool:
        return self._at < len(self._lines) and self._lines[self._at].startswith(f"{name}: ")

    def end(self) -> None:
        if self._at != len(self._lines):
            raise InvalidLogin(f"after line {self._at} it must end, and it has {len(self._lines)} lines")

    def refused(self, why: str) -> InvalidLogin:
        """The refusal of the line that was read last."""
        return InvalidLogin(f"line {self._at}: {why}")


def _read(
    lines: _Lines, type_: WalletAuthenticatorType, domain: str, address: str, key: bytes, now_ms: int
) -> WalletLogin:
    """The rest of the message, whose signature is verified."""
    try:
        wallet = wallet_claim(type_, address, domain)
    except InvalidWalletClaim as refused:
        raise InvalidLogin(str(refused)) from None
    if wallet.domain != domain:
        raise InvalidLogin(f"line 1: the domain is written {wallet.domain}")
    lines.exactly("")
    lines.exactly(STATEMENT)
    lines.exactly("")
    uri = _URI.fullmatch(lines.field("URI"))
    if uri is None or normal_domain(uri[1]) != domain:
        raise lines.refused(f"expected an http or https URI of the domain {domain}")
    lines.exactly("Version: 1")
    if not _CHAIN_IDS[type_].fullmatch(lines.field("Chain ID")):
        raise lines.refused("this is not the id of a chain")
    session_key = _session_key(lines)
    expires_at_ms = _checked_times(lines, now_ms)
    lines.exactly("Resources:")
    lines.exactly(f"- urn:turnkey:wallet-protocol:{_PROTOCOLS[type_]}")
    lines.exactly(f"- urn:turnkey:session-key:{session_key}")
    lines.end()
    return WalletLogin(
        wallet=wallet, public_key=key.hex(), session_public_key=session_key, expires_at_ms=expires_at_ms
    )


def _session_key(lines: _Lines) -> str:
    text = lines.field("Nonce")
    try:
        if _SESSION_KEY.fullmatch(text) and compress_point(read_target(text, "Nonce")).hex() == text:
            return text
    except InvalidRequest:
        pass  # not a point
    raise lines.refused("expected the session's key: a compressed P-256 key in lower-case hex")


def _checked_times(lines: _Lines, now_ms: int) -> int:
    """When the message expires. Raises InvalidLogin if it is not valid now, or valid for too long."""
    issued_at_ms = _time(lines, "Issued At")
    if issued_at_ms > now_ms + FUTURE_MS:
        raise lines.refused(f"this is more than {FUTURE_MS // 1000} seconds after the server's time, {now_ms} ms")
    expires_at_ms = _time(lines, "Expiration Time")
    if expires_at_ms <= now_ms:
        raise lines.refused(f"it has expired: the server's time is {now_ms} ms since 1970")
    if not 0 < expires_at_ms - issued_at_ms <= LIFE_MS:
        raise lines.refused(f"expected at most {LIFE_MS // 3_600_000} hours after `Issued At`")
    if lines.has_field("Not Before") and _time(lines, "Not Before") > now_ms:
        raise lines.refused(f"this is after the server's time, {now_ms} ms since 1970")
    return expires_at_ms


def _time(lines: _Lines, name: str) -> int:
    """Milliseconds since the epoch."""
    read = _TIME.fullmatch(lines.field(name))
    try:
        moment = datetime.datetime.fromisoformat(f"{read[1] if read else ''}+00:00")
    except ValueError:
        raise lines.refused("expected a time in UTC such as 2026-09-22T12:00:00Z") from None
    assert read is not None
    return int(moment.timestamp()) * 1000 + int((read[2] or "0").ljust(3, "0")[:3])


def _signing_key(type_: WalletAuthenticatorType, address: str, message: bytes, signature: str) -> bytes:
    """The public key of the wallet with this address, after the check that it signed these bytes."""
    try:
        octets = unhexlify(signature.removeprefix("0x"))
    except ValueError:
        octets = b""
    match type_:
        case WalletAuthenticatorType.ETHEREUM:
            return _ethereum_key(address, message, octets)
        case WalletAuthenticatorType.SOLANA:
            return _solana_key(address, message, octets)
        case _:
            assert_never(type_)


def _ethereum_key(address: str, message: bytes, signature: bytes) -> bytes:
    if len(signature) != 65 or signature[64] not in _RECOVERY_IDS:
        raise InvalidLogin(f"its signature must be 65 bytes of hex, and the last one 27, 28, 0 or 1; {_CONTRACTS}")
    try:
        key = secp256k1.recover(signature[:64], _RECOVERY_IDS[signature[64]], eip191_digest(message))
    except ValueError as refused:
        raise InvalidLogin(f"its signature is not one of personal_sign: {refused}") from None
    signer = "0x" + eip55(keccak256(key[1:])[-20:].hex())
    if signer == address:
        return key
    if signer.lower() == address.lower():
        raise InvalidLogin(f"line 2: the address is written {signer} (EIP-55)")
    raise InvalidLogin(f"its signature is by {signer}, not by the address in line 2; {_CONTRACTS}")


def _solana_key(address: str, message: bytes, signature: bytes) -> bytes:
    if len(signature) != 64:
        raise InvalidLogin("its signature must be 64 bytes of hex")
    try:
        key = solana_key(address)
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except InvalidWalletClaim as refused:
        raise InvalidLogin(f"line 2: {refused}") from None
    except (InvalidSignature, ValueError):
        raise InvalidLogin("its signature is not by the address in line 2") from None
    return key


def _is_same_key(type_: WalletAuthenticatorType, key: bytes, text: str) -> bool:
    """Whether the text names the wallet's key: hex with or without 0x, or base 58 of an Ed25519 key."""
    try:
        named = unhexlify(text.removeprefix("0x"))
    except ValueError:
        named = b""
    match type_:
        case WalletAuthenticatorType.ETHEREUM:
            return named in (key, secp256k1.to_compressed(key))
        case WalletAuthenticatorType.SOLANA:
            return named == key or _solana_key_or_none(text) == key
        case _:
            assert_never(type_)


def _solana_key_or_none(text: str) -> bytes | None:
    try:
        return solana_key(text)
    except InvalidWalletClaim:
        return None
