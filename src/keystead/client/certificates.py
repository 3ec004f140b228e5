"""Which certificates a client of httpx accepts."""

from __future__ import annotations

import ssl
from urllib.parse import urlsplit


def certificates_for(base_url: str, *, is_direct: bool) -> ssl.SSLContext | bool:
    """What httpx is to verify with. `is_direct`: no proxy is between, to which it might speak TLS.

    To load the authorities' certificates takes longer than most requests, so that is not done for a server without
    TLS. A connection with TLS would be refused then.
    """
    if is_direct and urlsplit(base_url).scheme == "http":
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return True
