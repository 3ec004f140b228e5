"""GET /console/…: the console's files over HTTP.

Not here: the files and their headers (`keystead.console`), the link that logs in (`console_link`), which other
logins there are (`console_logins`), the log line (`application`).
"""

from __future__ import annotations

from typing import Final

from keystead.api.errors import MethodNotAllowed, NotFound
from keystead.console import CONSOLE_PATH, ConsoleLogins, console_files
from keystead.server.http_messages import HttpAnswer, HttpRequest
from keystead.server.logs import RequestLine

_FOLDER: Final = CONSOLE_PATH.rstrip("/")


def is_console(path: str) -> bool:
    return path == _FOLDER or path.startswith(CONSOLE_PATH)


class ConsoleAnswers:
    """Answers requests for paths of the console."""

    def __init__(self, *, is_development: bool, logins: ConsoleLogins) -> None:
        self._files = console_files(is_development=is_development, logins=logins)

    async def answer(self, path: str, request: HttpRequest, line: RequestLine) -> HttpAnswer:
        """The answer with a file, or the answer 304 if the browser's copy of the file is current. Raises NotFound,
        MethodNotAllowed."""
        file = self._files.get(path.removeprefix(CONSOLE_PATH))
        if file is None and path != _FOLDER:
            # A link that logs in has a secret after its "#". A program that encodes the "#" sends the secret in the
            # path. No file has a "%" in its name.
            line.path = "".join(path[:200].partition("%")[:2])
            raise NotFound(f"no such path: {line.path}")
        if request.method not in ("GET", "HEAD"):
            raise MethodNotAllowed(f"{request.method} {path}: this path accepts GET only")
        if file is None:
            return HttpAnswer(308, [(b"location", CONSOLE_PATH.encode())], b"")
        # The browser asks each time, so that a new version of the server never meets files of an older one.
        cached = [(b"etag", file.etag), (b"cache-control", b"no-cache")]
        if dict(request.headers).get(b"if-none-match") == file.etag:
            return HttpAnswer(304, cached, b"")
        return HttpAnswer(200, [(b"content-type", file.content_type), *cached], file.content)
