"""Which certificates a client accepts: those of the authorities, or none where it speaks no TLS."""

from __future__ import annotations

import ssl

import pytest

from keystead.client.certificates import certificates_for


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
