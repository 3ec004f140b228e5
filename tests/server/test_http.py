"""HTTP around the operations: paths, methods, headers, browsers, log lines."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator

from keystead.api.catalogue import activity_kind
from keystead.api.public_schema import ACTIVITY_TYPES, PATHS
from keystead.operations import CATALOGUE
from keystead.pipeline.operation import ActivityOperation
from keystead.server.pages import PAGES
from tests.support.callers import SDK_FORM, Caller, answered, refusal
from tests.support.servers import Server

pytestmark = pytest.mark.one_engine

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
ANSWERED = {operation.path for operation in CATALOGUE}
WHOAMI = "/public/v1/query/whoami"


@pytest.fixture
def server(sqlite_server: Server) -> Server:
    """No database makes a difference here."""
    return sqlite_server


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "PATCH", "TRACE"])
@pytest.mark.parametrize("path", [WHOAMI, "/public/v1/submit/create_wallet"])
def test_operations_are_posted_to(method: str, path: str, caller: Caller) -> None:
    response = caller.http.request(method, path)
    assert (response.status_code, response.headers["content-type"]) == (405, "application/json")
    assert method == "HEAD" or refusal(response)[1].startswith(f"{method} {path}: ")


@pytest.mark.parametrize("path", sorted(PATHS - ANSWERED))
def test_paths_of_the_schema_that_are_not_answered_yet(path: str, caller: Caller) -> None:
    status, message = refusal(caller.post(path, caller.query_body()))
    assert (status, path.rpartition("/")[2] in message) == (501, True), message


KINDS = {
    activity_kind(name): operation
    for operation in CATALOGUE
    if isinstance(operation, ActivityOperation)
    for name in operation.activity_types
}
VERSIONS = sorted(name for name in ACTIVITY_TYPES if activity_kind(name) in KINDS and not CATALOGUE.of_type(name))


@pytest.mark.parametrize("activity_type", VERSIONS)
def test_versions_of_the_schema_that_are_not_answered_yet(activity_type: str, caller: Caller) -> None:
    operation = KINDS[activity_kind(activity_type)]
    status, message = refusal(caller.submit(operation.name, {}, type=activity_type))
    assert (status, f"{activity_type} is not implemented" in message) == (501, True), message


UNKNOWN_PATHS = [
    "/public",
    "/public/v1",
    "/public/v1/query",
    "/public/v1/query/",
    "/public/v1/query/whoami/",
    "/public/v1/query/Whoami",
    "/public/v1/query/create_wallet",
    "/public/v1/submit/whoami",
    "/public/v2/query/whoami",
    "/v1/query/whoami",
    "/public/v1/query/..%2fquery/whoami",
    "/public/v1%2fquery/whoami",
    "/public/v1/query/%ff",
    "/public/v1/query/%00",
    "/public/v1/query/" + "x" * 5000,
    "/docs",
    "/metrics",
    "/.env",
]


@pytest.mark.parametrize("path", UNKNOWN_PATHS)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_unknown_path(method: str, path: str, caller: Caller) -> None:
    status, message = refusal(caller.http.request(method, path, content=b"{}" if method == "POST" else None))
    assert (status, message.startswith("no such path: /"), len(message) < 300) == (404, True, True)


@pytest.mark.parametrize(
    ("path", "end"),
    [
        ("query/list_walets", "/query/list_walets: did you mean query/list_wallets?"),
        ("submit/create_walet", "/submit/create_walet: did you mean submit/create_wallet?"),
        ("query/list_policy_warning", ": did you mean query/list_policy_warnings?"),
        ("submit/list_walets", ": did you mean query/list_wallets?"),
        ("query/create_wallet", ": create_wallet is a submission: submit/create_wallet"),
        ("submit/list_wallets", ": list_wallets is a query: query/list_wallets"),
        ("query/qqqq", "/query/qqqq"),
        ("query/List_walets", "/query/List_walets"),
        ("query/list_walets/", "/query/list_walets/"),
    ],
)
def test_what_is_probably_meant(path: str, end: str, caller: Caller) -> None:
    status, message = refusal(caller.http.post(f"/public/v1/{path}", content=b"{}"))
    assert (status, message.endswith(end)) == (404, True), message


@pytest.mark.parametrize("path", ["//public/v1/query/whoami", "/public//v1/query///whoami", WHOAMI + "?x=1"])
def test_other_spellings_of_a_path(path: str, caller: Caller, server: Server) -> None:
    assert caller.post(server.base_url + path, caller.query_body()).json()["userId"] == caller.user_id


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/openapi.json"])
def test_pages(path: str, caller: Caller) -> None:
    response = caller.http.get(path)
    assert isinstance(answered(response), dict)
    assert caller.http.head(path).status_code == 200
    assert refusal(caller.http.post(path))[0] == 405


CONTENT_TYPES = [
    None,
    "application/json",
    "application/json; charset=utf-8",
    "text/plain",
    "application/x-www-form-urlencoded",
]


@pytest.mark.parametrize("content_type", CONTENT_TYPES)
def test_a_body_is_json_whatever_its_type_says(content_type: str | None, caller: Caller) -> None:
    headers = {"Content-Type": content_type} if content_type else {}
    assert caller.asked("whoami", headers)["userId"] == caller.user_id


def every_kind_of_answer(caller: Caller) -> dict[int, httpx.Response]:
    http, body = caller.http, caller.query_body()
    responses = [
        caller.post(WHOAMI, body),
        http.options(WHOAMI),
        caller.post(WHOAMI, b"{}"),
        http.post(WHOAMI, content=body),
        caller.ask("get_user", userId=caller.organization_id),
        http.get(WHOAMI),
        caller.post(WHOAMI, b" " * 1_048_577),
        http.get("/healthz", headers={"X-Long": "x" * 40_000}),
        http.post("/public/v1/submit/eth_send_transaction"),
        caller.new_user().submit("create_user_tag", {"userTagName": "x", "userIds": []}),
    ]
    return {response.status_code: response for response in responses}


def test_every_answer(caller: Caller) -> None:
    """Content type, request id, no redirect, nothing about the software."""
    responses = every_kind_of_answer(caller)
    assert set(responses) == {200, 204, 400, 401, 403, 404, 405, 413, 431, 501}
    for response in responses.values():
        assert response.headers.get_list("content-type") == ["application/json"]
        assert UUID.fullmatch(response.headers["x-request-id"])
        assert "location" not in response.headers
        assert "server" not in response.headers
    assert len({response.headers["x-request-id"] for response in responses.values()}) == len(responses)


def test_every_answer_has_a_line_in_the_log(caller: Caller, server: Server) -> None:
    for status, response in every_kind_of_answer(caller).items():
        line = server.request_line(response)
        assert (line["event"], line["status"], line["level"]) == (
            "request",
            status,
            "error" if status > 499 else "info",
        )


def test_line_of_a_submission(caller: Caller, server: Server) -> None:
    response = caller.submit("create_user_tag", {"userTagName": "logged", "userIds": []})
    line = server.request_line(response)
    assert (
        line
        | {
            "method": "POST",
            "path": "/public/v1/submit/create_user_tag",
            "organization_id": caller.organization_id,
            "user_id": caller.user_id,
            "activity_id": response.json()["activity"]["id"],
            "error": "",
        }
        == line
    )


def test_line_of_a_refusal(caller: Caller, server: Server) -> None:
    response = caller.ask("get_user", userId="nobody")
    assert server.request_line(response)["error"] == refusal(response)[1]


def test_preflight(caller: Caller) -> None:
    asked = {"Origin": "https://app.example", "Access-Control-Request-Method": "POST"}
    response = caller.http.options(WHOAMI, headers=asked | {"Access-Control-Request-Headers": "x-stamp"})
    allowed = {name.strip().lower() for name in response.headers["access-control-allow-headers"].split(",")}
    assert (response.status_code, response.content) == (204, b"")
    assert response.headers["access-control-allow-origin"] == "*"
    assert response.headers["access-control-allow-methods"] == "POST"
    assert allowed >= {
        "content-type",
        "x-stamp",
        "x-stamp-webauthn",
        "x-stamp-attested",
        "x-client-version",
        "x-session",
    }


def test_no_content_has_no_length(caller: Caller) -> None:
    """RFC 9110, section 8.6."""
    assert "content-length" not in caller.http.options(WHOAMI).headers


def test_answers_to_a_browser(caller: Caller) -> None:
    origin = {"Origin": "https://app.example"}
    for response in (caller.ask("whoami", origin), caller.http.post(WHOAMI, headers=origin)):
        assert response.headers["access-control-allow-origin"] == "*"
        assert response.headers["access-control-expose-headers"] == "X-Request-Id"


@pytest.mark.parametrize(
    "headers",
    [
        SDK_FORM,
        {"X-Client-Version": ""},
        {"X-TVC-CLIENT-VERSION": "1"},
        {"User-Agent": "turnkey-rust-client/0.1"},
        {"User-Agent": "Go-http-client/1.1"},
    ],
    ids=str,
)
def test_who_gets_the_sdk_form(headers: dict[str, str], caller: Caller) -> None:
    activity = caller.submit("create_user_tag", {"userTagName": str(headers), "userIds": []}, headers).json()[
        "activity"
    ]
    assert set(activity["createdAt"]) == {"seconds", "nanos"}
    assert "activity" not in activity["result"]


@pytest.mark.parametrize(
    "agent", ["curl/8.0", "python-requests/2", "my-turnkey-app", "Mozilla/5.0 Go-http-client/1.1"]
)
def test_who_gets_the_documented_form(agent: str, caller: Caller) -> None:
    activity = caller.submitted("create_user_tag", {"userTagName": agent, "userIds": []}, {"User-Agent": agent})
    assert isinstance(activity["createdAt"], str)
    assert "activity" in activity["result"]


@pytest.mark.parametrize("path", [page.path for page in PAGES])
def test_a_page_answers_as_the_document_says(path: str, caller: Caller) -> None:
    document = answered(caller.http.get("/openapi.json"))
    schema = document["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    Draft202012Validator({**schema, "components": document["components"]}).validate(answered(caller.http.get(path)))


def test_openapi_names_every_operation_and_every_page(caller: Caller) -> None:
    document: dict[str, Any] = answered(caller.http.get("/openapi.json"))
    pages = {path for path, methods in document["paths"].items() if "get" in methods}
    assert set(document["paths"]) == ANSWERED | pages
    for page in pages:
        assert caller.http.get(page).status_code == 200
