"""Requests that fail because a developer chose it, and a rate limit to try."""

from __future__ import annotations

import time

import pytest

from keystead import Client, Retries
from keystead.api.developer_controls import FAULTS
from keystead.client.errors import ApiError, ConnectionFailed, LimitReached
from keystead.testing import DevelopmentServer, TestOrganization


@pytest.fixture
def client(server: DevelopmentServer, organization: TestOrganization) -> Client:
    """It tries nothing again."""
    keys = organization.credentials
    return Client(
        server.base_url,
        keys.api_public_key,
        keys.api_private_key,
        keys.organization_id,
        http_client=server.http,
        retries=Retries(tries=1),
    )


@pytest.mark.parametrize("status", [400, 401, 403, 404, 408, 409, 418, 429, 500, 501, 502, 503, 504])
def test_every_status(server: DevelopmentServer, client: Client, status: int) -> None:
    server.controls.faults.fail(status, count=2)
    for _ in range(2):
        with pytest.raises(ApiError, match=f"a developer chose that this request fails with {status}") as refused:
            client.whoami()
        assert refused.value.http_status == status
        assert (refused.value.retry_after_s is not None) == (status in (429, 503))
    client.whoami()


def test_a_cut_connection(server: DevelopmentServer, client: Client) -> None:
    server.controls.faults.cut()
    with pytest.raises(ConnectionFailed):
        client.whoami()
    client.whoami()


def test_a_slow_answer(server: DevelopmentServer, client: Client) -> None:
    server.controls.faults.slow(0.2)
    began = time.monotonic()
    client.whoami()
    assert time.monotonic() - began >= 0.2


def test_faults_are_of_their_path_and_in_order(server: DevelopmentServer, client: Client) -> None:
    server.controls.faults.fail(500, path="create_wallet")
    server.controls.faults.fail(503)
    server.controls.faults.fail(502)
    for status in (503, 502):
        with pytest.raises(ApiError) as refused:
            client.whoami()
        assert refused.value.http_status == status
    client.whoami()
    with pytest.raises(ApiError) as refused:
        client.create_wallet(wallet_name="x", accounts=[])
    assert refused.value.http_status == 500
    server.controls.faults.fail(500, count=10)
    server.controls.faults.clear()
    client.whoami()


def test_a_client_that_tries_again(server: DevelopmentServer, organization: TestOrganization) -> None:
    server.controls.faults.cut()
    server.controls.faults.fail(503)
    made = organization.client.create_user_tag(user_tag_name="once", user_ids=[])
    assert made.user_tag_id == organization.client.list_user_tags().user_tags[0].tag_id
    assert [one.status for one in server.controls.requests()][:3] == [0, 503, 200]


def test_a_page_reads_a_chosen_status(server: DevelopmentServer) -> None:
    server.controls.faults.fail(503)
    page = {"origin": "http://localhost:3000"}
    asked = f"{server.base_url}/public/v1/query/whoami"
    preflight = server.http.options(asked, headers={**page, "access-control-request-method": "POST"})
    answer = server.http.post(asked, headers=page)
    assert (preflight.status_code, answer.status_code) == (204, 503)
    assert answer.headers["access-control-allow-origin"] == "*"


def test_health_does_not_fail(server: DevelopmentServer) -> None:
    server.controls.faults.fail(503, count=10)
    for path in ("/healthz", "/readyz", "/openapi.json", "/dev/v1/faults", "/dev/v1/outbox"):
        assert server.http.get(server.base_url + path).status_code == 200


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({}, "at least one of"),
        ({"count": 3}, "at least one of"),
        ({"status": 200}, "at least 400"),
        ({"status": 600}, "at most 599"),
        ({"status": 599}, "HTTP has no status 599"),
        ({"status": 503, "cut": True}, "send only one of them"),
        ({"delayMs": -1}, "at least 0"),
    ],
)
def test_what_is_no_fault(server: DevelopmentServer, change: dict[str, object], why: str) -> None:
    with pytest.raises(ApiError, match=why):
        server.controls.change(FAULTS, change)
    assert server.controls.read(FAULTS).faults == ()


def test_a_rate_limit(server: DevelopmentServer, client: Client) -> None:
    server.controls.limit_rate(1)
    client.whoami()
    with pytest.raises(LimitReached) as refused:
        for _ in range(100):
            client.whoami()
    assert refused.value.machine_code == "RATE_LIMIT_EXCEEDED"
    assert refused.value.retry_after_s is not None
    assert refused.value.retry_after_s >= 1
    server.controls.limit_rate(0)
    for _ in range(3):
        client.whoami()
