"""Fixtures of the passkey tests: a passkey in software, and the certificates of its attestations."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any, ClassVar

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from webauthn.helpers import encode_cbor

from keystead.stamps.base64url import encode_base64url
from keystead.stamps.webauthn import challenge_of

PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


@dataclass(frozen=True)
class Registration:
    """One registration before it is encoded: the bytes every attestation format signs."""

    key: PrivateKey
    credential_id: bytes
    aaguid: bytes
    challenge: str
    client_data_json: bytes
    authenticator_data: bytes

    @property
    def signed(self) -> bytes:
        return self.authenticator_data + sha256(self.client_data_json).digest()

    def attest(self, fmt: str, statement: dict[str, Any]) -> dict[str, str]:
        """The arguments of verify_attestation."""
        attestation = encode_cbor({"fmt": fmt, "attStmt": statement, "authData": self.authenticator_data})
        return {
            "challenge": self.challenge,
            "credential_id": encode_base64url(self.credential_id),
            "client_data_json": encode_base64url(self.client_data_json),
            "attestation_object": encode_base64url(attestation),
        }


@dataclass(frozen=True)
class Passkey:
    key: PrivateKey
    credential_id: bytes = b"a passkey in software"

    UP: ClassVar = 0x01
    UV: ClassVar = 0x04
    BE: ClassVar = 0x08
    BS: ClassVar = 0x10
    AT: ClassVar = 0x40
    ED: ClassVar = 0x80

    @property
    def public_key(self) -> str:
        return encode_base64url(self.cose())

    def cose(self, **changed: Any) -> bytes:
        """The public half as a COSE_Key; `changed` names members to replace, add or (None) leave out."""
        numbers: Any = self.key.public_key().public_numbers()
        labels = {"kty": 1, "alg": 3, "crv": -1, "x": -2, "y": -3, "n": -1, "e": -2}
        members: dict[str, Any]
        if isinstance(self.key, rsa.RSAPrivateKey):
            modulus = numbers.n.to_bytes((numbers.n.bit_length() + 7) // 8, "big")
            members = {"kty": 3, "alg": -257, "n": modulus, "e": numbers.e.to_bytes(3, "big")}
        else:
            point = {"x": numbers.x.to_bytes(32, "big"), "y": numbers.y.to_bytes(32, "big")}
            members = {"kty": 2, "alg": -7, "crv": 1} | point
        members |= changed
        return encode_cbor({labels[name]: value for name, value in members.items() if value is not None})

    def sign(self, data: bytes) -> bytes:
        if isinstance(self.key, rsa.RSAPrivateKey):
            return self.key.sign(data, padding.PKCS1v15(), hashes.SHA256())
        return self.key.sign(data, ec.ECDSA(hashes.SHA256()))

    @staticmethod
    def authenticator_data(
        flags: int = UP | UV, rp_id: str = "example.com", sign_count: int = 7, tail: bytes = b""
    ) -> bytes:
        return sha256(rp_id.encode()).digest() + bytes([flags]) + sign_count.to_bytes(4, "big") + tail

    @staticmethod
    def client_data(kind: str, challenge: str, origin: str = "https://example.com", **more: Any) -> bytes:
        return json.dumps({"type": kind, "challenge": challenge, "origin": origin} | more).encode()

    def assertion(
        self,
        body: bytes,
        *,
        data: bytes | None = None,
        client: bytes | None = None,
        **changed: Any,
    ) -> str:
        """An X-Stamp-WebAuthn value over `body`; `changed` replaces or (None) leaves out members of the JSON."""
        data = self.authenticator_data() if data is None else data
        client = self.client_data("webauthn.get", challenge_of(body)) if client is None else client
        members = {
            "credentialId": encode_base64url(self.credential_id),
            "clientDataJson": encode_base64url(client),
            "authenticatorData": encode_base64url(data),
            "signature": encode_base64url(self.sign(data + sha256(client).digest())),
        } | changed
        return json.dumps({name: value for name, value in members.items() if value is not None})

    def register(
        self,
        *,
        challenge: str = "Gzad94cwCpE79Ks_h0I-mVnh03wEMKijNQXw2dNjw_w",
        rp_id: str = "example.com",
        flags: int = UP | UV | AT,
        aaguid: bytes = bytes(16),
        cose: bytes | None = None,
        tail: bytes = b"",
        client: bytes | None = None,
    ) -> Registration:
        client = self.client_data("webauthn.create", challenge) if client is None else client
        cose = self.cose() if cose is None else cose
        attested = aaguid + len(self.credential_id).to_bytes(2, "big") + self.credential_id + cose + tail
        data = self.authenticator_data(flags, rp_id, 0, attested)
        return Registration(self.key, self.credential_id, aaguid, challenge, client, data)


@dataclass
class Issuer:
    """A certificate authority of its own: `root` signs what `issue` returns."""

    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))

    def __post_init__(self) -> None:
        self.root = self._certificate(
            _name("Root"), self.key.public_key(), [(x509.BasicConstraints(True, None), True)]
        )

    def issue(
        self,
        public_key: Any,
        subject: x509.Name | None = None,
        extensions: list[tuple[x509.ExtensionType, bool]] | None = None,
    ) -> x509.Certificate:
        return self._certificate(_name("Leaf") if subject is None else subject, public_key, extensions or [])

    def _certificate(
        self, subject: x509.Name, public_key: Any, extensions: list[tuple[x509.ExtensionType, bool]]
    ) -> x509.Certificate:
        now = datetime.now(UTC)
        builder = x509.CertificateBuilder(
            issuer_name=_name("Root"),
            subject_name=subject,
            public_key=public_key,
            serial_number=x509.random_serial_number(),
            not_valid_before=now - timedelta(days=1),
            not_valid_after=now + timedelta(days=1),
        )
        for extension, critical in extensions:
            builder = builder.add_extension(extension, critical)
        return builder.sign(self.key, hashes.SHA256())


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, common_name)])


@pytest.fixture(scope="session")
def passkey() -> Passkey:
    return Passkey(ec.generate_private_key(ec.SECP256R1()))


@pytest.fixture(scope="session")
def rsa_passkey() -> Passkey:
    return Passkey(rsa.generate_private_key(65537, 2048))


@pytest.fixture(scope="session")
def issuer() -> Issuer:
    return Issuer()
