"""Registering passkeys: each attestation format from a device in software, and whatever makes one invalid."""

from __future__ import annotations

import json
import time
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.serialization import Encoding
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from webauthn.helpers import encode_cbor, parse_cbor
from webauthn.registration.formats import android_key, android_safetynet, apple

from keystead.api.errors import InvalidRequest
from keystead.stamps.attestation import verify_attestation
from keystead.stamps.base64url import decode_base64url, encode_base64url
from keystead.stamps.webauthn import read_assertion, verify_assertion

if TYPE_CHECKING:
    from tests.stamps.conftest import Issuer, Passkey, Registration

ES256 = ec.ECDSA(hashes.SHA256())
AAGUID = bytes(range(16))
DEVICE = ec.generate_private_key(ec.SECP256R1())
"""The key that a maker puts into all devices of one model."""
GOOGLE = rsa.generate_private_key(65537, 2048)


def der(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(Encoding.DER)


def tlv(tag: bytes, *content: bytes) -> bytes:
    joined = b"".join(content)
    length = bytes([len(joined)]) if len(joined) < 128 else bytes([0x81, len(joined)])
    return tag + length + joined


# The formats: of a registration, the arguments of verify_attestation


def none(registration: Registration, issuer: Issuer) -> dict[str, str]:
    return registration.attest("none", {})


def packed_self(registration: Registration, issuer: Issuer) -> dict[str, str]:
    if isinstance(registration.key, rsa.RSAPrivateKey):
        signature = registration.key.sign(registration.signed, padding.PKCS1v15(), hashes.SHA256())
        return registration.attest("packed", {"alg": -257, "sig": signature})
    return registration.attest("packed", {"alg": -7, "sig": registration.key.sign(registration.signed, ES256)})


def packed(registration: Registration, issuer: Issuer) -> dict[str, str]:
    certificate = issuer.issue(DEVICE.public_key())
    signature = DEVICE.sign(registration.signed, ES256)
    return registration.attest("packed", {"alg": -7, "sig": signature, "x5c": [der(certificate), der(issuer.root)]})


def fido_u2f(registration: Registration, issuer: Issuer) -> dict[str, str]:
    numbers = registration.key.public_key().public_numbers()
    assert isinstance(numbers, ec.EllipticCurvePublicNumbers)
    signed = (
        b"\0"
        + registration.authenticator_data[:32]
        + sha256(registration.client_data_json).digest()
        + registration.credential_id
        + b"\x04"
        + numbers.x.to_bytes(32, "big")
        + numbers.y.to_bytes(32, "big")
    )
    certificate = issuer.issue(DEVICE.public_key())
    return registration.attest("fido-u2f", {"sig": DEVICE.sign(signed, ES256), "x5c": [der(certificate)]})


def apple_anonymous(registration: Registration, issuer: Issuer) -> dict[str, str]:
    nonce = tlv(b"\x30", tlv(b"\xa1", tlv(b"\x04", sha256(registration.signed).digest())))
    extension = x509.UnrecognizedExtension(x509.ObjectIdentifier("1.2.840.113635.100.8.2"), nonce)
    certificate = issuer.issue(registration.key.public_key(), extensions=[(extension, False)])
    return registration.attest("apple", {"x5c": [der(certificate)]})


def android(registration: Registration, issuer: Issuer, origin: bytes = b"\0", more: bytes = b"") -> dict[str, str]:
    assert isinstance(registration.key, ec.EllipticCurvePrivateKey)
    purpose_sign = tlv(b"\xa1", tlv(b"\x31", b"\x02\x01\x02"))
    origin_generated = tlv(b"\xbf\x85\x3e", tlv(b"\x02", origin))
    description = tlv(
        b"\x30",
        b"\x02\x01\x03\x0a\x01\x01\x02\x01\x04\x0a\x01\x01",
        tlv(b"\x04", sha256(registration.client_data_json).digest()),
        tlv(b"\x04"),
        tlv(b"\x30"),
        tlv(b"\x30", purpose_sign, origin_generated),
        more,
    )
    extension = x509.UnrecognizedExtension(x509.ObjectIdentifier("1.3.6.1.4.1.11129.2.1.17"), description)
    certificate = issuer.issue(registration.key.public_key(), extensions=[(extension, False)])
    signature = registration.key.sign(registration.signed, ES256)
    return registration.attest(
        "android-key", {"alg": -7, "sig": signature, "x5c": [der(certificate), der(issuer.root)]}
    )


def tpm(registration: Registration, issuer: Issuer) -> dict[str, str]:
    numbers = registration.key.public_key().public_numbers()
    if isinstance(numbers, rsa.RSAPublicNumbers):
        modulus = numbers.n.to_bytes(256, "big")
        kind, parameters = b"\x00\x01", b"\x00\x10\x00\x10\x08\x00" + bytes(4)
        unique = len(modulus).to_bytes(2, "big") + modulus
    else:
        kind, parameters = b"\x00\x23", b"\x00\x10\x00\x10\x00\x03\x00\x10"
        unique = b"\x00\x20" + numbers.x.to_bytes(32, "big") + b"\x00\x20" + numbers.y.to_bytes(32, "big")
    pub_area = kind + b"\x00\x0b" + bytes.fromhex("00060472") + b"\0\0" + parameters + unique
    name = b"\x00\x0b" + sha256(pub_area).digest()
    cert_info = (
        bytes.fromhex("ff5443478017")  # generated by a TPM, to certify
        + b"\x00\x00"
        + b"\x00\x20"
        + sha256(registration.signed).digest()
        + bytes(17 + 8)  # clock and firmware
        + len(name).to_bytes(2, "big")
        + name
        + b"\x00\x00"
    )
    model = x509.Name(
        [
            x509.NameAttribute(x509.ObjectIdentifier("2.23.133.2.1"), "id:494E5443"),
            x509.NameAttribute(x509.ObjectIdentifier("2.23.133.2.2"), "a model"),
            x509.NameAttribute(x509.ObjectIdentifier("2.23.133.2.3"), "id:00000001"),
        ]
    )
    certificate = issuer.issue(
        DEVICE.public_key(),
        x509.Name([]),
        [
            (x509.SubjectAlternativeName([x509.DirectoryName(model)]), True),
            (x509.ExtendedKeyUsage([x509.ObjectIdentifier("2.23.133.8.3")]), False),
            (x509.BasicConstraints(False, None), True),
        ],
    )
    return registration.attest(
        "tpm",
        {
            "ver": "2.0",
            "alg": -7,
            "sig": DEVICE.sign(cert_info, ES256),
            "x5c": [der(certificate)],
            "certInfo": cert_info,
            "pubArea": pub_area,
        },
    )


def safetynet(registration: Registration, issuer: Issuer, **changed: Any) -> dict[str, str]:
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "attest.android.com")])
    certificate = issuer.issue(GOOGLE.public_key(), subject)
    header = {"alg": "RS256", "x5c": [b64encode(der(certificate)).decode()]}
    payload = {
        "nonce": b64encode(sha256(registration.signed).digest()).decode(),
        "timestampMs": int(time.time() * 1000),
        "basicIntegrity": True,
    } | changed
    signed = ".".join(encode_base64url(json.dumps(part).encode()) for part in (header, payload))
    signature = GOOGLE.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())
    response = f"{signed}.{encode_base64url(signature)}".encode()
    return registration.attest("android-safetynet", {"ver": "1", "response": response})


Form = Callable[["Registration", "Issuer"], dict[str, str]]

FORMS: dict[str, Form] = {
    "none": none,
    "packed, self": packed_self,
    "packed": packed,
    "fido-u2f": fido_u2f,
    "apple": apple_anonymous,
    "android-key": android,
    "tpm": tpm,
    "android-safetynet": safetynet,
}
VENDOR_ROOTED = {"apple", "android-key", "android-safetynet"}


@pytest.fixture
def vendor(monkeypatch: pytest.MonkeyPatch, issuer: Issuer) -> None:
    """Our issuer in the place of Apple and Google."""
    root = issuer.root.public_bytes(Encoding.PEM)
    monkeypatch.setattr(apple, "apple_webauthn_root_ca", root)
    monkeypatch.setattr(android_key, "google_hardware_attestation_root_2", root)
    monkeypatch.setattr(android_safetynet, "globalsign_root_ca", root)


@pytest.mark.parametrize("form", FORMS)
def test_every_format_registers_a_key_that_then_stamps(
    form: str, passkey: Passkey, issuer: Issuer, vendor: None
) -> None:
    registered = verify_attestation(**FORMS[form](passkey.register(), issuer))
    assert registered.credential_id == encode_base64url(passkey.credential_id)
    assert registered.credential_public_key == passkey.public_key
    assert registered.attestation_type == form.partition(",")[0]
    assert registered.aaguid == "AAAAAAAAAAAAAAAAAAAAAA"
    assert registered.model == "Security key"
    assert registered.sign_count == 0
    assert registered.rp_id_hash == sha256(b"example.com").digest()
    verify_assertion(
        read_assertion(passkey.assertion(b"{}")),
        b"{}",
        registered.credential_public_key,
        rp_id_hash=registered.rp_id_hash,
    )


@pytest.mark.parametrize("form", ["none", "packed, self", "tpm"])
def test_rs256(form: str, rsa_passkey: Passkey, issuer: Issuer) -> None:
    registered = verify_attestation(**FORMS[form](rsa_passkey.register(aaguid=AAGUID), issuer))
    assert registered.credential_public_key == rsa_passkey.public_key
    assert decode_base64url(registered.aaguid) == AAGUID


@pytest.mark.parametrize(
    ("aaguid", "model"),
    [
        ("00000000-0000-0000-0000-000000000000", "Security key"),
        (str(UUID(bytes=AAGUID)), "Security key"),
        ("bada5566-a7aa-401f-bd96-45619a55120d", "1Password"),
        ("08987058-cadc-4b81-b6e1-30de50dcbe96", "Windows Hello"),
    ],
)
def test_models(aaguid: str, model: str, passkey: Passkey, issuer: Issuer) -> None:
    registered = verify_attestation(**FORMS["none"](passkey.register(aaguid=UUID(aaguid).bytes), issuer))
    assert registered.model == model


def refusal(arguments: dict[str, str], **kwargs: Any) -> str:
    with pytest.raises(InvalidRequest) as refused:
        verify_attestation(**arguments, **kwargs)
    assert refused.value.machine_code == "REQUEST_INVALID"
    return refused.value.message


@pytest.mark.parametrize("form", [form for form in FORMS if form != "none"])
def test_a_statement_is_valid_for_its_own_registration_only(
    form: str, passkey: Passkey, issuer: Issuer, vendor: None
) -> None:
    mine = passkey.register()
    other = replace(mine, client_data_json=mine.client_data_json + b" ")
    message = refusal(FORMS[form](mine, issuer) | {"client_data_json": encode_base64url(other.client_data_json)})
    assert message.startswith("invalid authenticator attestation: ")
    assert form.partition(",")[0] in message


@pytest.mark.parametrize("form", sorted(VENDOR_ROOTED))
def test_a_chain_to_an_unknown_root_is_refused(form: str, passkey: Passkey, issuer: Issuer) -> None:
    assert f"{form} statement: " in refusal(FORMS[form](passkey.register(), issuer))


def test_an_imported_android_key_is_refused(passkey: Passkey, issuer: Issuer, vendor: None) -> None:
    assert "origin" in refusal(android(passkey.register(), issuer, origin=b"\x02"))


def test_an_android_key_described_in_no_known_way_is_refused(
    passkey: Passkey, issuer: Issuer, vendor: None
) -> None:
    assert "cannot be read" in refusal(android(passkey.register(), issuer, more=b"\x30\x00\x02\x01"))


@pytest.mark.parametrize(
    "changed",
    [{"timestampMs": "now"}, {"timestampMs": 0}, {"basicIntegrity": False}, {"nonce": "AAAA"}],
    ids=lambda changed: next(iter(changed)),
)
def test_a_safetynet_answer_that_does_not_say_so_is_refused(
    changed: dict[str, Any], passkey: Passkey, issuer: Issuer, vendor: None
) -> None:
    assert "android-safetynet statement: " in refusal(safetynet(passkey.register(), issuer, **changed))


def test_text_in_place_of_bytes_is_named(passkey: Passkey, issuer: Issuer) -> None:
    arguments = edited(packed(passkey.register(), issuer), lambda a: a["attStmt"].update(sig="YWJj"))
    assert "Expected `bytes | null`, got `str` - at `$.sig`" in refusal(arguments)


def edited(arguments: dict[str, str], edit: Callable[[dict[str, Any]], Any]) -> dict[str, str]:
    """The same registration with its attestation object changed in place by `edit`."""
    attestation = parse_cbor(decode_base64url(arguments["attestation_object"]))
    edit(attestation)
    return arguments | {"attestation_object": encode_base64url(encode_cbor(attestation))}


@dataclass(frozen=True)
class BrokenStatement:
    name: str
    form: str
    edit: Callable[[dict[str, Any]], Any]
    """Changes the attestation object, a dict of fmt, attStmt and authData."""


BROKEN_STATEMENTS = [
    BrokenStatement("none with something", "none", lambda a: a["attStmt"].update(sig=b"x")),
    BrokenStatement("none with something unknown", "none", lambda a: a["attStmt"].update(note="x")),
    BrokenStatement("none renamed", "none", lambda a: a.update(fmt="packed")),
    BrokenStatement("a format nobody knows", "packed", lambda a: a.update(fmt="compound")),
    BrokenStatement("a format's name without end", "packed", lambda a: a.update(fmt="packed" * 100)),
    BrokenStatement("a number for a format", "packed", lambda a: a.update(fmt=1)),
    BrokenStatement("no format", "packed", lambda a: a.pop("fmt")),
    BrokenStatement("no statement", "packed", lambda a: a.pop("attStmt")),
    BrokenStatement("a list for a statement", "packed", lambda a: a.update(attStmt=[])),
    BrokenStatement("numbers for names", "packed", lambda a: a.update(attStmt={1: 2})),
    BrokenStatement("text for a signature", "packed", lambda a: a["attStmt"].update(sig="YWJj")),
    BrokenStatement("no signature", "packed", lambda a: a["attStmt"].pop("sig")),
    BrokenStatement("no algorithm", "packed", lambda a: a["attStmt"].pop("alg")),
    BrokenStatement("an algorithm nobody knows", "packed", lambda a: a["attStmt"].update(alg=-9)),
    BrokenStatement("an algorithm of another kind", "packed", lambda a: a["attStmt"].update(alg=-257)),
    BrokenStatement(
        "one certificate, not a list", "packed", lambda a: a["attStmt"].update(x5c=a["attStmt"]["x5c"][0])
    ),
    BrokenStatement("no certificate at all", "packed", lambda a: a["attStmt"].update(x5c=[])),
    BrokenStatement(
        "a certificate that cannot be read", "packed", lambda a: a["attStmt"].update(x5c=[b"certificate"])
    ),
    BrokenStatement("another's certificate", "packed", lambda a: a["attStmt"]["x5c"].reverse()),
    BrokenStatement("self with the other algorithm", "packed, self", lambda a: a["attStmt"].update(alg=-257)),
    BrokenStatement("u2f without certificate", "fido-u2f", lambda a: a["attStmt"].pop("x5c")),
    BrokenStatement("u2f with two", "fido-u2f", lambda a: a["attStmt"].update(x5c=a["attStmt"]["x5c"] * 2)),
    BrokenStatement("apple without certificate", "apple", lambda a: a["attStmt"].pop("x5c")),
    BrokenStatement("android of one certificate", "android-key", lambda a: a["attStmt"]["x5c"].pop()),
    BrokenStatement("tpm of version 1", "tpm", lambda a: a["attStmt"].update(ver="1.2")),
    BrokenStatement("tpm without pubArea", "tpm", lambda a: a["attStmt"].pop("pubArea")),
    BrokenStatement(
        "tpm with a pubArea of nothing known", "tpm", lambda a: a["attStmt"].update(pubArea=b"\xff" * 60)
    ),
    BrokenStatement(
        "tpm with a pubArea cut", "tpm", lambda a: a["attStmt"].update(pubArea=a["attStmt"]["pubArea"][:9])
    ),
    BrokenStatement("tpm with a certInfo cut", "tpm", lambda a: a["attStmt"].update(certInfo=b"\xff")),
    BrokenStatement("safetynet of two parts", "android-safetynet", lambda a: a["attStmt"].update(response=b"a.b")),
    BrokenStatement(
        "safetynet of lists", "android-safetynet", lambda a: a["attStmt"].update(response=b"W10.W10.W10")
    ),
    BrokenStatement(
        "safetynet not ASCII", "android-safetynet", lambda a: a["attStmt"].update(response=b"\xff.b.c")
    ),
    BrokenStatement(
        "safetynet nested without end",
        "android-safetynet",
        lambda a: a["attStmt"].update(response=encode_base64url(b"[" * 9000).encode() + b".b.c"),
    ),
]


@pytest.mark.parametrize("case", BROKEN_STATEMENTS, ids=lambda case: case.name)
def test_a_broken_statement_is_refused(
    case: BrokenStatement, passkey: Passkey, issuer: Issuer, vendor: None
) -> None:
    message = refusal(edited(FORMS[case.form](passkey.register(), issuer), case.edit))
    assert message.startswith("invalid authenticator attestation: ")
    assert len(message) < 400


def with_statement(passkey: Passkey, cbor: bytes) -> dict[str, str]:
    """A packed attestation whose statement is `cbor`, which no encoder would write."""
    registration = passkey.register()
    length = bytes([0x58, len(registration.authenticator_data)])
    attestation = (
        b"\xa3\x63fmt\x66packed\x67attStmt" + cbor + b"\x68authData" + length + registration.authenticator_data
    )
    return registration.attest("packed", {}) | {"attestation_object": encode_base64url(attestation)}


HOSTILE = {
    "nested without end": b"\xa1\x61x" + b"\x81" * 20000 + b"\x01",
    "maps nested without end": b"\xa1\x61x" * 9000 + b"\x01",
    "nested as far as is read": b"\xa1\x61x" + b"\x81" * 300 + b"\x01",
    "holding itself": b"\xd8\x1c\xa1\x61x\xd8\x1d\x00",
    "a signature holding itself": b"\xa1\x63sig\xd8\x1c\x81\xd8\x1d\x00",
    "certificates holding themselves": b"\xa1\x63x5c\xd8\x1c\x81\xd8\x1d\x00",
    "a list of a trillion": b"\xa1\x61x\x9b\x00\x00\x00\xff\xff\xff\xff\xff",
    "two gigabytes": b"\xa1\x61x\x5a\x7f\xff\xff\xff",
    "a number of all digits": b"\xa1\x61x\xc5\x82\x1b\x00\xff\xff\xff\xff\xff\xff\xff\x01",
    "one name twice": b"\xa2\x63alg\x26\x63alg\x26",
}


@pytest.mark.parametrize("cbor", HOSTILE.values(), ids=HOSTILE)
def test_hostile_cbor_is_refused(cbor: bytes, passkey: Passkey) -> None:
    assert "__cause__" not in refusal(with_statement(passkey, cbor))


@dataclass(frozen=True)
class Wrong:
    name: str
    arguments: Callable[[Passkey], dict[str, str]]
    says: str


def created(passkey: Passkey, **changed: Any) -> dict[str, str]:
    """A registration without attestation; `changed` replaces or (None) leaves out members of clientDataJSON."""
    good = passkey.register()
    members = {k: v for k, v in (json.loads(good.client_data_json) | changed).items() if v is not None}
    return passkey.register(client=json.dumps(members).encode()).attest("none", {})


@pytest.mark.parametrize("size", [1, 16, 255, 256, 1023])
def test_credential_ids_of_every_length(size: int, passkey: Passkey) -> None:
    known = replace(passkey, credential_id=bytes(range(256)) * 4)
    known = replace(known, credential_id=known.credential_id[:size])
    registered = verify_attestation(**created(known))
    assert decode_base64url(registered.credential_id) == known.credential_id
    assertion = read_assertion(known.assertion(b"body"))
    assert assertion.credential_id == registered.credential_id
    verify_assertion(assertion, b"body", registered.credential_public_key, rp_id_hash=registered.rp_id_hash)


def registered_as(passkey: Passkey, **changed: Any) -> dict[str, str]:
    return passkey.register(**changed).attest("none", {})


MISSING = "missing parameter: user authenticator attestation"

WRONG = [
    Wrong("no credentialId", lambda p: created(p) | {"credential_id": ""}, MISSING),
    Wrong("no clientDataJson", lambda p: created(p) | {"client_data_json": ""}, MISSING),
    Wrong("no attestationObject", lambda p: created(p) | {"attestation_object": ""}, MISSING),
    Wrong("no authData", lambda p: edited(created(p), lambda a: a.pop("authData")), f"{MISSING} auth data"),
    Wrong("authData empty", lambda p: edited(created(p), lambda a: a.update(authData=b"")), f"{MISSING} auth data"),
    Wrong("authData text", lambda p: edited(created(p), lambda a: a.update(authData="YWJj")), "authData"),
    Wrong(
        "authData cut",
        lambda p: edited(created(p), lambda a: a.update(authData=a["authData"][:60])),
        "authenticator data",
    ),
    Wrong("authData with more", lambda p: registered_as(p, tail=b"\0"), "authenticator data"),
    Wrong("credentialId not base64url", lambda p: created(p) | {"credential_id": "a+b/"}, "credentialId"),
    Wrong("credentialId of another", lambda p: created(p) | {"credential_id": "AAAA"}, "credentialId"),
    Wrong(
        "credentialId too long",
        lambda p: registered_as(replace(p, credential_id=bytes(1024))),
        "1024 bytes; at most 1023",
    ),
    Wrong("clientDataJson not base64url", lambda p: created(p) | {"client_data_json": "{}"}, "clientDataJson"),
    Wrong("clientDataJson not JSON", lambda p: created(p) | {"client_data_json": "AAAA"}, "JSON"),
    Wrong("clientDataJson too long", lambda p: created(p, pad="a" * 4096), "clientDataJson"),
    Wrong(
        "attestationObject not base64url", lambda p: created(p) | {"attestation_object": "*"}, "attestationObject"
    ),
    Wrong("attestationObject not CBOR", lambda p: created(p) | {"attestation_object": "_w"}, "CBOR"),
    Wrong("attestationObject a list", lambda p: created(p) | {"attestation_object": "gA"}, "attestationObject"),
    Wrong(
        "attestationObject too long",
        lambda p: created(p) | {"attestation_object": "A" * 70000},
        "attestationObject",
    ),
    Wrong("challenge empty", lambda p: created(p) | {"challenge": ""}, "1 to 256 characters"),
    Wrong("challenge too long", lambda p: created(p) | {"challenge": "A" * 257}, "1 to 256 characters"),
    Wrong("challenge of another", lambda p: created(p) | {"challenge": "AAAA"}, "challenge"),
    Wrong("type of an assertion", lambda p: created(p, type="webauthn.get"), "webauthn.create"),
    Wrong("no type", lambda p: created(p, type=None), "type"),
    Wrong("no challenge", lambda p: created(p, challenge=None), "challenge"),
    Wrong("no origin", lambda p: created(p, origin=None), "origin"),
    Wrong(
        "token binding of no kind", lambda p: created(p, tokenBinding={"status": "not-supported"}), "tokenBinding"
    ),
    Wrong("origin of another", lambda p: created(p, origin="https://example.org"), "relying party"),
    Wrong("origin above the relying party", lambda p: created(p, origin="https://com"), "relying party"),
    Wrong("origin merely ending alike", lambda p: created(p, origin="https://anexample.com"), "relying party"),
    Wrong("a top-level domain for a relying party", lambda p: registered_as(p, rp_id="com"), "relying party"),
    Wrong("host too long", lambda p: created(p, origin=f"https://{'a.' * 130}example.com"), "longer than 253"),
    Wrong("origin without host", lambda p: created(p, origin="https://"), "relying party"),
    Wrong("origin no URL", lambda p: created(p, origin="https://["), ""),
    Wrong("user absent", lambda p: registered_as(p, flags=p.UV | p.AT), "UP flag"),
    Wrong("no credential", lambda p: registered_as(p, flags=p.UP), "authenticator data"),
    Wrong("backed up yet not eligible", lambda p: registered_as(p, flags=p.UP | p.AT | p.BS), "backed up"),
    Wrong("extensions not there", lambda p: registered_as(p, flags=p.UP | p.AT | p.ED), "authenticator data"),
    Wrong("key of another kind", lambda p: registered_as(p, cose=p.cose(alg=-35, crv=2)), "algorithm -35"),
    Wrong("key EdDSA", lambda p: registered_as(p, cose=p.cose(kty=1, alg=-8, crv=6, y=None)), "algorithm -8"),
    Wrong("key off the curve", lambda p: registered_as(p, cose=p.cose(x=bytes(32))), "curve"),
    Wrong("key not a map", lambda p: registered_as(p, cose=b"\x01"), "not a map"),
]


@pytest.mark.parametrize("case", WRONG, ids=lambda case: case.name)
def test_wrong(case: Wrong, passkey: Passkey) -> None:
    message = refusal(case.arguments(passkey))
    assert case.says in message
    assert message.startswith((MISSING, "invalid authenticator attestation: "))


COSTLY_KEYS = {
    "3,072 bits with an exponent as long": rsa.RSAPublicNumbers((1 << 3071) + 1, (1 << 3071) + 3),
    "16,384 bits": rsa.RSAPublicNumbers(65537, (1 << 16_383) + 1),
}


@pytest.mark.parametrize("numbers", COSTLY_KEYS.values(), ids=COSTLY_KEYS)
def test_a_key_that_takes_long_to_verify_with_is_not_tried(
    numbers: rsa.RSAPublicNumbers, passkey: Passkey, issuer: Issuer
) -> None:
    certificate = issuer.issue(numbers.public_key())
    statement = {"alg": -257, "sig": b"\1" * 384, "x5c": [der(certificate)]}
    assert "RSA key of more than" in refusal(passkey.register().attest("packed", statement))


def test_more_certificates_than_a_chain_has(passkey: Passkey, issuer: Issuer) -> None:
    statement = {"alg": -7, "sig": b"\1" * 70, "x5c": [der(issuer.root)] * 9}
    assert "9 certificates; at most 8" in refusal(passkey.register().attest("packed", statement))


def test_a_credential_less_registration_is_refused(passkey: Passkey) -> None:
    data = passkey.authenticator_data(passkey.UP)
    assert "credential" in refusal(replace(passkey.register(), authenticator_data=data).attest("none", {}))


HEX_CHALLENGE = "0f" * 32


@dataclass(frozen=True)
class Right:
    name: str
    arguments: Callable[[Passkey], dict[str, str]]
    rp_ids: tuple[str, ...] = ()


RIGHT = [
    Right("challenge as given", lambda p: created(p)),
    Right("challenge padded in the client data", lambda p: created(p, challenge=p.register().challenge + "=")),
    Right("challenge padded in the request", lambda p: created(p) | {"challenge": p.register().challenge + "="}),
    Right(
        "challenge of a native client: hex, taken as text",
        lambda p: created(p, challenge=encode_base64url(HEX_CHALLENGE.encode())) | {"challenge": HEX_CHALLENGE},
    ),
    Right("padded parts", lambda p: {k: v if k == "challenge" else v + "=" for k, v in created(p).items()}),
    Right("not verified", lambda p: registered_as(p, flags=p.UP | p.AT)),
    Right("synced", lambda p: registered_as(p, flags=p.UP | p.AT | p.BE | p.BS)),
    Right("extensions", lambda p: registered_as(p, flags=p.UP | p.AT | p.ED, tail=encode_cbor({"credProtect": 2}))),
    Right("a subdomain", lambda p: created(p, origin="https://login.app.example.com:8443")),
    Right("a native app", lambda p: created(p, origin="android:apk-key-hash:pNiP5iKyQ8JwgGOaKA1zGPUPJIS")),
    Right("a browser extension", lambda p: created(p, origin="chrome-extension://abcdefgh")),
    Right("cross origin", lambda p: created(p, crossOrigin=True, topOrigin="https://a.example")),
    Right("token binding", lambda p: created(p, tokenBinding={"status": "present", "id": "x"})),
    Right("token binding as text", lambda p: created(p, tokenBinding="unused")),
    Right(
        "a related origin that we were told of",
        lambda p: created(p, origin="https://example.org"),
        ("example.com",),
    ),
    Right("localhost", lambda p: registered_as(p, rp_id="localhost", client=_local(p))),
]


def _local(passkey: Passkey) -> bytes:
    return passkey.client_data("webauthn.create", passkey.register().challenge, "http://localhost:3000")


@pytest.mark.parametrize("case", RIGHT, ids=lambda case: case.name)
def test_right(case: Right, passkey: Passkey) -> None:
    registered = verify_attestation(**case.arguments(passkey), rp_ids=case.rp_ids)
    assert registered.credential_public_key == passkey.public_key


@pytest.fixture(scope="module")
def intact(passkey: Passkey, issuer: Issuer) -> dict[str, dict[str, str]]:
    return {name: form(passkey.register(), issuer) for name, form in FORMS.items()}


# cryptography warns of a certificate that it will refuse one day (a serial number below 1, say).
@pytest.mark.filterwarnings("ignore::cryptography.utils.CryptographyDeprecationWarning")
@pytest.mark.parametrize("form", FORMS)
@given(damage=st.lists(st.tuples(st.integers(0, 4095), st.integers(0, 255)), min_size=1, max_size=4))
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
def test_any_damage_is_refused_or_harmless(
    form: str, damage: list[tuple[int, int]], passkey: Passkey, intact: dict[str, dict[str, str]], vendor: None
) -> None:
    """Bytes of the attestation object set anew: never anything but a refusal, or the same credential."""
    attestation = bytearray(decode_base64url(intact[form]["attestation_object"]))
    for at, byte in damage:
        attestation[at % len(attestation)] = byte
    try:
        registered = verify_attestation(
            **intact[form] | {"attestation_object": encode_base64url(bytes(attestation))}
        )
    except InvalidRequest:
        return
    assert registered.credential_id == encode_base64url(passkey.credential_id)


@given(
    challenge=st.text(max_size=20),
    credential_id=st.text(max_size=20),
    client_data_json=st.text(max_size=20) | st.binary(max_size=60).map(encode_base64url),
    attestation_object=st.text(max_size=20) | st.binary(max_size=200).map(encode_base64url),
)
def test_any_text_is_refused(**arguments: str) -> None:
    refusal(arguments)
