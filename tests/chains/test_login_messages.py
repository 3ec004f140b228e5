"""Messages with which wallets log in: those of independent software, and every line altered and signed anew."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keystead.api.enums import WalletAuthenticatorType
from keystead.chains.login_messages import InvalidLogin, verified_login
from keystead.chains.wallet_claims import InvalidWalletClaim, wallet_claim
from keystead.primitives import secp256k1
from keystead.stamps.signing import generate_api_key
from tests.support.login_wallets import (
    WALLETS,
    EthereumWallet,
    LoginWallet,
    SolanaWallet,
    login_message,
    new_wallet,
    utc,
)

FILE: dict[str, Any] = json.loads((Path(__file__).parents[1] / "vectors" / "wallet_logins.json").read_bytes())
CASES: list[dict[str, Any]] = FILE["cases"]
NOW_MS: int = FILE["nowMs"]
KEY: str = FILE["sessionPublicKey"]
ETHEREUM, SOLANA = WalletAuthenticatorType


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_messages_of_independent_software(case: dict[str, Any]) -> None:
    named = [None, case["publicKey"], f"0x{case['publicKey']}"]
    if case["type"] == ETHEREUM:
        named.append(secp256k1.to_compressed(bytes.fromhex(case["publicKey"])).hex())
    else:
        named.append(case["address"])
    for public_key in named:
        login = verified_login(case["message"], case["signature"], public_key, NOW_MS)
        assert login.wallet == (
            wallet_claim(
                WalletAuthenticatorType(case["type"]), case["address"], case.get("domain", "app.example.com")
            )
        )
        assert (login.public_key, login.session_public_key) == (case["publicKey"], KEY)
        assert login.expires_at_ms == NOW_MS + 5 * 3_600_000


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_no_byte_of_message_or_signature_can_change(case: dict[str, Any]) -> None:
    message, signature = case["message"], case["signature"].removeprefix("0x")
    for at in range(len(message)):
        altered = message[:at] + ("x" if message[at] != "x" else "y") + message[at + 1 :]
        with pytest.raises(InvalidLogin):
            verified_login(altered, signature, None, NOW_MS)
    for at in range(0, len(signature), 2):
        altered = f"{signature[:at]}{int(signature[at : at + 2], 16) ^ 1:02x}{signature[at + 2 :]}"
        with pytest.raises(InvalidLogin):
            verified_login(message, altered, None, NOW_MS)


@pytest.fixture(params=WALLETS)
def wallet(request: pytest.FixtureRequest) -> LoginWallet:
    return new_wallet(request.param)


def refused(wallet: LoginWallet, message: str, now_ms: int = NOW_MS) -> str:
    """Why a message that the wallet itself signed is refused."""
    with pytest.raises(InvalidLogin) as caught:
        verified_login(message, wallet.sign(message), None, now_ms)
    return str(caught.value)


def line(number: int, text: str) -> Callable[[str], str]:
    """Replaces a line of the message. They are counted from 1."""
    return lambda message: "\n".join(
        text if at == number else each for at, each in enumerate(message.split("\n"), 1)
    )


def after(number: int, *texts: str) -> Callable[[str], str]:
    def added(message: str) -> str:
        lines = message.split("\n")
        return "\n".join([*lines[:number], *texts, *lines[number:]])

    return added


OTHER_KEY = generate_api_key().public_key
ALTERED: dict[str, tuple[Callable[[str], str], str]] = {
    "a domain with a scheme": (lambda m: f"https://{m}", "domain must be a host"),
    "a domain in capitals": (lambda m: m.replace("app.", "APP."), "line 1: the domain is written app.example.com"),
    "a domain with port 443": (
        lambda m: m.replace("app.example.com", "app.example.com:443"),
        "line 1: the domain is written app.example.com",
    ),
    "a domain with a user": (lambda m: f"evil@{m}", "domain must be a host"),
    "another first line": (lambda m: m.replace("wants you", "asks you"), "line 1: expected `DOMAIN wants you"),
    "another chain": (lambda m: re.sub("Ethereum|Solana", "Bitcoin", m), "line 1: expected `DOMAIN wants you"),
    "no empty line": (line(3, " "), "line 3"),
    "another statement": (line(4, "Send everything."), "line 4"),
    "no statement": (line(4, ""), "line 4"),
    "another host in the URI": (line(6, "URI: https://evil.example/login"), "line 6"),
    "a URI with a user": (line(6, "URI: https://app.example.com@evil.example/"), "line 6"),
    "a URI of another scheme": (line(6, "URI: ftp://app.example.com/"), "line 6"),
    "a URI with another port": (line(6, "URI: https://app.example.com:8443/"), "line 6"),
    "no URI": (line(6, "URI: "), "line 6"),
    "another version": (line(7, "Version: 2"), "line 7"),
    "no chain id": (line(8, "Chain ID: "), "line 8"),
    "a chain id with a space": (line(8, "Chain ID: 1 2"), "line 8"),
    "no nonce": (line(9, "Nonce: "), "line 9"),
    "a nonce that is not a key": (line(9, "Nonce: 32891756"), "line 9"),
    "a nonce in capitals": (lambda m: m.replace(KEY, KEY.upper()), "line 9"),
    "a nonce that is not a point": (lambda m: m.replace(KEY, "02" + "f" * 64), "line 9"),
    "another key than in the resources": (line(9, f"Nonce: {OTHER_KEY}"), "line 14"),
    "issued too late": (line(10, f"Issued At: {utc(NOW_MS + 61_000)}"), "line 10: this is more than 60 seconds"),
    "issued in another time zone": (line(10, "Issued At: 2026-09-22T12:00:00+00:00"), "line 10"),
    "issued on no day": (line(10, "Issued At: 2026-02-30T12:00:00Z"), "line 10"),
    "expired": (line(11, f"Expiration Time: {utc(NOW_MS)}"), "line 11: it has expired"),
    "valid for too long": (
        line(11, f"Expiration Time: {utc(NOW_MS + 86_401_000)}"),
        "line 11: expected at most 24",
    ),
    "never expires": (lambda m: re.sub("\nExpiration.*", "", m), "line 11: expected `Expiration Time: …`"),
    "not valid yet": (after(11, f"Not Before: {utc(NOW_MS + 1_000)}"), "line 12: this is after the server's time"),
    "twice not before": (after(11, *[f"Not Before: {utc(NOW_MS)}"] * 2), "line 13"),
    "a request id": (after(11, "Request ID: 1"), "line 12"),
    "no resources": (lambda m: m.partition("\nResources")[0], "it has 11 lines"),
    "another protocol": (lambda m: re.sub("siw[es]", "siwx", m), "line 13"),
    "another session key": (line(14, f"- urn:turnkey:session-key:{OTHER_KEY}"), "line 14"),
    "no session key": (lambda m: m.rpartition("\n")[0], "it has 13 lines"),
    "one more resource": (after(14, "- https://app.example.com/"), "it must end"),
    "a line feed at the end": (after(14, ""), "it must end"),
    "a carriage return": (lambda m: m.replace("\n", "\r\n"), "other characters"),
    "a letter that is not ASCII": (lambda m: m.replace("app.", "\u0430pp."), "other characters"),
    "too long": (line(6, "URI: https://app.example.com/" + "x" * 8_192), "more than 8192 bytes"),
    "nothing": (lambda m: "", "line 1"),
    "one line": (lambda m: m.partition("\n")[0], "it has 1 lines"),
}


@pytest.mark.parametrize("what", ALTERED)
def test_a_message_with_another_line_is_refused_although_the_wallet_signed_it(
    what: str, wallet: LoginWallet
) -> None:
    alter, why = ALTERED[what]
    assert why in refused(wallet, alter(login_message(wallet, KEY, NOW_MS)))


ALLOWED: dict[str, Callable[[str], str]] = {
    "a port": lambda m: m.replace("app.example.com", "localhost:3000").replace("https", "http"),
    "an address of IPv6": lambda m: m.replace("app.example.com", "[::1]:3000"),
    "a URI with the port of its scheme": line(6, "URI: https://app.example.com:443/login?next=/#top"),
    "a URI without a path": line(6, "URI: https://app.example.com"),
    "not before now": after(11, f"Not Before: {utc(NOW_MS)}"),
    "a clock that is 60 seconds fast": line(10, f"Issued At: {utc(NOW_MS + 60_000)}"),
    "24 hours": line(11, f"Expiration Time: {utc(NOW_MS + 86_400_000)}"),
    "milliseconds": line(10, utc(NOW_MS).replace("Z", ".123Z").join(["Issued At: ", ""])),
}


@pytest.mark.parametrize("what", ALLOWED)
def test_what_may_differ(what: str, wallet: LoginWallet) -> None:
    message = ALLOWED[what](login_message(wallet, KEY, NOW_MS))
    assert verified_login(message, wallet.sign(message), None, NOW_MS).session_public_key == KEY


def test_protocol_and_chain_belong_together() -> None:
    ethereum, solana = (login_message(new_wallet(chain), KEY, NOW_MS) for chain in WALLETS)
    assert "siwe" in ethereum
    wallet = new_wallet("Ethereum")
    message = login_message(wallet, KEY, NOW_MS).replace("siwe", "siws")
    assert "line 13" in refused(wallet, message)
    message = login_message(wallet, KEY, NOW_MS).replace("Ethereum", "Solana")
    assert "64 bytes" in refused(wallet, message)
    assert "siws" in solana


def test_who_signed() -> None:
    wallet, other = new_wallet(), new_wallet()
    message = login_message(wallet, KEY, NOW_MS)
    for signature, why in {
        other.sign(message): f"is by {other.written_address}, not by the address in line 2",
        wallet.sign(message)[:-2]: "65 bytes of hex",
        wallet.sign(message)[:-2] + "1d": "the last one 27, 28, 0 or 1",
        "0x": "65 bytes of hex",
        "no hex": "65 bytes of hex",
        wallet.sign(message) + "6492" * 16: "EIP-1271, EIP-6492",
        "00" * 64 + "1b": "not one of personal_sign",
        "ff" * 64 + "1b": "not one of personal_sign",
    }.items():
        with pytest.raises(InvalidLogin, match=re.escape(why)):
            verified_login(message, signature, None, NOW_MS)
    r, s = wallet.sign(message)[:64], int(wallet.sign(message)[64:128], 16)
    upper = f"{r}{secp256k1.ORDER - s:064x}{'1c' if wallet.sign(message).endswith('1b') else '1b'}"
    with pytest.raises(InvalidLogin, match="upper half"):
        verified_login(message, upper, None, NOW_MS)
    by_ledger = wallet.sign(message)[:-2] + ("00" if wallet.sign(message).endswith("1b") else "01")
    assert verified_login(message, f"0x{by_ledger}", wallet.public_key, NOW_MS).public_key == wallet.public_key


def test_the_key_that_a_request_names_is_the_wallets() -> None:
    for wallet in (new_wallet("Ethereum"), new_wallet("Solana")):
        message = login_message(wallet, KEY, NOW_MS)
        for named in (KEY, new_wallet(wallet.chain).public_key, wallet.public_key[:-2], "", "0x", "no key"):
            with pytest.raises(InvalidLogin, match="`publicKey`"):
                verified_login(message, wallet.sign(message), named, NOW_MS)


def test_an_address_in_another_letter_case() -> None:
    """The message has the checksum; a record is found by any letter case that has no typing error."""
    wallet = EthereumWallet(b"\x11" * 32)
    written = wallet.written_address
    message = login_message(wallet, KEY, NOW_MS)
    for other in (written.lower(), "0x" + written[2:].upper(), "0x" + written[2:].swapcase()):
        assert f"line 2: the address is written {written}" in refused(wallet, message.replace(written, other))
    for other in (written, written.lower(), "0x" + written[2:].upper()):
        assert wallet_claim(ETHEREUM, other, "App.Example.com:443") == wallet_claim(
            ETHEREUM, written, "app.example.com"
        )
    with pytest.raises(InvalidWalletClaim, match="EIP-55"):
        wallet_claim(ETHEREUM, "0x" + written[2:].swapcase(), "app.example.com")


SMALL_ORDER = {
    "the neutral element": bytes([1]) + bytes(31),
    "order 2": bytes([0xEC]) + b"\xff" * 30 + b"\x7f",
    "order 4": bytes(32),
    "order 8": bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"),
    "another encoding": bytes([0xED]) + b"\xff" * 30 + b"\x7f",
}


@pytest.mark.parametrize("what", SMALL_ORDER)
def test_a_solana_key_under_which_anybody_signs(what: str) -> None:
    """For the neutral element, the signature R = neutral, S = 0 verifies every message."""

    class Nobody(SolanaWallet):
        @property
        def public_key(self) -> str:
            return SMALL_ORDER[what].hex()

        def sign(self, message: str) -> str:
            return (bytes([1]) + bytes(63)).hex()

    nobody = Nobody(b"\0" * 32)
    assert "line 2: nobody owns the address" in refused(nobody, login_message(nobody, KEY, NOW_MS))


BAD_CLAIMS = [
    (ETHEREUM, "0x" + "1" * 39, "a.example", "40 hex digits"),
    (ETHEREUM, "1" * 40, "a.example", "40 hex digits"),
    (ETHEREUM, "0x" + "1" * 40, "https://a.example", "must be a host"),
    (ETHEREUM, "0x" + "1" * 40, "a.example/login", "must be a host"),
    (ETHEREUM, "0x" + "1" * 40, "", "must be a host"),
    (ETHEREUM, "0x" + "1" * 40, "a." * 127 + "example", "must be a host"),
    (ETHEREUM, "0x" + "1" * 40, "a b.example", "must be a host"),
    (SOLANA, "0x" + "1" * 40, "a.example", "base 58 of an Ed25519 key"),
    (SOLANA, "1" * 31, "a.example", "base 58 of an Ed25519 key"),
    (SOLANA, "", "a.example", "base 58 of an Ed25519 key"),
]


@pytest.mark.parametrize(("type_", "address", "domain", "why"), BAD_CLAIMS, ids=str)
def test_bad_addresses_and_domains(type_: WalletAuthenticatorType, address: str, domain: str, why: str) -> None:
    with pytest.raises(InvalidWalletClaim, match=why):
        wallet_claim(type_, address, domain)
