"""The clock of a development server: it is the only one, so that everything goes by it."""

from __future__ import annotations

import asyncio
import datetime
import email.utils
from typing import Any

import pytest

from keystead import ApiKeyCurve, Client, OtpType, generate_api_key
from keystead.api.developer_controls import ClockUpdate
from keystead.api.errors import InvalidRequest as Refused
from keystead.client.errors import InvalidRequest, Unauthenticated, UsageError
from keystead.client.shapes import ApiKeyParamsV2
from keystead.server.development.clock import DevelopmentClock
from keystead.testing import DevelopmentServer, TestOrganization

NOON = datetime.datetime(2030, 1, 1, 12, tzinfo=datetime.UTC)
NOON_MS = int(NOON.timestamp() * 1000)


class Machine:
    """A system clock that a test moves."""

    def __init__(self) -> None:
        self.ms = 1_000_000

    def now_ns(self) -> int:
        return self.ms * 1_000_000


CHANGES: list[tuple[str, list[dict[str, Any]], int, int]] = [
    ("as it is", [], 1_000_000, 1_000_500),
    ("set", [{"now_ms": 5}], 5, 505),
    ("advanced", [{"advance_ms": 1_000}], 1_001_000, 1_001_500),
    ("advanced twice", [{"advance_ms": 1_000}, {"advance_ms": 1_000}], 1_002_000, 1_002_500),
    ("moved back", [{"advance_ms": -1_000}], 999_000, 999_500),
    ("frozen", [{"frozen": True}], 1_000_000, 1_000_000),
    ("frozen at a time", [{"now_ms": 5, "frozen": True}], 5, 5),
    ("frozen and advanced", [{"frozen": True}, {"advance_ms": 1_000}], 1_001_000, 1_001_000),
    ("frozen and set", [{"frozen": True}, {"now_ms": 5}], 5, 5),
    ("resumed", [{"now_ms": 5, "frozen": True}, {"frozen": False}], 5, 505),
    ("back to the system", [{"now_ms": 5, "frozen": True}, {"system": True}], 1_000_000, 1_000_500),
    ("back, frozen", [{"now_ms": 5}, {"system": True, "frozen": True}], 1_000_000, 1_000_000),
    ("ahead of the system", [{"now_ms": 5}, {"system": True, "advance_ms": 10}], 1_000_010, 1_000_510),
]


@pytest.mark.parametrize(
    ("changes", "at_once", "later"), [case[1:] for case in CHANGES], ids=[c[0] for c in CHANGES]
)
def test_changes(changes: list[dict[str, Any]], at_once: int, later: int) -> None:
    machine = Machine()
    clock = DevelopmentClock(machine.now_ns)
    for change in changes:
        asyncio.run(clock.change(ClockUpdate(**change)))
    assert clock.now_ms() == at_once
    machine.ms += 500
    assert clock.now_ms() == later


def test_a_time_that_cannot_be_changes_nothing() -> None:
    clock = DevelopmentClock(Machine().now_ns)
    for distance_ms in (-1_000_001, 253_402_300_799_999):
        with pytest.raises(Refused, match="1970 to 9999"):
            asyncio.run(clock.change(ClockUpdate(advance_ms=distance_ms)))
    assert clock.now_ms() == 1_000_000


def test_what_python_sees(server: DevelopmentServer) -> None:
    clock = server.controls.clock
    assert clock.freeze(NOON) == clock.now() == NOON
    assert clock.is_frozen
    assert clock.advance(days=1, hours=2, minutes=3, seconds=4.5) == NOON + datetime.timedelta(1, 3784.5, hours=1)
    clock.resume()
    assert not clock.is_frozen
    assert clock.reset() < NOON
    with pytest.raises(UsageError, match="has no zone"):
        clock.set(datetime.datetime(2030, 1, 1))


def test_a_frozen_clock_holds_for_everything(server: DevelopmentServer, organization: TestOrganization) -> None:
    server.controls.clock.freeze(NOON)
    client = organization.client
    tags = [client.create_user_tag(user_tag_name=name, user_ids=[]) for name in ("one", "two")]
    client.init_otp(otp_type=OtpType.EMAIL, contact="ada@example.com", app_name="Test")
    for made in tags:
        assert made.activity.created_at.epoch_ms == made.activity.updated_at.epoch_ms == NOON_MS
    assert {one.created_at.epoch_ms for one in client.list_user_tags().user_tags} == {NOON_MS}
    server.outbox.wait_for("ada@example.com")
    kept = server.http.get(f"{server.base_url}/dev/v1/outbox").json()["messages"]
    assert [one["sentAtMs"] for one in kept] == [NOON_MS]
    answer = server.http.get(f"{server.base_url}/readyz")
    assert email.utils.parsedate_to_datetime(answer.headers["date"]) == NOON
    assert {one.at_ms for one in server.controls.requests()} == {NOON_MS}


def test_a_key_expires_when_its_time_has_come(server: DevelopmentServer, organization: TestOrganization) -> None:
    key = generate_api_key()
    params = ApiKeyParamsV2(
        api_key_name="short", public_key=key.public_key, curve_type=ApiKeyCurve.P256, expiration_seconds="60"
    )
    assert organization.credentials.user_id is not None
    server.controls.clock.freeze()
    organization.client.create_api_keys(user_id=organization.credentials.user_id, api_keys=[params])
    caller = Client(
        server.base_url,
        key.public_key,
        key.private_key,
        organization.organization_id,
        http_client=server.http,
    )
    server.controls.clock.advance(seconds=59.999)
    caller.whoami()
    server.controls.clock.advance(seconds=0.001)
    with pytest.raises(Unauthenticated, match="expired"):
        caller.whoami()


def test_the_time_in_a_submission(server: DevelopmentServer, organization: TestOrganization) -> None:
    clock, client = server.controls.clock, organization.client
    clock.advance(days=30)
    client.create_user_tag(user_tag_name="stamped by the system's time", user_ids=[])
    clock.accept_system_time(False)
    with pytest.raises(InvalidRequest, match="too far from the server's time"):
        client.create_user_tag(user_tag_name="too old", user_ids=[])
    clock.reset()
    client.create_user_tag(user_tag_name="as always", user_ids=[])
