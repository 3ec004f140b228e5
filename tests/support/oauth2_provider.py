"""A provider of OAuth 2.0 on a port of this machine, for servers that log people in with X and Discord.

It accepts every code except BAD_CODE from a client with SECRET. It answers with a person whose id is the code;
characters that are not ASCII are escaped.
"""

from __future__ import annotations

import functools
import json
import threading
from base64 import b64decode
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, quote, unquote

SECRET = "secret & colon: ü"
BAD_CODE = "refused"
SILLY_CODE = "silly"
UNREADABLE_CODE = "unreadable"
"""The access token for it is not ASCII, so no header can carry it."""


class _Provider(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        fields = parse_qs(self.rfile.read(int(self.headers["content-length"])).decode())
        credentials = b64decode(self.headers["authorization"].removeprefix("Basic ")).decode()
        client_id, _, secret = credentials.partition(":")
        code = fields["code"][0]
        is_right = (unquote(client_id), unquote(secret)) == (fields["client_id"][0], SECRET)
        if code == BAD_CODE or not is_right or fields["grant_type"] != ["authorization_code"]:
            self._answer(400, {"error": "invalid_grant"})
        else:
            token = "bearer \u00e9" if code == UNREADABLE_CODE else f"bearer {quote(code, safe=' ')[:200]}"
            self._answer(200, {"access_token": token, "token_type": "bearer"})

    def do_GET(self) -> None:
        code = self.headers["authorization"].removeprefix("Bearer bearer ")
        if code == SILLY_CODE:
            self._answer(200, {"id": "", "data": {}})
        else:
            self._answer(200, {"data": {"id": code}} if self.path == "/x" else {"id": code})

    def _answer(self, status: int, members: dict[str, Any]) -> None:
        body = json.dumps(members).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


@functools.cache
def provider_settings() -> dict[str, str]:
    """The settings of a server that asks this provider, which runs until the tests end."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Provider)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_address[1]}"
    return {
        "oauth2_x_exchange_url": f"{base}/token",
        "oauth2_x_user_url": f"{base}/x",
        "oauth2_discord_exchange_url": f"{base}/token",
        "oauth2_discord_user_url": f"{base}/discord",
    }
