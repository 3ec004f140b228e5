"""Rate limits of organizations and credentials: a caller above one is refused and told when to send again."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import httpx
import pytest

from keystead.server.limits.rate_limits import RateLimit, RateLimited
from keystead.server.limits.rate_table import RateTable
from keystead.stamps.signing import generate_api_key
from tests.conftest import MakeDatabase
from tests.support.callers import refusal, unique
from tests.support.hanging import PATIENCE_S
from tests.support.passkeys import SoftPasskey
from tests.support.servers import Server, bootstrap_installation, free_port, user_with_key

TWO_A_SECOND: list[tuple[str, list[float], list[bool]]] = [
    ("as many at once as in a second", [0, 0, 0], [True, True, False]),
    ("one more after half a second", [0, 0, 0.5, 0.5], [True, True, True, False]),
    ("steadily", [0, 0.5, 1, 1.5, 2, 2.5], [True] * 6),
    ("a long silence gives no credit", [0, 100, 100, 100], [True, True, True, False]),
    ("a refusal costs nothing", [0, 0, 0.4, 0.5], [True, True, False, True]),
]


@pytest.mark.parametrize(("name", "times", "expected"), TWO_A_SECOND, ids=[name for name, *_ in TWO_A_SECOND])
def test_two_a_second(name: str, times: list[float], expected: list[bool]) -> None:
    limit = RateLimit("organization", 2, RateTable())
    assert [is_served(limit, moment) for moment in times] == expected


def is_served(limit: RateLimit, now_s: float, organization_id: str = "a") -> bool:
    try:
        limit.spend(organization_id, now_s)
    except RateLimited as refused:
        assert refused.retry_after_s == 1
        return False
    return True


def test_each_organization_has_a_share_of_its_own() -> None:
    limit = RateLimit("organization", 1, RateTable())
    assert [is_served(limit, 0, name) for name in "abab"] == [True, True, False, False]


def test_no_limit() -> None:
    limit = RateLimit("organization", 0, RateTable())
    assert all(is_served(limit, 0) for _ in range(1000))


def test_over_http(make_sqlite: MakeDatabase, start: Callable[..., Server]) -> None:
    installation = bootstrap_installation(make_sqlite())
    caller = start(installation, rate_limit=1).caller
    user = user_with_key(key := generate_api_key())
    other = caller.with_key(key, organization_id=installation.add_organization(user).id)
    while (response := caller.ask("whoami")).status_code == 200:
        pass
    assert (refusal(response)[0], response.json()["code"]) == (429, 8)
    assert response.json()["details"][0]["turnkeyErrorCode"] == "RATE_LIMIT_EXCEEDED"
    assert other.ask("whoami").status_code == 200
    assert caller.http.get("/readyz").status_code == 200
    time.sleep(int(response.headers["retry-after"]))
    assert caller.ask("whoami").status_code == 200
    installation.database.close()


def test_one_credential_of_an_organization(make_sqlite: MakeDatabase, start: Callable[..., Server]) -> None:
    installation = bootstrap_installation(make_sqlite())
    caller = start(installation, credential_rate_limit=2, rate_limit=1_000).caller
    other = caller.new_user()
    while (response := caller.ask("whoami")).status_code == 200:
        pass
    assert refusal(response) == (429, "Too many requests. Please wait and try again in 1 s")
    assert response.headers["retry-after"] == "1"
    while (response := caller.submit("create_user_tag", {"userTagName": unique("tag"), "userIds": []})).is_success:
        pass  # the machine was so slow that the limit allowed one more
    assert refusal(response)[0] == 429
    assert other.ask("whoami").status_code == 200
    installation.database.close()


def test_an_authentication_proxy_is_not_one_credential(
    make_sqlite: MakeDatabase, start: Callable[..., Server]
) -> None:
    installation = bootstrap_installation(make_sqlite())
    caller = start(installation, credential_rate_limit=2).caller
    config_id = caller.result("enable_auth_proxy", {})["userId"]
    caller.result("update_auth_proxy_config", {"configId": config_id, "allowedOrigins": ["*"]})
    for _ in range(5):
        person = {
            "userName": unique("user"),
            "apiKeys": [],
            "authenticators": [SoftPasskey().params()],
            "oauthProviders": [],
        }
        headers = {"X-Auth-Proxy-Config-ID": config_id}
        assert caller.http.post("/auth-proxy/v1/signup_v2", json=person, headers=headers).status_code == 200
    installation.database.close()


def test_strangers_at_a_proxy_do_not_use_up_the_limit_of_its_organization(
    make_sqlite: MakeDatabase, start: Callable[..., Server]
) -> None:
    """Nor that of a sub-organization which they name: their token proves nothing."""
    installation = bootstrap_installation(make_sqlite())
    caller = start(installation, rate_limit=1, auth_proxy_rate_limit=0, failures_per_address=1_000).caller
    config_id = caller.result("enable_auth_proxy", {})["userId"]
    time.sleep(1)
    caller.result("update_auth_proxy_config", {"configId": config_id, "allowedOrigins": ["*"]})
    time.sleep(1)
    user = user_with_key(key := generate_api_key())
    made = installation.add_organization(user, parent_id=caller.organization_id)
    person = caller.with_key(key, organization_id=made.id)
    headers = {"X-Auth-Proxy-Config-ID": config_id}
    for named in ({}, {"organizationId": made.id}):
        login = {"verificationToken": "a.b.c", "publicKey": generate_api_key().public_key} | named
        answers = (caller.http.post("/auth-proxy/v1/otp_login", json=login, headers=headers) for _ in range(200))
        assert any(answer.status_code == 429 for answer in answers)
    # The last request of the one was a second ago or longer, the other has sent none.
    assert person.ask("whoami").status_code == 200
    assert caller.ask("whoami").status_code == 200
    installation.database.close()


def test_workers_share_their_limits(make_postgres: MakeDatabase, start: Callable[..., Server]) -> None:
    """Each connection of its own, so that both workers have some."""
    installation = bootstrap_installation(make_postgres())
    address = f"127.0.0.1:{free_port()}"
    limits = {"rate_limit": 2, "failures_per_address": 2, "proxy_networks": ""}
    caller = start(installation, workers=2, metrics_address=address, **limits).caller
    begun_s = time.monotonic()
    statuses = []
    for _ in range(40):
        with httpx.Client(base_url=str(caller.http.base_url), timeout=PATIENCE_S) as http:
            statuses.append(replace(caller, http=http).ask("whoami").status_code)
    allowed_s = time.monotonic() - begun_s
    assert set(statuses) == {200, 429}
    assert statuses.count(200) <= 2 + 2 * allowed_s + 1
    begun_s = time.monotonic()
    unknown = caller.with_key(generate_api_key())
    statuses = []
    for _ in range(40):
        with httpx.Client(base_url=str(caller.http.base_url), timeout=PATIENCE_S) as http:
            statuses.append(replace(unknown, http=http).ask("whoami").status_code)
    allowed_s = time.monotonic() - begun_s
    assert set(statuses) == {401, 429}
    assert statuses.count(401) <= 2 + 2 * allowed_s + 1
    scraped = httpx.get(f"http://{address}/metrics", timeout=PATIENCE_S).text
    for limit in ("organization", "address"):
        assert f'keystead_rate_limited_total{{limit="{limit}"}}' in scraped
    installation.database.close()
