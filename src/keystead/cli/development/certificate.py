"""The certificate of `keystead dev --tls`, for clients that refuse http. The first start makes it.

An authority signs the server's certificate, and its key is forgotten at once: who trusts the authority trusts this
server's key and nothing else. Not here: serving with it (`server.http.tls`).
"""

from __future__ import annotations

import datetime
import ipaddress
import os
import shutil
from collections.abc import Sequence

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from keystead.cli.development.certificate_files import CertificateFiles

_LASTS_DAYS = 825
"""Apple's systems refuse a longer life."""

_RENEWED_DAYS = 30
"""A start makes a new certificate if the old one ends within this time."""

_NAMES = ("localhost", "127.0.0.1", "::1")


def keep_certificate(files: CertificateFiles, hosts: Sequence[str], now: datetime.datetime) -> None:
    """Make the certificate if there is none, if it ends soon, or if it lacks an address.

    `hosts`: the IP addresses that the server listens on. Raises OSError.
    """
    names = list(dict.fromkeys((*_NAMES, *hosts)))
    if not (files.exist() and _serves(files, names, now)):
        _make(files, names, now)


def _serves(files: CertificateFiles, names: Sequence[str], now: datetime.datetime) -> bool:
    try:
        read = x509.load_pem_x509_certificate(files.chain.read_bytes())
        held = read.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, x509.ExtensionNotFound):
        return False
    lasts = read.not_valid_after_utc - now > datetime.timedelta(days=_RENEWED_DAYS)
    return lasts and set(map(_general_name, names)) <= set(held)


def _make(files: CertificateFiles, names: Sequence[str], now: datetime.datetime) -> None:
    """Write the three files, all or none."""
    authority_key, key = generate_private_key(SECP256R1()), generate_private_key(SECP256R1())
    authority = _authority(authority_key, now)
    certificate = (
        _builder(f"Keystead, {names[0]}", authority.subject, key, now)
        .add_extension(x509.SubjectAlternativeName(map(_general_name, names)), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False
        )
        .sign(authority_key, SHA256())
    )
    unfinished = CertificateFiles(files.folder.with_name(f"{files.folder.name}.{os.getpid()}"))
    unfinished.folder.mkdir(mode=0o700)
    pem = authority.public_bytes(Encoding.PEM)
    unfinished.authority.write_bytes(pem)
    unfinished.chain.write_bytes(certificate.public_bytes(Encoding.PEM) + pem)
    descriptor = os.open(unfinished.key, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    if files.folder.exists():
        shutil.rmtree(files.folder)
    unfinished.folder.rename(files.folder)


def _authority(key: EllipticCurvePrivateKey, now: datetime.datetime) -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"Keystead development, {now:%Y-%m-%d %H:%M:%S}")])
    return (
        _builder("", subject, key, now)
        .subject_name(subject)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(_signs_certificates(), critical=True)
        .sign(key, SHA256())
    )


def _builder(
    common_name: str, issuer: x509.Name, key: EllipticCurvePrivateKey, now: datetime.datetime
) -> x509.CertificateBuilder:
    builder = (
        x509.CertificateBuilder()
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=_LASTS_DAYS - 1))
    )
    if not common_name:
        return builder
    return builder.subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)]))


def _signs_certificates() -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=False,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=True,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
