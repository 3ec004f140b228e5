"""Which certificates a client accepts: those of the authorities, or none where it speaks no TLS."""

from __future__ import annotations

import datetime
import ssl
from pathlib import Path

import pytest

from keystead.cli.development.certificate import keep_certificate
from keystead.cli.development.certificate_files import CertificateFiles
from keystead.client.certificates import certificates_for
from keystead.client.errors import UsageError


@pytest.mark.parametrize(
    ("base_url", "is_direct"),
    [
        ("https://keys.example.com", True),
        ("https://keys.example.com", False),
        ("https://localhost:8443", True),
        ("HTTPS://localhost", True),
        ("http://keys.example.com", False),  # a proxy may be between that speaks TLS
    ],
)
def test_the_authorities(base_url: str, is_direct: bool) -> None:
    assert certificates_for(base_url, is_direct=is_direct) is True


def test_without_tls_none_is_accepted() -> None:
    nothing = certificates_for("http://localhost:8080", is_direct=True)
    assert isinstance(nothing, ssl.SSLContext)
    assert nothing.get_ca_certs() == []
    assert nothing.verify_mode == ssl.CERT_REQUIRED
    assert nothing.check_hostname


def test_an_authority_of_ones_own(tmp_path: Path) -> None:
    files = CertificateFiles(tmp_path / "tls")
    keep_certificate(files, [], datetime.datetime.now(datetime.UTC))
    own = certificates_for("https://localhost:8443", is_direct=True, ca_file=str(files.authority))
    assert isinstance(own, ssl.SSLContext)
    assert ["Keystead development" in str(held["subject"]) for held in own.get_ca_certs()] == [True]


@pytest.mark.parametrize("content", [None, "", "not a certificate"])
def test_a_file_that_is_no_authority(content: str | None, tmp_path: Path) -> None:
    file = tmp_path / "authority.pem"
    if content is not None:
        file.write_text(content)
    with pytest.raises(UsageError, match="ca_file"):
        certificates_for("https://localhost", is_direct=True, ca_file=str(file))
