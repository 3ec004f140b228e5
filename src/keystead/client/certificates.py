"""Which certificates a client of httpx accepts."""

from __future__ import annotations

import ssl
from urllib.parse import urlsplit


def certificates_for(base_url: str, *, is_direct: bool) -> ssl.SSLContext | bool:
    """The value for the parameter `verify` of httpx. `is_direct`: there is no proxy, to which httpx might use TLS.

    Loading the certificates of the authorities takes longer than most requests. It is therefore not done for a
    server without TLS; the returned context refuses every connection with TLS.
    """
    if is_direct and urlsplit(base_url).scheme == "http":
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return True
