"""GET /console/…: the console's files over HTTP.

Not here: the files and their headers (`keystead.console`), the link that logs in (`console_link`), which other
logins there are (`console_logins`).
"""

from __future__ import annotations

from typing import Final

from keystead.api.errors import MethodNotAllowed, NotFound, ServiceError
from keystead.api.rendering import error_answer
from keystead.console import CONSOLE_PATH, SECURITY_HEADERS, ConsoleLogins, console_files
from keystead.server.http_messages import Header, HttpAnswer, HttpRequest

_FOLDER: Final = CONSOLE_PATH.rstrip("/")


class ConsoleAnswers:
    """Answers requests for paths below /console/. They are not logged, because the answers are the same for
    everybody and one page sends dozens of requests."""

    def __init__(self, *, is_development: bool, logins: ConsoleLogins) -> None:
        self._files = console_files(is_development=is_development, logins=logins)

    def has(self, path: str) -> bool:
        return path == _FOLDER or path.startswith(CONSOLE_PATH)

    def answer(self, path: str, request: HttpRequest) -> HttpAnswer:
        """The answer with a file, or the answer 304 if the browser's copy of the file is current."""
        if request.method not in ("GET", "HEAD"):
            return _error(MethodNotAllowed(f"{request.method} {path}: this path accepts GET only"))
        if path == _FOLDER:
            return _answer(308, b"", (b"location", CONSOLE_PATH.encode()))
        file = self._files.get(path.removeprefix(CONSOLE_PATH))
        if file is None:
            return _error(NotFound(f"no such path: {path[:200]}"))
        # The browser asks each time, so that a new version of the server never meets files of an older one.
        cached = ((b"etag", file.etag), (b"cache-control", b"no-cache"))
        if dict(request.headers).get(b"if-none-match") == file.etag:
            return _answer(304, b"", *cached)
        return _answer(200, file.content, (b"content-type", file.content_type), *cached)


def _error(error: ServiceError) -> HttpAnswer:
    return _answer(error.http_status, error_answer(error), (b"content-type", b"application/json"))


def _answer(status: int, body: bytes, *headers: Header) -> HttpAnswer:
    return HttpAnswer(status, [*headers, *SECURITY_HEADERS], body)
