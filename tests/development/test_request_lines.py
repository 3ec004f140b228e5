"""The log lines of a development server: one for each answer, also of controls, faults and the console's files. No
line has a secret."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import httpx
import pytest

from keystead import DevControls
from keystead.api.developer_controls import FAULTS, FaultUpdate
from tests.support.dev_servers import Started, dev
from tests.support.hanging import PATIENCE_S

SAME_SITE = {"sec-fetch-site": "same-origin", "content-type": "application/json"}
CHANGE = {**SAME_SITE, "x-keystead-dev": "1"}
FOREIGN = {"origin": "https://attacker.example"}
SECRET = "a-secret-of-this-test"
LOGIN = json.dumps({"secret": SECRET, "publicKey": "02" + "11" * 32})
WHOAMI = "/public/v1/query/whoami"


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    with dev(tmp_path_factory.mktemp("request_lines"), "--memory", "--log", "json") as started:
        yield started


@pytest.fixture(scope="module")
def http(started: Started) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=started.base_url, trust_env=False, timeout=PATIENCE_S) as http:
        yield http


@pytest.fixture
def controls(started: Started) -> Iterator[DevControls]:
    with DevControls(started.base_url) as controls:
        yield controls
        controls.reset()


def log_lines(started: Started) -> list[dict[str, Any]]:
    """The banner has other lines, and the secret of the console's link."""
    return [json.loads(line) for line in started.log.read_text().splitlines() if line.startswith("{")]


def request_line(started: Started, request_id: str) -> dict[str, Any]:
    started.wait_for(f'"request_id":"{request_id}","client"')
    (line,) = [
        line for line in log_lines(started) if line["event"] == "request" and line["request_id"] == request_id
    ]
    return line


ANSWERS: list[tuple[str, str, str, Mapping[str, str], str, int, str]] = [
    ("the list of controls", "GET", "/dev/v1", SAME_SITE, "", 200, "/dev/v1"),
    ("a control", "GET", "/dev/v1/clock", SAME_SITE, "", 200, "/dev/v1/clock"),
    ("two slashes", "GET", "//dev/v1/clock", SAME_SITE, "", 200, "/dev/v1/clock"),
    ("a change", "POST", "/dev/v1/clock", CHANGE, "{}", 200, "/dev/v1/clock"),
    ("a change that is refused", "POST", "/dev/v1/clock", CHANGE, '{"unknown":1}', 400, "/dev/v1/clock"),
    ("no control", "GET", "/dev/v1/nothing", SAME_SITE, "", 404, "/dev/v1/nothing"),
    ("another method", "DELETE", "/dev/v1/clock", SAME_SITE, "", 405, "/dev/v1/clock"),
    ("a foreign page", "GET", "/dev/v1/clock", FOREIGN, "", 403, "/dev/v1/clock"),
    ("a preflight for a control", "OPTIONS", "/dev/v1/clock", FOREIGN, "", 403, "/dev/v1/clock"),
    ("a preflight for the outbox", "OPTIONS", "/dev/v1/outbox", FOREIGN, "", 403, "/dev/v1/outbox"),
    ("a preflight for a login", "OPTIONS", "/dev/v1/console-login", FOREIGN, "", 403, "/dev/v1/console-login"),
    ("the outbox", "GET", "/dev/v1/outbox", SAME_SITE, "", 200, "/dev/v1/outbox"),
    ("a login", "POST", "/dev/v1/console-login", SAME_SITE, LOGIN, 403, "/dev/v1/console-login"),
    ("a query with a secret", "GET", f"/dev/v1/clock?login={SECRET}", SAME_SITE, "", 200, "/dev/v1/clock"),
    ("the console", "GET", f"/console/?login={SECRET}", {}, "", 200, "/console/"),
    ("a file of the console", "GET", "/console/main.js", {}, "", 200, "/console/main.js"),
    ("a link with an encoded #", "GET", f"/console/%23login={SECRET}", {}, "", 404, "/console/%"),
    ("a link with an encoded % and #", "POST", f"/console/%2523login={SECRET}", {}, "", 404, "/console/%"),
    ("a link without #", "GET", f"/console/login={SECRET}", {}, "", 404, "/console/login="),
    ("a link with another character than #", "GET", f"/console/;login={SECRET}", {}, "", 404, "/console/;"),
    ("a link with an encoded /", "GET", f"/console%2F%23login={SECRET}", {}, "", 404, "/console%"),
]


@pytest.mark.parametrize(
    ("method", "target", "headers", "body", "status", "path"),
    [case[1:] for case in ANSWERS],
    ids=[case[0] for case in ANSWERS],
)
def test_every_answer_has_one_line(
    started: Started,
    http: httpx.Client,
    method: str,
    target: str,
    headers: Mapping[str, str],
    body: str,
    status: int,
    path: str,
) -> None:
    url = httpx.URL(started.base_url).copy_with(raw_path=target.encode())
    answer = http.request(method, url, headers=headers, content=body)
    line = request_line(started, answer.headers["x-request-id"])
    assert (answer.status_code, line["status"], line["level"]) == (status, status, "info")
    assert (line["method"], line["path"], line["client"]) == (method, path, "127.0.0.1")
    assert line["error"] == (answer.json()["message"] if status >= 400 else "")
    assert not [name for name in answer.headers if name.startswith("access-control")]
    assert SECRET not in json.dumps(log_lines(started))


def test_the_secret_of_the_link_is_in_no_line(started: Started, http: httpx.Client) -> None:
    found = re.search(r"#login=([\w-]+)", started.log.read_text())
    assert found is not None
    login = {"secret": found[1], "publicKey": "02" + "11" * 32}
    answer = http.post("/dev/v1/console-login", json=login)
    stamp = answer.json()["stamp"]
    line = request_line(started, answer.headers["x-request-id"])
    assert (answer.status_code, line["status"]) == (200, 200)
    assert not [secret for secret in (found[1], stamp) if secret in json.dumps(log_lines(started))]


@pytest.mark.parametrize(("status", "level"), [(418, "info"), (503, "error")])
def test_a_chosen_status(
    started: Started, http: httpx.Client, controls: DevControls, status: int, level: str
) -> None:
    controls.change(FAULTS, FaultUpdate(status=status, delay_ms=100))
    answer = http.post(WHOAMI, json={})
    line = request_line(started, answer.headers["x-request-id"])
    assert (answer.status_code, line["status"], line["level"]) == (status, status, level)
    assert line["error"] == answer.json()["message"]
    assert line["ms"] >= 50  # the timers of the event loop may be early by some milliseconds
    assert [seen.request_id for seen in controls.requests()] == [line["request_id"]]


def test_a_chosen_rate_limit_does_not_count_as_failures_of_the_address(
    started: Started, http: httpx.Client, controls: DevControls
) -> None:
    controls.limit_rate(1)
    answers = [http.post(WHOAMI, json={}) for _ in range(50)]
    refused = [answer for answer in answers if answer.status_code == 429]
    assert len(refused) > 40
    for answer in refused:
        line = request_line(started, answer.headers["x-request-id"])
        assert (line["status"], line["error"]) == (429, answer.json()["message"])
    controls.limit_rate(0)
    assert http.post(WHOAMI, json={}).status_code == 401


def test_a_connection_that_is_cut_has_a_warning_and_no_request_line(
    started: Started, http: httpx.Client, controls: DevControls
) -> None:
    controls.faults.cut()
    with pytest.raises(httpx.TransportError):
        http.post(WHOAMI, json={})
    (warning,) = [line for line in log_lines(started) if line["event"] == f"chosen fault: POST {WHOAMI}: cut"]
    assert warning["level"] == "warning"
    of_request = [line for line in log_lines(started) if line.get("request_id") == warning["request_id"]]
    assert of_request == [warning]
