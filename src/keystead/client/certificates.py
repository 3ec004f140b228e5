"""Which certificates a client of httpx accepts."""

from __future__ import annotations

import ssl
from urllib.parse import urlsplit

from keystead.client.errors import UsageError


def certificates_for(base_url: str, *, is_direct: bool, ca_file: str | None = None) -> ssl.SSLContext | bool:
    """The value for the parameter `verify` of httpx.

    `is_direct`: there is no proxy, to which httpx might use TLS. `ca_file`: a PEM file of the authority that signs
    the server's certificate; None for those that everybody trusts. Raises UsageError if it cannot be read.

    Loading the certificates of the authorities takes longer than most requests. It is therefore not done for a
    server without TLS; the returned context refuses every connection with TLS.
    """
    if is_direct and urlsplit(base_url).scheme == "http":
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if ca_file is None:
        return True
    try:
        return ssl.create_default_context(cafile=ca_file)
    except OSError as failed:  # ssl.SSLError is one, too
        raise UsageError(f"ca_file {ca_file}: {failed.strerror or 'not a certificate in PEM'}") from None
