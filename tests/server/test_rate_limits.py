"""Rate limits of organizations: a caller above the limit is refused and told when to send again."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from keystead.server.rate_limits import RateLimit, RateLimited
from keystead.stamps.signing import generate_api_key
from tests.conftest import MakeDatabase
from tests.support.callers import refusal
from tests.support.servers import Server, bootstrap_installation, user_with_key

TWO_A_SECOND: list[tuple[str, list[float], list[bool]]] = [
    ("as many at once as in a second", [0, 0, 0], [True, True, False]),
    ("one more after half a second", [0, 0, 0.5, 0.5], [True, True, True, False]),
    ("steadily", [0, 0.5, 1, 1.5, 2, 2.5], [True] * 6),
    ("a long silence is no credit", [0, 100, 100, 100], [True, True, True, False]),
    ("a refusal costs nothing", [0, 0, 0.4, 0.5], [True, True, False, True]),
]


@pytest.mark.parametrize(("name", "times", "expected"), TWO_A_SECOND, ids=[name for name, *_ in TWO_A_SECOND])
def test_two_a_second(name: str, times: list[float], expected: list[bool]) -> None:
    limit = RateLimit(2)
    assert [is_served(limit, moment) for moment in times] == expected


def is_served(limit: RateLimit, now_s: float, organization_id: str = "a") -> bool:
    try:
        limit.spend(organization_id, now_s)
    except RateLimited as refused:
        assert refused.retry_after_s == 1
        return False
    return True


def test_each_organization_has_a_share_of_its_own() -> None:
    limit = RateLimit(1)
    assert [is_served(limit, 0, name) for name in "abab"] == [True, True, False, False]


def test_no_limit() -> None:
    limit = RateLimit(0)
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
