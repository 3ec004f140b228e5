"""The one place that answers requests and writes their log lines, with parts that answer in every way."""

from __future__ import annotations

import asyncio
import json

import pytest

from keystead.api.errors import NotFound
from keystead.server.application import Application
from keystead.server.http.messages import CallerAddress, HttpAnswer, HttpRequest
from keystead.server.logs import RequestLine
from keystead.server.service import Service
from keystead.server.settings.settings import AllSettings

CASES: list[tuple[str, bytes | HttpAnswer | Exception, int, str, str]] = [
    ("JSON", b"{}", 200, "info", ""),
    ("an answer of its own", HttpAnswer(308, [(b"location", b"/")], b""), 308, "info", ""),
    ("a refusal", NotFound("there is no such thing"), 404, "info", "there is no such thing"),
    ("a defect", RuntimeError("with a secret"), 500, "error", "internal server error (ID)"),
]


@pytest.mark.parametrize(
    ("found", "status", "level", "error"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_every_outcome_has_an_answer_and_a_line(
    found: bytes | HttpAnswer | Exception, status: int, level: str, error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async def respond(path: str, request: HttpRequest, line: RequestLine) -> bytes | HttpAnswer:
        if isinstance(found, Exception):
            raise found
        return found

    async def story() -> HttpAnswer:
        application = Application(Service(AllSettings(database_url="sqlite:///unused")))
        request = HttpRequest(method="GET", path="/a", client=CallerAddress("192.0.2.1"))
        answer = await application.answer(request, respond)
        await asyncio.sleep(0)  # the line is written in the next iteration of the event loop
        return answer

    answer = asyncio.run(story())
    (line,) = [json.loads(line) for line in capsys.readouterr().err.splitlines() if line.startswith("{")]
    request_id = dict(answer.headers)[b"x-request-id"].decode()
    assert (answer.status, line["status"], line["level"], line["request_id"]) == (status, status, level, request_id)
    assert (line["event"], line["method"], line["path"], line["client"]) == ("request", "GET", "/a", "192.0.2.1")
    assert line["error"] == error.replace("ID", request_id)
    assert b"secret" not in answer.body
