"""An OpenID Connect issuer of the tests' own that tells its keys on a port of this machine.

Not here: its tokens (`issuers`), a real provider (`tests/browser`).
"""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.support.issuers import Issuer


class _Answers(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = json.dumps(self.server.answers[self.path]).encode()  # type: ignore[attr-defined]
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def issuer_on_this_machine(tls: ssl.SSLContext | None = None) -> Iterator[Issuer]:
    """The issuer, which is asked over HTTPS with `tls`, else over HTTP."""
    http = ThreadingHTTPServer(("127.0.0.1", 0), _Answers)
    if tls is not None:
        http.socket = tls.wrap_socket(http.socket, server_side=True)
    issuer = Issuer(url=f"{'https' if tls else 'http'}://127.0.0.1:{http.server_port}/tests")
    http.answers = {  # type: ignore[attr-defined]
        "/tests/.well-known/openid-configuration": {"issuer": issuer.url, "jwks_uri": f"{issuer.url}/keys"},
        "/tests/keys": issuer.jwks(),
    }
    thread = threading.Thread(target=http.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield issuer
    finally:
        http.shutdown()
        http.server_close()
        thread.join()
