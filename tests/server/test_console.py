"""The console over HTTP: its files, the headers that confine them, and the link that logs in once."""

from __future__ import annotations

import re
from typing import Any

import httpx
import msgspec
import pytest
from msgspec.structs import replace

from keystead.api.errors import InvalidRequest, PermissionDenied, Unauthenticated
from keystead.client.credentials import Credentials
from keystead.console import ConsoleLogins, OidcLogin, console_files
from keystead.server.bounds import CONSOLE_LINKS_MAX
from keystead.server.console.link import LINK_PATH, LINK_REQUEST, LOGIN_PATH, ConsoleLinks
from keystead.server.console.logins import console_logins
from keystead.server.http.messages import CallerAddress, HttpRequest
from keystead.server.settings.settings import Settings, SettingsError
from keystead.stamps.api_key import read_stamp, verify_stamp
from keystead.stamps.signing import ApiKeyPair, ApiKeyStamper, generate_api_key
from tests.conftest import StartServer
from tests.support.callers import refusal
from tests.support.servers import Installation, Server

FILES = sorted(console_files(is_development=False, logins=ConsoleLogins()))
KEY = generate_api_key(seed=b"a key of the console's tests")


@pytest.fixture(scope="module")
def http(sqlite_server: Server) -> httpx.Client:
    return sqlite_server.caller.http


@pytest.mark.parametrize("path", FILES)
def test_every_file_is_answered_confined(path: str, http: httpx.Client) -> None:
    answer = http.get(f"/console/{path}")
    assert answer.status_code == 200
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy  # no foreign origin
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in answer.headers
    again = http.get(f"/console/{path}", headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


TYPES = [
    ("", "text/html; charset=utf-8"),
    ("main.js", "text/javascript; charset=utf-8"),
    ("console.css", "text/css; charset=utf-8"),
    ("icon.svg", "image/svg+xml"),
]


@pytest.mark.parametrize(("path", "content_type"), TYPES)
def test_types(path: str, content_type: str, http: httpx.Client) -> None:
    assert http.get(f"/console/{path}").headers["content-type"] == content_type


@pytest.mark.parametrize(
    "path", ["index.html", "nothing", "../__init__.py", "..%2f__init__.py", "vendor", "vendor/", "main.js/"]
)
def test_nothing_else_is_answered(path: str, http: httpx.Client) -> None:
    request = http.build_request("GET", "/console/")
    request = httpx.Request(
        "GET",
        f"{request.url}{path}",
        headers={"Host": "localhost"},
        extensions={"target": f"/console/{path}".encode()},
    )
    assert refusal(http.send(request))[0] == 404


def test_the_folder_leads_to_the_page(http: httpx.Client) -> None:
    answer = http.get("/console")
    assert (answer.status_code, answer.headers["location"]) == (308, "/console/")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_files_are_only_read(method: str, http: httpx.Client) -> None:
    assert refusal(http.request(method, "/console/"))[0] == 405


REQUESTS = [
    ("GET", "/console", 308, "/console"),
    ("GET", "/console/", 200, "/console/"),
    ("HEAD", "/console/main.js", 200, "/console/main.js"),
    ("GET", "/console/?code=a-secret", 200, "/console/"),
    ("GET", "/console/nothing", 404, "/console/nothing"),
    ("GET", "/console/%23login=a-secret", 404, "/console/%"),
    ("POST", "/console/%23login=a-secret", 404, "/console/%"),
    ("POST", "/console/main.js", 405, "/console/main.js"),
]


@pytest.mark.parametrize(("method", "target", "status", "path"), REQUESTS)
def test_a_request_has_a_line_in_the_log(
    method: str, target: str, status: int, path: str, sqlite_server: Server
) -> None:
    answer = sqlite_server.http.request(method, target)
    line = sqlite_server.request_line(answer)
    assert (answer.status_code, line["status"], line["level"]) == (status, status, "info")
    assert (line["method"], line["path"], line["client"]) == (method, path, "127.0.0.1")
    assert bool(line["error"]) is (status >= 400)
    assert "a-secret" not in sqlite_server.log.read_text()


def test_an_unchanged_file_has_a_line_in_the_log(sqlite_server: Server) -> None:
    etag = sqlite_server.http.get("/console/").headers["etag"]
    line = sqlite_server.request_line(sqlite_server.http.get("/console/", headers={"If-None-Match": etag}))
    assert (line["status"], line["path"]) == (304, "/console/")


def test_the_page_has_no_inline_script_and_no_foreign_address() -> None:
    files = console_files(is_development=False, logins=ConsoleLogins())
    page = files[""].content.decode()
    assert re.findall(r"<script[^>]*>(.*?)</script>", page, re.DOTALL) == [""]
    assert not re.search(r"\son\w+=|style=|https?://", page)
    for path, file in files.items():
        if path.startswith("vendor/") or path.endswith(".svg"):
            continue
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|eval\(|new Function|https?://", file.content.decode()
        ), path


@pytest.mark.parametrize(("is_development", "mode"), [(True, b'data-mode="dev"'), (False, b'data-mode="serve"')])
def test_the_page_knows_its_server(is_development: bool, mode: bytes) -> None:
    assert mode in console_files(is_development=is_development, logins=ConsoleLogins())[""].content


def test_a_setting_turns_it_off(make_sqlite: Any, start: StartServer, installation: Installation) -> None:
    server = start(installation, console=False)
    for path in ("/console", "/console/", "/console/main.js"):
        assert refusal(server.caller.http.get(path))[0] == 404


@pytest.mark.parametrize(
    ("accept", "status"),
    [("text/html,application/xhtml+xml,*/*;q=0.8", 303), ("application/json", 200), ("*/*", 200), ("", 200)],
)
def test_a_browser_at_the_servers_address_is_led_to_the_console(
    accept: str, status: int, http: httpx.Client
) -> None:
    answer = http.get("/", headers={"accept": accept})
    assert answer.status_code == status
    assert answer.headers.get("location") == ("/console/" if status == 303 else None)
    if status == 303:
        assert (
            http.get("/", headers={"accept": accept}, follow_redirects=True)
            .headers["content-type"]
            .startswith("text/html")
        )


def test_serve_has_no_link(http: httpx.Client) -> None:
    assert refusal(http.post(LOGIN_PATH, json={"secret": "", "publicKey": ""}))[0] == 404


# The link of `keystead dev`


def _link() -> tuple[ConsoleLinks, str]:
    credentials = Credentials(
        base_url="http://localhost:8080",
        organization_id="0190f1b6-0000-7000-8000-000000000001",
        user_id="0190f1b6-0000-7000-8000-000000000002",
        api_public_key=KEY.public_key,
        api_private_key=KEY.private_key,
    )
    links = ConsoleLinks(credentials)
    return links, _secret_in(links.new_link())


def _secret_in(link: str) -> str:
    page, _, secret = link.partition("#login=")
    assert page == "/console/"
    return secret


def _asked(secret: str, client: str = "127.0.0.1", **headers: str) -> HttpRequest:
    sent = {"host": "localhost:8080", "content-type": "application/json"} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    return HttpRequest(
        method="POST",
        path=LOGIN_PATH,
        client=CallerAddress(client),
        headers=[(name.encode(), value.encode()) for name, value in sent.items()],
        body=msgspec.json.encode({"secret": secret, "publicKey": "02" + "11" * 32}),
    )


@pytest.mark.parametrize("host", ["localhost:8080", "127.0.0.1:8080", "[::1]:8080", "localhost"])
def test_the_link_stamps_one_login(host: str) -> None:
    link, secret = _link()
    login = msgspec.json.decode(
        link.answer(LOGIN_PATH, _asked(secret, host=host, origin=f"http://{host}"), 1_764_000_000_000)
    )
    stamp = read_stamp(login["stamp"].encode())
    verify_stamp(stamp, login["body"].encode())
    body = msgspec.json.decode(login["body"])
    assert (stamp.public_key, body["type"]) == (KEY.public_key, "ACTIVITY_TYPE_STAMP_LOGIN")
    assert (body["timestampMs"], body["parameters"]["publicKey"]) == ("1764000000000", "02" + "11" * 32)
    with pytest.raises(PermissionDenied, match="used before"):
        link.answer(LOGIN_PATH, _asked(secret), 1_764_000_000_000)
    assert secret not in repr(link)


REFUSED: list[tuple[str, dict[str, str], type[Exception]]] = [
    ("another secret", {"secret": "A" * 43}, PermissionDenied),
    ("no secret", {"secret": ""}, PermissionDenied),
    ("a secret in other letters", {"secret": "é"}, InvalidRequest),
    ("from another machine", {"client": "192.168.1.20"}, PermissionDenied),
    ("by a foreign name that resolves to this machine", {"host": "attacker.example:8080"}, PermissionDenied),
    ("by a foreign page", {"origin": "https://attacker.example"}, PermissionDenied),
    ("by a page of another local server", {"origin": "http://localhost:3000"}, PermissionDenied),
    ("by a sandboxed frame", {"origin": "null"}, PermissionDenied),
    ("by a form", {"content_type": "text/plain"}, InvalidRequest),
]


@pytest.mark.parametrize(("how", "differs", "error"), REFUSED, ids=[row[0] for row in REFUSED])
def test_the_link_is_for_this_machine(how: str, differs: dict[str, str], error: type[Exception]) -> None:
    link, secret = _link()
    with pytest.raises(error):
        link.answer(LOGIN_PATH, _asked(**{"secret": secret, **differs}), 1_764_000_000_000)
    link.answer(LOGIN_PATH, _asked(secret), 1_764_000_000_000)  # a refused request does not use it up


def _wanted(key: ApiKeyPair | None, body: bytes = LINK_REQUEST, **headers: str) -> HttpRequest:
    """A request for another link, stamped with this key."""
    request = _asked("", **headers)
    stamp = [] if key is None else [ApiKeyStamper(key.public_key, key.private_key).stamp(body)]
    stamped = [(name.lower().encode(), value.encode()) for name, value in stamp]
    return replace(request, path=LINK_PATH, body=body, headers=[*request.headers, *stamped])


def test_whoever_has_the_key_gets_more_links() -> None:
    """Each works once; of many that nobody used, the newest ones do."""
    links, first = _link()
    wanted = [
        _secret_in(msgspec.json.decode(links.answer(LINK_PATH, _wanted(KEY), 0))["link"])
        for _ in range(CONSOLE_LINKS_MAX)
    ]
    assert len({first, *wanted}) == CONSOLE_LINKS_MAX + 1
    for secret in wanted:
        links.answer(LOGIN_PATH, _asked(secret), 1_764_000_000_000)
    for secret in (first, *wanted):
        with pytest.raises(PermissionDenied, match="keystead console"):
            links.answer(LOGIN_PATH, _asked(secret), 1_764_000_000_000)


NO_LINKS: list[tuple[str, HttpRequest, type[Exception]]] = [
    ("no stamp", _wanted(None), Unauthenticated),
    ("another key", _wanted(generate_api_key()), PermissionDenied),
    ("a stamped request of another kind", _wanted(KEY, b"{}"), PermissionDenied),
    ("another machine", _wanted(KEY, client="192.168.1.20"), PermissionDenied),
    ("a foreign page", _wanted(KEY, origin="https://attacker.example"), PermissionDenied),
]


@pytest.mark.parametrize(("who", "request_", "error"), NO_LINKS, ids=[row[0] for row in NO_LINKS])
def test_nobody_else_gets_a_link(who: str, request_: HttpRequest, error: type[Exception]) -> None:
    links, _ = _link()
    with pytest.raises(error):
        links.answer(LINK_PATH, request_, 0)


PROXY = "0190f1b6-0000-7000-8000-000000000001"
ISSUER = "Example=https://id.example/auth?client_id=console"
LOGINS: list[tuple[dict[str, str], ConsoleLogins]] = [
    ({}, ConsoleLogins()),
    ({"console_auth_proxy": PROXY}, ConsoleLogins(auth_proxy_id=PROXY)),
    (
        {"console_auth_proxy": PROXY, "console_oidc": f"{ISSUER}, Local=http://localhost:9/auth?x=1&client_id=2"},
        ConsoleLogins(
            PROXY,
            (
                OidcLogin("Example", "https://id.example/auth?client_id=console"),
                OidcLogin("Local", "http://localhost:9/auth?x=1&client_id=2"),
            ),
        ),
    ),
]


@pytest.mark.parametrize(("given", "logins"), LOGINS)
def test_the_logins_that_an_operator_names(given: dict[str, str], logins: ConsoleLogins) -> None:
    assert console_logins(Settings(database_url="sqlite:///x", **given)) == logins  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"console_auth_proxy": "first"}, "CONSOLE_AUTH_PROXY: expected the id"),
        ({"console_oidc": ISSUER}, "set KEYSTEAD_CONSOLE_AUTH_PROXY too"),
        ({"console_auth_proxy": PROXY, "console_oidc": "https://id.example/auth?client_id=1"}, "expected NAME="),
        ({"console_auth_proxy": PROXY, "console_oidc": "Example=https://id.example/auth"}, "expected NAME="),
        (
            {"console_auth_proxy": PROXY, "console_oidc": "Example=http://id.example/auth?client_id=1"},
            "expected NAME=",
        ),
        (
            {"console_auth_proxy": PROXY, "console_oidc": "Example=javascript:alert(1)?client_id=1"},
            "expected NAME=",
        ),
        ({"console_auth_proxy": PROXY, "console_oidc": "Example=https://[/?client_id=1"}, "expected NAME="),
    ],
)
def test_a_login_that_cannot_be_is_refused_at_the_start(given: dict[str, str], why: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(why)):
        console_logins(Settings(database_url="sqlite:///x", **given))  # type: ignore[arg-type]
