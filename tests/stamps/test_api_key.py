"""X-Stamp: what is read, what verifies, and that nothing else does."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import example, given, settings
from hypothesis import strategies as st

from keystead.api.enums import ApiKeyCurve, CredentialType
from keystead.api.errors import Unauthenticated
from keystead.stamps import api_key
from keystead.stamps.api_key import Stamp, read_stamp, verify_stamp
from keystead.stamps.base64url import decode_base64url, encode_base64url
from keystead.stamps.der import read_ecdsa_signature, write_ecdsa_signature
from keystead.stamps.schemes import CREDENTIAL_TYPES, StampScheme
from keystead.stamps.signing import ApiKeyStamper, generate_api_key

BODY = b'{"organizationId":"7c7c2b9e-5bb4-4a3e-8f0e-0d0b4a6f9b11"}\n'

CURVES = {
    StampScheme.API_P256: ApiKeyCurve.P256,
    StampScheme.API_SECP256K1: ApiKeyCurve.SECP256K1,
    StampScheme.API_SECP256K1_EIP191: ApiKeyCurve.SECP256K1,
    StampScheme.API_ED25519: ApiKeyCurve.ED25519,
}
ORDERS = {
    StampScheme.API_P256: 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551,
    StampScheme.API_SECP256K1: 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141,
    StampScheme.API_SECP256K1_EIP191: 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141,
}
ED25519_ORDER = 2**252 + 27742317777372353535851937790883648493


@cache
def stamper(scheme: StampScheme) -> ApiKeyStamper:
    pair = generate_api_key(CURVES[scheme], seed=b"tests of stamps")
    eip191 = scheme is StampScheme.API_SECP256K1_EIP191
    return ApiKeyStamper(pair.public_key, pair.private_key, pair.curve, eip191=eip191)


def members(scheme: StampScheme = StampScheme.API_P256, body: bytes = BODY) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(decode_base64url(stamper(scheme).stamp(body)[1]))
    return parsed


def header(members: dict[str, Any], **changed: Any) -> str:
    """`changed` replaces, adds or (None) leaves out members."""
    shown = {name: value for name, value in (members | changed).items() if value is not None}
    return encode_base64url(json.dumps(shown).encode())


def refusal(value: str | bytes, body: bytes = BODY) -> str:
    with pytest.raises(Unauthenticated) as refused:
        verify_stamp(read_stamp(value), body)
    assert refused.value.machine_code == "SIGNATURE_INVALID"
    return refused.value.message


# Reading


@dataclass(frozen=True)
class Spelling:
    name: str
    value: str | bytes


GOOD = members()
PLAIN = header(GOOD)

SPELLINGS = [
    Spelling("as our stamper writes it", stamper(StampScheme.API_P256).stamp(BODY)[1]),
    Spelling("bytes, as a server has headers", PLAIN.encode()),
    Spelling("padded", PLAIN + "=" * (-len(PLAIN) % 4)),
    Spelling("padded although the length is full", PLAIN + "="),
    Spelling("members in another order", header(dict(reversed(GOOD.items())))),
    Spelling("a member nobody knows", header(GOOD, comment=[1, {"a": None}])),
    Spelling("upper-case hex", header({k: v if k == "scheme" else v.upper() for k, v in GOOD.items()})),
    Spelling("0x before the key", header(GOOD, publicKey="0x" + GOOD["publicKey"])),
    Spelling("0X before the key", header(GOOD, publicKey="0X" + GOOD["publicKey"])),
]


@pytest.mark.parametrize("case", SPELLINGS, ids=lambda case: case.name)
def test_read(case: Spelling) -> None:
    stamp = read_stamp(case.value)
    assert stamp.public_key == GOOD["publicKey"]
    assert stamp.scheme is StampScheme.API_P256
    verify_stamp(stamp, BODY)


@dataclass(frozen=True)
class Malformed:
    name: str
    value: str | bytes
    message: str


NOT_A_STAMP = "could not extract api key stamp"
NOT_JSON = "malformed activity stamp"
DEEP = encode_base64url(b'{"comment":' + b"[" * 3000)

MALFORMED = [
    Malformed("empty", "", NOT_JSON),
    Malformed("only padding", "====", NOT_JSON),
    Malformed("the JSON itself", json.dumps(GOOD), NOT_JSON),
    Malformed("a plus sign", PLAIN[:8] + "+" + PLAIN[9:], NOT_JSON),
    Malformed("a slash", PLAIN[:8] + "/" + PLAIN[9:], NOT_JSON),
    Malformed("a space inside", PLAIN[:8] + " " + PLAIN[8:], NOT_JSON),
    Malformed("padding inside", PLAIN[:8] + "=" + PLAIN[8:], NOT_JSON),
    Malformed("a length no bytes have", PLAIN[: len(PLAIN) // 4 * 4 - 3], NOT_JSON),
    Malformed("not ASCII", PLAIN[:-1] + "é", NOT_JSON),
    Malformed("bytes that are not ASCII", PLAIN.encode() + b"\xff", NOT_JSON),
    Malformed("NUL", PLAIN + "\0", NOT_JSON),
    Malformed("cut short", PLAIN[:40], NOT_JSON),
    Malformed("two objects", encode_base64url(json.dumps(GOOD).encode() * 2), NOT_JSON),
    Malformed("not UTF-8", encode_base64url(b'{"publicKey":"\xff"}'), NOT_JSON),
    Malformed("half a surrogate pair", encode_base64url(b'{"publicKey":"\\ud800"}'), NOT_JSON),
    Malformed("nested without end", DEEP, NOT_JSON),
    Malformed("longer than any stamp", header(GOOD, comment="a" * 4096), NOT_JSON),
    Malformed("a list", encode_base64url(b"[]"), NOT_A_STAMP),
    Malformed("no publicKey", header(GOOD, publicKey=None), NOT_A_STAMP),
    Malformed("no scheme", header(GOOD, scheme=None), NOT_A_STAMP),
    Malformed("no signature", header(GOOD, signature=None), NOT_A_STAMP),
    Malformed("publicKey a number", header(GOOD, publicKey=2), NOT_A_STAMP),
    Malformed("signature null", encode_base64url(json.dumps(GOOD | {"signature": None}).encode()), NOT_A_STAMP),
    Malformed("scheme unknown", header(GOOD, scheme="SIGNATURE_SCHEME_TK_API_P384"), NOT_A_STAMP),
    Malformed("scheme of passkeys", header(GOOD, scheme="SIGNATURE_SCHEME_TK_WEBAUTHN"), NOT_A_STAMP),
    Malformed("scheme in lower case", header(GOOD, scheme=GOOD["scheme"].lower()), NOT_A_STAMP),
    Malformed("publicKey empty", header(GOOD, publicKey=""), NOT_A_STAMP),
    Malformed("publicKey not hex", header(GOOD, publicKey="zz" + GOOD["publicKey"][2:]), NOT_A_STAMP),
    Malformed("publicKey with spaces", header(GOOD, publicKey=GOOD["publicKey"][:-2] + "  "), NOT_A_STAMP),
    Malformed("publicKey a byte short", header(GOOD, publicKey=GOOD["publicKey"][:-2]), NOT_A_STAMP),
    Malformed("publicKey uncompressed", header(GOOD, publicKey="04" + "11" * 64), NOT_A_STAMP),
    Malformed("Ed25519 with a point", header(GOOD, scheme="SIGNATURE_SCHEME_TK_API_ED25519"), NOT_A_STAMP),
]


@pytest.mark.parametrize("case", MALFORMED, ids=lambda case: case.name)
def test_read_refuses(case: Malformed) -> None:
    with pytest.raises(Unauthenticated) as refused:
        read_stamp(case.value)
    assert refused.value.message.startswith(case.message)
    assert refused.value.machine_code == "SIGNATURE_INVALID"


# Verifying


@pytest.mark.parametrize("scheme", StampScheme)
@given(body=st.binary(max_size=300))
@settings(max_examples=25)
@example(body=b"")
def test_what_is_stamped_verifies(scheme: StampScheme, body: bytes) -> None:
    name, value = stamper(scheme).stamp(body)
    assert name == "X-Stamp"
    stamp = read_stamp(value)
    assert stamp.scheme is scheme
    verify_stamp(stamp, body)
    assert refusal(value, body + b"\n") == "could not verify api key signature"


@pytest.mark.parametrize("scheme", StampScheme)
def test_every_bit_of_a_signature_counts(scheme: StampScheme) -> None:
    good = members(scheme)
    signature = bytes.fromhex(good["signature"])
    for at in range(len(signature)):
        flipped = signature[:at] + bytes([signature[at] ^ 1 << at % 8]) + signature[at + 1 :]
        refusal(header(good, signature=flipped.hex()))


@pytest.mark.parametrize("scheme", StampScheme)
def test_another_key_does_not_verify(scheme: StampScheme) -> None:
    other = generate_api_key(CURVES[scheme], seed=b"someone else").public_key
    refusal(header(members(scheme), publicKey=other))


@pytest.mark.parametrize("scheme", StampScheme)
@pytest.mark.parametrize("claimed", StampScheme)
def test_another_scheme_does_not_verify(scheme: StampScheme, claimed: StampScheme) -> None:
    if claimed is not scheme:
        refusal(header(members(scheme), scheme=claimed))


@pytest.mark.parametrize("scheme", ORDERS)
@pytest.mark.parametrize("key", ["02" + "ff" * 32, "05" + "11" * 32, "04" + "11" * 32, "00" * 33])
def test_a_key_that_is_not_a_point_does_not_verify(scheme: StampScheme, key: str) -> None:
    assert refusal(header(members(scheme), publicKey=key)) == "could not verify api key signature"


@pytest.mark.parametrize("scheme", ORDERS)
def test_an_x_without_y_does_not_verify(scheme: StampScheme) -> None:
    prime, a, b = (
        (
            2**256 - 2**224 + 2**192 + 2**96 - 1,
            -3,
            0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B,
        )
        if scheme is StampScheme.API_P256
        else (2**256 - 2**32 - 977, 0, 7)
    )
    x = next(x for x in range(1, 100) if pow(x**3 + a * x + b, (prime - 1) // 2, prime) == prime - 1)
    refusal(header(members(scheme), publicKey=f"02{x:064x}"))


@pytest.mark.parametrize("scheme", ORDERS)
def test_a_stamp_built_without_the_stamper_has_the_same_key_lengths(scheme: StampScheme) -> None:
    good = members(scheme)
    curve = ec.SECP256R1() if scheme is StampScheme.API_P256 else ec.SECP256K1()
    point = ec.EllipticCurvePublicKey.from_encoded_point(curve, bytes.fromhex(good["publicKey"]))
    uncompressed = point.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint).hex()
    verify_stamp(Stamp(good["publicKey"], scheme, good["signature"]), BODY)
    with pytest.raises(Unauthenticated):
        verify_stamp(Stamp(uncompressed, scheme, good["signature"]), BODY)


def integer(value: int, zeros: int = 0) -> bytes:
    content = bytes(zeros) + value.to_bytes(value.bit_length() // 8 + 1, "big")
    return bytes([2, len(content)]) + content


def sequence(*integers: bytes) -> bytes:
    content = b"".join(integers)
    return bytes([0x30, len(content)]) + content


@pytest.mark.parametrize("scheme", ORDERS)
def test_both_halves_of_s_and_leading_zeros_verify(scheme: StampScheme) -> None:
    good = members(scheme)
    r, s = read_ecdsa_signature(bytes.fromhex(good["signature"]))
    for half in (s, ORDERS[scheme] - s):
        for zeros in ((0, 0), (1, 0), (0, 1), (3, 2)):
            loose = sequence(integer(r, zeros[0]), integer(half, zeros[1]))
            verify_stamp(read_stamp(header(good, signature=loose.hex())), BODY)


@dataclass(frozen=True)
class WrongDer:
    name: str
    write: Any
    """(r, s, n) to the bytes sent."""


WRONG_DER = [
    WrongDer("nothing", lambda r, s, n: b""),
    WrongDer("one byte", lambda r, s, n: b"\x30"),
    WrongDer("r and s without ASN.1", lambda r, s, n: r.to_bytes(32, "big") + s.to_bytes(32, "big")),
    WrongDer("a byte behind", lambda r, s, n: sequence(integer(r), integer(s)) + b"\0"),
    WrongDer("a byte behind s, inside", lambda r, s, n: sequence(integer(r), integer(s), b"\0")),
    WrongDer("three integers", lambda r, s, n: sequence(integer(r), integer(s), integer(1))),
    WrongDer("one integer", lambda r, s, n: sequence(integer(r))),
    WrongDer("long form of the length", lambda r, s, n: b"\x30\x81" + sequence(integer(r), integer(s))[1:]),
    WrongDer("a set", lambda r, s, n: b"\x31" + sequence(integer(r), integer(s))[1:]),
    WrongDer("r a bit string", lambda r, s, n: sequence(b"\x03" + integer(r)[1:], integer(s))),
    WrongDer("r of no bytes", lambda r, s, n: sequence(b"\x02\x00", integer(s))),
    WrongDer("s reaches past the end", lambda r, s, n: sequence(integer(r), b"\x02\x30" + b"\x01" * 32)),
    WrongDer("r zero", lambda r, s, n: sequence(integer(0), integer(s))),
    WrongDer("s zero", lambda r, s, n: sequence(integer(r), integer(0))),
    WrongDer("both zero", lambda r, s, n: sequence(integer(0), integer(0))),
    WrongDer("r plus n", lambda r, s, n: sequence(integer(r + n), integer(s))),
    WrongDer("s plus n", lambda r, s, n: sequence(integer(r), integer(s + n))),
    WrongDer("s is n", lambda r, s, n: sequence(integer(r), integer(n))),
    WrongDer("r negative", lambda r, s, n: sequence(b"\x02\x20" + (2**256 - r).to_bytes(32, "big"), integer(s))),
    WrongDer("s negative", lambda r, s, n: sequence(integer(r), b"\x02\x01\xff")),
    WrongDer("swapped", lambda r, s, n: sequence(integer(s), integer(r))),
]


@pytest.mark.parametrize("scheme", ORDERS)
@pytest.mark.parametrize("case", WRONG_DER, ids=lambda case: case.name)
def test_bytes_that_are_not_a_signature_do_not_verify(scheme: StampScheme, case: WrongDer) -> None:
    good = members(scheme)
    r, s = read_ecdsa_signature(bytes.fromhex(good["signature"]))
    wrong = case.write(r, s, ORDERS[scheme])
    assert refusal(header(good, signature=wrong.hex())) == "could not verify api key signature"


NOT_DER = {
    "nothing": "",
    "one byte": "30",
    "no integers": "3000",
    "a set": "3106020101020101",
    "length one more": "3007020101020101",
    "length one less": "3005020101020101",
    "a byte behind": "300602010102010100",
    "a byte inside": "300702010102010100",
    "one integer": "3003020101",
    "three integers": "3009020101020101020101",
    "an octet string": "3006040101020101",
    "an integer of no bytes": "30050200020101",
    "a second integer of no bytes": "30050201010200",
    "an integer past the end": "3006020101020201",
    "an integer past the end by far": "300602010102ff01",
    "a tag without length": "300402010102",
    "negative": "3006020180020101",
    "negative, second": "3006020101020180",
    "negative, in two bytes": "30070202ff01020101",
    "length in the long form": "308106020101020101",
    "length without end": "30800201010201010000",
}


@pytest.mark.parametrize("hex_text", NOT_DER.values(), ids=NOT_DER)
def test_what_is_not_der_is_not_read(hex_text: str) -> None:
    with pytest.raises(ValueError):
        read_ecdsa_signature(bytes.fromhex(hex_text))


@pytest.mark.parametrize("text", ["", "zz", "abc", " 30", "3044 0220", "é"])
@pytest.mark.parametrize("scheme", StampScheme)
def test_a_signature_that_is_not_hex_does_not_verify(scheme: StampScheme, text: str) -> None:
    refusal(header(members(scheme), signature=text))


def test_ed25519_refuses_an_s_that_is_not_canonical() -> None:
    good = members(StampScheme.API_ED25519)
    signature = bytes.fromhex(good["signature"])
    s = int.from_bytes(signature[32:], "little") + ED25519_ORDER
    refusal(header(good, signature=(signature[:32] + s.to_bytes(32, "little")).hex()))


def test_loaded_keys_are_cached_up_to_a_limit() -> None:
    assert api_key._verifier.cache_info().maxsize == api_key.LOADED_KEYS_MAX


# Neither bytes nor members of any kind bring anything but a refusal


@given(value=st.binary(max_size=200) | st.text(max_size=200) | st.binary(max_size=200).map(encode_base64url))
def test_any_bytes_are_refused(value: str | bytes) -> None:
    refusal(value)


@given(
    parsed=st.fixed_dictionaries(
        {
            "publicKey": st.text(max_size=70) | st.binary(max_size=33).map(bytes.hex) | st.just(GOOD["publicKey"]),
            "scheme": st.sampled_from(StampScheme) | st.text(max_size=8),
            "signature": st.text(max_size=20) | st.binary(max_size=80).map(bytes.hex),
        }
    )
)
def test_any_members_are_refused(parsed: dict[str, str]) -> None:
    refusal(header(parsed))


@given(r=st.integers(0, 2**512), s=st.integers(0, 2**512), zeros=st.tuples(st.integers(0, 9), st.integers(0, 9)))
def test_der_is_read_as_written(r: int, s: int, zeros: tuple[int, int]) -> None:
    if len(integer(r, zeros[0]) + integer(s, zeros[1])) <= 127:
        assert read_ecdsa_signature(sequence(integer(r, zeros[0]), integer(s, zeros[1]))) == (r, s)
        assert write_ecdsa_signature(r, s) == sequence(integer(r), integer(s))


def test_stamps_of_the_documentation() -> None:
    pair = "0327a50032e6f0631d5605b6ada32b779074f346e81b68e12801640f1c9ee03dae"
    signature = (
        "304402203623defd618eb3e219970496407ebe92447317dad75e412bd4a6267c3b5e2223"
        "0220245b740848a72d08b60d6c84f339737b63db3bcbadb3bd0dcb1bfb865715d8b5"
    )
    verify_stamp(Stamp(pair, StampScheme.API_P256, signature), b'{"payload": "hello from TKHQ"}')
    verify_stamp(
        Stamp(
            "038318535b54105d4a7aae60c08fc45f9687181b4fdfc625bd1a753fa7397fed75",
            StampScheme.API_SECP256K1_EIP191,
            "30440220487cdb8a88f2f4044b701cbb116075c4cabe5fe4657a6358b395c0aab70694db"
            "02203453a8057e442bd1aff0ecabe8a82c831f0edd7f2158b7c1feb3de9b1f20309b",
        ),
        b"MESSAGE",
    )
    verify_stamp(
        Stamp(
            "54dbf3006616c1afaec1ebceaa22a488b1856bfc7b0453a53fb097dd69fa64e5",
            StampScheme.API_ED25519,
            "097fc4ff4d37de666d3f49f679ea101a800ec6f3fa886a5034a98c3c2b3183af"
            "17c5b2f23326dcd833482a9c7ea49ddad2c1c0823aee88bac72f93fcdc0a6901",
        ),
        b"hello from TKHQ!",
    )


def test_every_credential_type_but_the_passkey_and_tokens_belongs_to_a_scheme() -> None:
    assert set(CREDENTIAL_TYPES) == set(StampScheme)
    matched = frozenset().union(*CREDENTIAL_TYPES.values())
    attested = {CredentialType.EMAIL_OTP, CredentialType.SMS_OTP, CredentialType.OAUTH, CredentialType.WALLET}
    assert set(CredentialType) - matched == {CredentialType.WEBAUTHN_AUTHENTICATOR, *attested}
    assert CREDENTIAL_TYPES[StampScheme.API_P256] >= {t for t in CredentialType if t.endswith("_KEY_P256")}
