"""Who may use the developer's controls: programs on this machine and pages of the server itself; nobody else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import httpx
import pytest

from keystead.api.errors import ServiceError
from keystead.operations import CATALOGUE
from keystead.server.development.access import check_access, check_may_change, check_may_read
from keystead.server.http.messages import CallerAddress, HttpRequest
from keystead.testing import DevelopmentServer
from tests.conftest import MakeDatabase
from tests.support.servers import bootstrap_installation, running

pytestmark = pytest.mark.one_engine

CHANGE = {"content-type": "application/json", "x-keystead-dev": "1"}


def refused(check: str, client: str = "127.0.0.1", **headers: str) -> int:
    """The status of the refusal, 200 where there is none."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    raw = [(name.encode(), value.encode()) for name, value in named.items()]
    request = HttpRequest(method="GET", path="/dev/v1/clock", client=CallerAddress(client), headers=raw)
    try:
        (check_may_read if check == "read" else check_may_change)(request)
    except ServiceError as error:
        return error.http_status
    return 200


READS: list[tuple[str, Mapping[str, str], int]] = [
    ("a program", {"host": "localhost:8080"}, 200),
    ("a program, by address", {"host": "127.0.0.1:8080"}, 200),
    ("a program, by IPv6", {"host": "[::1]:8080", "client": "::1"}, 200),
    ("without a port", {"host": "[::1]"}, 200),
    ("in capital letters", {"host": "LocalHost:8080"}, 200),
    ("a page of this server", {"host": "localhost:8080", "origin": "http://localhost:8080"}, 200),
    ("its own fetch", {"host": "localhost:8080", "sec_fetch_site": "same-origin"}, 200),
    ("an address typed into a browser", {"host": "localhost:8080", "sec_fetch_site": "none"}, 200),
    ("another machine", {"host": "localhost:8080", "client": "192.0.2.1"}, 403),
    ("no address", {"host": "localhost:8080", "client": ""}, 403),
    ("no host", {}, 403),
    ("a name that leads here", {"host": "attacker.example:8080"}, 403),
    ("a name that begins alike", {"host": "localhost.attacker.example"}, 403),
    ("a foreign page", {"host": "localhost:8080", "origin": "https://attacker.example"}, 403),
    ("a page of another port", {"host": "localhost:8080", "origin": "http://localhost:3000"}, 403),
    ("a page of no origin", {"host": "localhost:8080", "origin": "null"}, 403),
    ("a foreign page's image", {"host": "localhost:8080", "sec_fetch_site": "cross-site"}, 403),
    ("another port's script", {"host": "localhost:8080", "sec_fetch_site": "same-site"}, 403),
    ("a name's own page", {"host": "attacker.example", "origin": "http://attacker.example"}, 403),
]


@pytest.mark.parametrize(("headers", "status"), [case[1:] for case in READS], ids=[case[0] for case in READS])
def test_reading(headers: Mapping[str, str], status: int) -> None:
    assert refused("read", **headers) == status


CHANGES: list[tuple[str, Mapping[str, str], int]] = [
    ("a program", {}, 200),
    ("with a charset", {"content_type": "application/json; charset=utf-8"}, 200),
    ("a form", {"content_type": "application/x-www-form-urlencoded"}, 400),
    ("plain text", {"content_type": "text/plain"}, 400),
    ("no type", {"content_type": ""}, 400),
    ("without the header", {"x_keystead_dev": ""}, 400),
    ("a foreign page", {"origin": "https://attacker.example"}, 403),
]


@pytest.mark.parametrize(("headers", "status"), [case[1:] for case in CHANGES], ids=[case[0] for case in CHANGES])
def test_changing(headers: Mapping[str, str], status: int) -> None:
    standard = {"host": "localhost:8080", "content_type": "application/json", "x_keystead_dev": "1"}
    assert refused("change", **standard | dict(headers)) == status


LOCAL = {"host": "localhost:8080"}
HOSTS: list[tuple[str, Mapping[str, str], int]] = [
    ("this machine", LOCAL, 200),
    ("by IPv4", {"host": "127.0.0.1:8080"}, 200),
    ("by IPv6, without a port", {"host": "[::1]"}, 200),
    ("a name that browsers never look up", {"host": "app.localhost:8080"}, 200),
    ("the host of a container", {"host": "host.docker.internal:8080"}, 200),
    ("an address in the network", {"host": "192.168.1.5:8080", "client": "192.168.1.20"}, 200),
    ("an IPv6 address in the network", {"host": "[fd00::5]:8080", "client": "fd00::20"}, 200),
    ("a container's name, in its network", {"host": "keystead:8080", "client": "172.17.0.3"}, 200),
    ("a short name over loopback", {"host": "keystead:8080"}, 403),
    ("a name that leads here", {"host": "attacker.example:8080"}, 403),
    ("the same, from another machine", {"host": "attacker.example:8080", "client": "192.168.1.20"}, 403),
    ("a name that begins alike", {"host": "localhost.attacker.example"}, 403),
    ("a name that ends alike", {"host": "attackerlocalhost"}, 403),
    ("an address in a name", {"host": "127.0.0.1.attacker.example"}, 403),
    ("a user before a host", {"host": "localhost@attacker.example"}, 403),
    ("no host", {"host": ""}, 403),
    ("not a host", {"host": "[::1"}, 403),
]
PATHS = [
    "/",
    "/readyz",
    "/public/v1/query/whoami",
    "/auth-proxy/v1/signup_v2",
    "/console/",
    "/unknown",
    "/openapi.json",
]


def came_in(path: str, client: str = "127.0.0.1", **headers: str) -> int:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    raw = [(name.encode(), value.encode()) for name, value in named.items()]
    request = HttpRequest(method="POST", path=path, client=CallerAddress(client), headers=raw)
    try:
        check_access(path, request, [b"https://app.example"])
    except ServiceError as error:
        return error.http_status
    return 200


@pytest.mark.parametrize(("headers", "status"), [case[1:] for case in HOSTS], ids=[case[0] for case in HOSTS])
def test_hosts(headers: Mapping[str, str], status: int) -> None:
    for path in PATHS:
        assert came_in(path, **headers) == status, path


API, PROXY, CONSOLE, CONTROLS = "/public/v1/query/whoami", "/auth-proxy/v1/signup_v2", "/console/", "/dev/v1/outbox"
REMOTE = {"host": "192.168.1.5:8080", "client": "192.168.1.20"}
ORIGINS: list[tuple[str, str, Mapping[str, str], set[str]]] = [
    ("no page", "", {}, {API, PROXY, CONSOLE, CONTROLS}),
    ("a page of this server", "http://localhost:8080", {}, {API, PROXY, CONSOLE, CONTROLS}),
    ("a page of another port", "http://localhost:3000", {}, {API, PROXY}),
    ("the same, by address", "http://127.0.0.1:3000", {}, {API, PROXY}),
    ("the same, by a name", "https://app.localhost:3000", {}, {API, PROXY}),
    ("an application on a phone", "capacitor://localhost", {}, {API, PROXY}),
    ("a foreign page", "https://attacker.example", {}, set()),
    ("a foreign page of this port", "http://attacker.example:8080", {}, set()),
    ("a name that begins alike", "http://localhost.attacker.example", {}, set()),
    ("a foreign page with a user", "http://localhost@attacker.example", {}, set()),
    ("a page of no origin", "null", {}, set()),
    ("a page that the setting names", "https://app.example", {}, {API}),
    ("an extension", "chrome-extension://abcdefghijklmnop", {}, set()),
    ("a page of this machine, seen by another", "http://192.168.1.5:3000", REMOTE, {API, PROXY}),
    ("a page of a third machine", "http://192.168.1.6:3000", REMOTE, set()),
]


@pytest.mark.parametrize(
    ("origin", "headers", "paths"), [case[1:] for case in ORIGINS], ids=[case[0] for case in ORIGINS]
)
def test_origins(origin: str, headers: Mapping[str, str], paths: set[str]) -> None:
    sent = LOCAL | dict(headers) | ({"origin": origin} if origin else {})
    assert {path for path in (API, PROXY, CONSOLE, CONTROLS) if came_in(path, **sent) == 200} == paths


def test_every_path_refuses_a_foreign_host(server: DevelopmentServer) -> None:
    """Also paths that do not exist, preflights, and requests that are signed."""
    foreign = {"Host": f"attacker.example:{httpx.URL(server.base_url).port}"}
    paths = [
        *(operation.path for operation in CATALOGUE),
        *PATHS,
        CONTROLS,
        "/dev/v1/console-login",
        "/bundle-signer",
    ]
    for path in paths:
        for method in ("GET", "POST", "OPTIONS"):
            answer = server.http.request(method, server.base_url + path, headers=foreign)
            assert answer.status_code == 403, (method, path)
            assert "header Host" in answer.json()["message"]
            if path == "/readyz":
                assert server.http.request("GET", server.base_url + path).status_code == 200


def test_the_proxy_answers_local_pages_whatever_its_configuration_allows(server: DevelopmentServer) -> None:
    """By default it names any origin."""
    (proxy,) = server.client.list_auth_proxy_configs().auth_proxy_configs
    assert proxy.allowed_origins == ("*",)
    path = f"{server.base_url}/auth-proxy/v1/wallet_kit_config"
    statuses = {
        (method, origin): server.http.request(
            method, path, headers={"Origin": origin, "X-Auth-Proxy-Config-ID": proxy.config_id}
        ).status_code
        for method in ("POST", "OPTIONS")
        for origin in ("http://localhost:3000", "https://attacker.example", "null")
    }
    assert statuses == {
        ("POST", "http://localhost:3000"): 200,
        ("OPTIONS", "http://localhost:3000"): 204,
        ("POST", "https://attacker.example"): 403,
        ("OPTIONS", "https://attacker.example"): 403,
        ("POST", "null"): 403,
        ("OPTIONS", "null"): 403,
    }


def test_no_preflight_is_answered(server: DevelopmentServer) -> None:
    asks = {"origin": "https://attacker.example", "access-control-request-method": "POST"}
    answer = server.http.options(f"{server.base_url}/dev/v1/clock", headers=asks)
    assert answer.status_code == 403
    assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/dev/v1", "", 200),
        ("GET", "/dev/v1/nothing", "", 404),
        ("GET", "/dev/v1/reset", "", 405),
        ("DELETE", "/dev/v1/clock", "", 405),
        ("POST", "/dev/v1/clock", "{", 400),
        ("POST", "/dev/v1/clock", "[]", 400),
        ("POST", "/dev/v1/clock", '{"unknown":1}', 400),
        ("POST", "/dev/v1/clock", '{"frozen":true,"frozen":false}', 400),
    ],
)
def test_what_is_no_control(server: DevelopmentServer, method: str, path: str, body: str, status: int) -> None:
    answer = server.http.request(method, server.base_url + path, content=body, headers=CHANGE)
    assert answer.status_code == status
    assert answer.headers["cache-control"] == "no-store"


@pytest.fixture(scope="module", params=["dev", "serve"])
def production(
    request: pytest.FixtureRequest, make_database: MakeDatabase, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[httpx.Client]:
    """`keystead serve`, over data of either command."""
    installation = bootstrap_installation(make_database(), mode=request.param)
    folder: Path = tmp_path_factory.mktemp("production")
    with running(installation, folder / "log") as server:
        yield server.http
    installation.database.close()


def test_serve_has_no_controls(server: DevelopmentServer, production: httpx.Client) -> None:
    listed = server.http.get(f"{server.base_url}/dev/v1").json()["controls"]
    assert len(listed) >= 10
    for path in {*listed, "/dev/v1"} - {"/dev/v1/outbox"}:
        for answer in (production.get(path), production.post(path, content=b"{}", headers=CHANGE)):
            assert (answer.status_code, answer.json()["message"]) == (404, f"no such path: {path}")


def test_the_front_page_says_what_this_is(server: DevelopmentServer, production: httpx.Client) -> None:
    for answer in (server.http.get(server.base_url), production.get("/")):
        assert answer.status_code == 200
        assert "This is Keystead" in answer.json()["message"]
        assert answer.json()["operations"] == "/openapi.json"
