"""GET /console/…: the console's files over HTTP.

Not here: the files and their headers (`keystead.console`), the link that logs in (`link`), which other
logins there are (`logins`), the log line (`application`).
"""

from __future__ import annotations

import re
from typing import Final

from keystead.api.errors import MethodNotAllowed, NotFound
from keystead.console import CONSOLE_PATH, ConsoleLogins, console_files
from keystead.server.http.messages import HttpAnswer, HttpRequest

_FOLDER: Final = CONSOLE_PATH.rstrip("/")

_FILE_PATH: Final = re.compile(r"[A-Za-z0-9/._-]*.?")


def is_console(path: str) -> bool:
    return path == _FOLDER or path.startswith(CONSOLE_PATH)


def without_secret(path: str) -> str:
    """The path to answer and to log. A link that logs in to the console has a secret after its "#". A program that
    changes or encodes the "#" sends the secret in the path. No file's name has the last character that is left."""
    plain = _FILE_PATH.match(path) if path.startswith(_FOLDER) else None
    return path if plain is None else plain[0]


class ConsoleAnswers:
    """Answers requests for paths of the console."""

    def __init__(self, *, is_development: bool, logins: ConsoleLogins) -> None:
        self._files = console_files(is_development=is_development, logins=logins)

    async def answer(self, path: str, request: HttpRequest) -> HttpAnswer:
        """The answer with a file, or the answer 304 if the browser's copy of the file is current. Raises NotFound,
        MethodNotAllowed."""
        file = self._files.get(path.removeprefix(CONSOLE_PATH))
        if file is None and path != _FOLDER:
            raise NotFound(f"no such path: {path[:200]}")
        if request.method not in ("GET", "HEAD"):
            raise MethodNotAllowed(f"{request.method} {path}: this path accepts GET only")
        if file is None:
            return HttpAnswer(308, [(b"location", CONSOLE_PATH.encode())], b"")
        # The browser asks each time, so that a new version of the server never meets files of an older one.
        cached = [(b"etag", file.etag), (b"cache-control", b"no-cache")]
        if dict(request.headers).get(b"if-none-match") == file.etag:
            return HttpAnswer(304, cached, b"")
        return HttpAnswer(200, [(b"content-type", file.content_type), *cached], file.content)
