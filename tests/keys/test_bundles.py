"""Bundles: the published client's vectors with every intermediate, tampered negatives, what a parser never does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given, settings
from hypothesis import strategies as st

from keystead.api.errors import InvalidRequest
from keystead.chains.bounds import BUNDLE_MESSAGE_CHARACTERS_MAX
from keystead.chains.bundle_texts import read_message, read_target
from keystead.keys.bundles import BundleBroken, BundleKey, open_sealed
from keystead.primitives.hpke import seal
from tests.support import bundles
from tests.support.bundles import Refused
from tests.support.examples import examples

VECTORS: dict[str, Any] = json.loads((Path(__file__).parents[1] / "vectors" / "hpke.json").read_bytes())
KEYS: dict[str, dict[str, str]] = VECTORS["keys"]
SIGNER = KEYS["signer"]["publicKeyUncompressed"]
ORGANIZATION, USER = VECTORS["ids"]["ORG"], VECTORS["ids"]["USER"]
CLIENT = bundles.private_key(bytes.fromhex(KEYS["clientTek"]["privateKey"]))
SERVER_KEY = BundleKey(bytes.fromhex(KEYS["otherSigner"]["privateKey"] + KEYS["signer"]["privateKey"]))


def cases(kind: str, expected: str) -> list[Any]:
    chosen = [case for case in VECTORS["cases"] if case["kind"] == kind and case["expected"] == expected]
    return [pytest.param(case, id=case["id"]) for case in chosen]


def test_public_halves() -> None:
    assert SERVER_KEY.signing_public_key == SIGNER
    assert SERVER_KEY.composite_public_key == KEYS["otherSigner"]["publicKeyUncompressed"] + SIGNER


# The vectors.


@pytest.mark.parametrize("case", cases("export", "valid"))
def test_export_vector(case: dict[str, Any]) -> None:
    content = bundles.trusted(case["exportBundle"], case["signerPublicKey"], organizationId=case["organizationId"])
    assert content == case["signedData"]
    encapped, ciphertext = bytes.fromhex(content["encappedPublic"]), bytes.fromhex(content["ciphertext"])
    key = bytes.fromhex(case["embeddedKey"])
    assert open_sealed(key, encapped, ciphertext).hex() == case["plaintextHex"]
    sender = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), encapped)
    dh = bundles.private_key(key).exchange(ec.ECDH(), sender)
    steps = bundles.schedule(dh, encapped, bytes.fromhex(case["targetPublicKey"]))
    assert {name: value.hex() for name, value in steps.items()} == case["intermediates"]


@pytest.mark.parametrize("case", cases("export", "invalid"))
def test_export_vector_that_clients_refuse(case: dict[str, Any]) -> None:
    """One is refused for what is inside: 64 bytes, where a private key has 32."""
    key = bundles.private_key(bytes.fromhex(case["embeddedKey"]))
    try:
        plaintext = bundles.exported(case["exportBundle"], case["signerPublicKey"], case["organizationId"], key)
    except Refused:
        return
    assert case["keyFormat"] == "SOLANA"
    assert len(plaintext) == 64


@pytest.mark.parametrize("case", cases("import", "valid"))
def test_import_vector(case: dict[str, Any]) -> None:
    content = bundles.trusted(
        case["importBundle"],
        case["signerPublicKey"],
        organizationId=case["organizationId"],
        userId=case["userId"],
    )
    assert content == case["signedData"]
    encapped, ciphertext = read_message(case["encryptedBundle"], "field")
    opened = open_sealed(bytes.fromhex(case["serverTargetPrivateKey"]), encapped, ciphertext)
    assert opened.hex() == case["plaintextHex"]


@pytest.mark.parametrize("case", cases("import", "invalid"))
def test_import_vector_that_does_not_open(case: dict[str, Any]) -> None:
    encapped, ciphertext = read_message(case["encryptedBundle"], "field")
    with pytest.raises(BundleBroken):
        open_sealed(bytes.fromhex(case["serverTargetPrivateKey"]), encapped, ciphertext)


@pytest.mark.parametrize("case", cases("otp", "valid"))
def test_message_of_a_login(case: dict[str, Any]) -> None:
    encapped, ciphertext = read_message(case["encryptedOtpBundle"], "field")
    opened = open_sealed(bytes.fromhex(case["serverTargetPrivateKey"]), encapped, ciphertext)
    assert opened.decode() == case["plaintext"]


@pytest.mark.parametrize(
    ("case", "opens"),
    [
        *(pytest.param(*case.values, True, id=case.id) for case in cases("credential", "valid")),
        *(
            pytest.param(*case.values, False, id=case.id)
            for case in cases("credential", "invalid")
            if case.id == "credential-bundle-wrong-key"
        ),
    ],
)
def test_credential_bundle(case: dict[str, Any], opens: bool) -> None:
    """The same ciphertext in both: the encapsulated key is compressed there."""
    content = bytes.fromhex(
        next(one["bundleBytesHex"] for one in VECTORS["cases"] if one["id"] == "credential-bundle")
    )
    encapped, key = read_target(content[:33].hex(), "field"), bytes.fromhex(case["embeddedKey"])
    if opens:
        assert open_sealed(key, encapped, content[33:]).hex() == case["plaintextHex"]
    else:
        with pytest.raises(BundleBroken):
            open_sealed(key, encapped, content[33:])


# What the server sends.


@pytest.mark.parametrize("plaintext", [b"", b"x", bytes(32), "あいこくしん".encode(), b"p" * 2_000])
def test_export_bundle(plaintext: bytes) -> None:
    bundle = SERVER_KEY.export_bundle(ORGANIZATION, plaintext, bundles.point(CLIENT))
    assert bundles.exported(bundle, SIGNER, ORGANIZATION, CLIENT) == plaintext
    assert list(json.loads(bundle)) == ["version", "data", "dataSignature", "enclaveQuorumPublic"]
    assert ": " not in bundle


def test_no_two_bundles_are_alike() -> None:
    made = {SERVER_KEY.export_bundle(ORGANIZATION, b"same", bundles.point(CLIENT)) for _ in range(3)}
    assert len(made) == 3


def test_import_bundle() -> None:
    bundle = SERVER_KEY.import_bundle(ORGANIZATION, USER, bundles.point(CLIENT))
    encapped, ciphertext = read_message(
        bundles.for_import(bundle, SIGNER, ORGANIZATION, USER, b"secret"), "parameters.encryptedBundle"
    )
    assert open_sealed(bundles.scalar(CLIENT), encapped, ciphertext) == b"secret"


def _flip(text: str, at: int) -> str:
    at %= len(text)
    return text[:at] + ("1" if text[at] == "0" else "0") + text[at + 1 :]


def _tampered_envelope(field: str) -> str:
    envelope = json.loads(SERVER_KEY.export_bundle(ORGANIZATION, b"secret", bundles.point(CLIENT)))
    envelope[field] = _flip(envelope[field], -3)
    return json.dumps(envelope)


@pytest.mark.parametrize("field", ["version", "data", "dataSignature", "enclaveQuorumPublic"])
def test_tampered_envelope(field: str) -> None:
    with pytest.raises((Refused, ValueError)):
        bundles.exported(_tampered_envelope(field), SIGNER, ORGANIZATION, CLIENT)


@pytest.mark.parametrize("field", ["encappedPublic", "ciphertext"])
@pytest.mark.parametrize("at", [2, 60, -1])
def test_tampered_message(field: str, at: int) -> None:
    changed = json.loads(bundles.message(b"a secret of some length, to be changed", bundles.point(CLIENT)))
    changed[field] = _flip(changed[field], at)
    with pytest.raises(BundleBroken):
        open_sealed(bundles.scalar(CLIENT), *read_message(json.dumps(changed), "field"))


def test_message_to_another() -> None:
    encapped, ciphertext = seal(b"secret", bundles.point(bundles.fresh()))
    with pytest.raises(BundleBroken):
        open_sealed(bundles.scalar(CLIENT), encapped, ciphertext)


# What clients send.

POINT = bundles.point(CLIENT).hex()
COMPRESSED = KEYS["clientTek"]["publicKey"]


@pytest.mark.parametrize("text", [POINT, POINT.upper(), COMPRESSED, COMPRESSED.upper()])
def test_target(text: str) -> None:
    assert read_target(text, "parameters.targetPublicKey").hex() == POINT


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0x" + POINT,
        POINT[2:],
        POINT[:-2],
        POINT + "00",
        POINT[:-1],
        " " + POINT,
        POINT[:4] + " " + POINT[4:],
        "zz" * 65,
        "00",
        "04" + "00" * 64,
        "04" + "ff" * 64,
        _flip(POINT, -1),
        "05" + COMPRESSED[2:],
        "06" + POINT[2:],
        "02" + "ff" * 32,
    ],
)
def test_no_target(text: str) -> None:
    with pytest.raises(InvalidRequest, match=r"field `parameters\.targetPublicKey`"):
        read_target(text, "parameters.targetPublicKey")


MESSAGE = {"encappedPublic": POINT, "ciphertext": "00" * 16}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        "{}",
        '"text"',
        "{",
        "[" * 5_000,
        '{"ciphertext":' * 500,
        json.dumps({"encappedPublic": POINT}),
        json.dumps({"ciphertext": "00" * 16}),
        json.dumps({**MESSAGE, "encappedPublic": COMPRESSED}),
        json.dumps({**MESSAGE, "encappedPublic": 4}),
        json.dumps({**MESSAGE, "encappedPublic": POINT + "\n"}),
        json.dumps({**MESSAGE, "ciphertext": "00" * 16 + "\n"}),
        "\ud800",
        json.dumps({**MESSAGE, "encappedPublic": f" {POINT}"}),
        json.dumps({**MESSAGE, "ciphertext": "00" * 15}),
        json.dumps({**MESSAGE, "ciphertext": "00" * 16 + "0"}),
        json.dumps({**MESSAGE, "ciphertext": "zz" * 16}),
        json.dumps({**MESSAGE, "ciphertext": None}),
        json.dumps({**MESSAGE, "ciphertext": "00" * (BUNDLE_MESSAGE_CHARACTERS_MAX // 2)}),
    ],
    ids=lambda text: repr(text[:40]),
)
def test_no_message(text: str) -> None:
    with pytest.raises(InvalidRequest, match=r"failed to decrypt bundle: field `parameters.encryptedBundle`"):
        read_message(text, "parameters.encryptedBundle")


def test_message_with_more_members_is_read() -> None:
    assert read_message(json.dumps({**MESSAGE, "version": "v9"}), "field") == (bytes.fromhex(POINT), bytes(16))


@settings(max_examples=examples(100))
@given(st.one_of(st.text(max_size=200), st.from_regex(r'\{"encappedPublic":"[0-9a-f]{0,140}".{0,40}\}')))
def test_parser_reads_or_refuses(text: str) -> None:
    try:
        encapped, ciphertext = read_message(text, "field")
    except InvalidRequest:
        return
    with pytest.raises(BundleBroken):
        open_sealed(bundles.scalar(CLIENT), encapped, ciphertext)


@settings(max_examples=100)
@given(st.one_of(st.text(max_size=140), st.from_regex(r"\A0[2-7]([0-9a-fA-F]{64}){1,2}\Z")))
def test_target_is_a_point_or_refused(text: str) -> None:
    try:
        target = read_target(text, "field")
    except InvalidRequest:
        return
    assert len(target) == 65
    numbers = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), target).public_numbers()
    assert bytes.fromhex(text)[1:33] == numbers.x.to_bytes(32)


@settings(max_examples=examples(100))
@given(st.integers(0, 10_000), st.integers(0, 7), st.binary(max_size=200))
def test_one_bit_of_what_a_client_sealed(at: int, bit: int, plaintext: bytes) -> None:
    encapped, ciphertext = read_message(bundles.message(plaintext, bundles.point(CLIENT)), "field")
    assert open_sealed(bundles.scalar(CLIENT), encapped, ciphertext) == plaintext
    changed = bytearray(encapped + ciphertext)
    changed[at % len(changed)] ^= 1 << bit
    with pytest.raises(BundleBroken):
        open_sealed(bundles.scalar(CLIENT), bytes(changed[:65]), bytes(changed[65:]))


@settings(max_examples=examples(100))
@given(st.binary(min_size=65, max_size=65), st.binary(min_size=16, max_size=64))
def test_whatever_is_sent_is_refused(encapped: bytes, ciphertext: bytes) -> None:
    with pytest.raises(BundleBroken):
        open_sealed(bundles.scalar(CLIENT), encapped, ciphertext)
    with pytest.raises(BundleBroken):
        open_sealed(bundles.scalar(CLIENT), b"\x04" + encapped[1:], ciphertext)
