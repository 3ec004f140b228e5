"""What a submission gives: the result, an approval to wait for, or a failure."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from keystead import ActivityFailed, ActivityNotCompleted, ProtocolError, Submitted
from keystead.api.enums import ActivityStatus, AddressFormat
from keystead.client.shapes import CreateWalletResult, CreateWalletSubmitted
from tests.support.stub_server import ClientUnderTest, StubServer, activity, ok

Make = Callable[..., ClientUnderTest]


def create_wallet(client: Any) -> Any:
    return client.create_wallet(wallet_name="w", accounts=[])


def test_a_completed_activity_is_its_result(driven: Make) -> None:
    made = driven(StubServer(ok(activity()))).call(create_wallet)
    assert isinstance(made, CreateWalletSubmitted)
    assert (made.wallet_id, made.addresses) == ("wallet-1", ("0xa",))
    assert made.result == CreateWalletResult(wallet_id="wallet-1", addresses=("0xa",))
    assert made.completed
    assert not made.needs_approval
    assert made.activity.status is ActivityStatus.COMPLETED
    assert made.activity.intent == {"createWalletIntent": {"walletName": "w", "accounts": []}}
    assert made.activity.created_at.epoch_ms == 1763752980123


@pytest.mark.parametrize("status", ["CONSENSUS_NEEDED", "AUTHENTICATORS_NEEDED"])
def test_an_activity_that_needs_approval_says_so(driven: Make, status: str) -> None:
    made = driven(StubServer(ok(activity(status)))).call(create_wallet)
    assert made.needs_approval
    assert not made.completed
    assert made.activity.fingerprint.startswith("sha256:")
    assert "needs approval" in repr(made)
    for member in ("result", "wallet_id"):
        with pytest.raises(ActivityNotCompleted, match=f"ACTIVITY_STATUS_{status}.*needs_approval") as raised:
            getattr(made, member)
        assert raised.value.activity is made.activity


@pytest.mark.parametrize("status", ["CREATED", "PENDING", "OF_TOMORROW"])
def test_an_activity_under_way_is_neither(driven: Make, status: str) -> None:
    made = driven(StubServer(ok(activity(status)))).call(create_wallet)
    assert not made.needs_approval
    assert not made.completed
    assert made.activity.status == f"ACTIVITY_STATUS_{status}"
    with pytest.raises(ActivityNotCompleted):
        _ = made.result


@pytest.mark.parametrize(
    ("status", "failure", "says"),
    [
        ("REJECTED", None, "REJECTED"),
        ("FAILED", {"code": 9, "message": "no room", "details": []}, "FAILED: no room"),
        ("FAILED", None, "FAILED"),
    ],
)
def test_an_activity_that_failed_raises(driven: Make, status: str, failure: Any, says: str) -> None:
    with pytest.raises(ActivityFailed, match=says) as raised:
        driven(StubServer(ok(activity(status, failure=failure)))).call(create_wallet)
    assert raised.value.activity.id == "0199a8f2-0000-7000-8000-0000000000ac"


def test_a_vote_may_end_the_activity_of_another_kind(driven: Make) -> None:
    """A rejection that was asked for is not a failure. The answer to a vote is the activity that was voted on."""
    rejected = activity("REJECTED", type="ACTIVITY_TYPE_CREATE_USERS_V4")
    made = driven(StubServer(ok(rejected))).call(create_wallet)
    assert made.activity.status is ActivityStatus.REJECTED


def test_refresh_finds_the_result(driven: Make) -> None:
    def wait(client: Any) -> Any:
        return client.refresh(waiting)

    server = StubServer(ok(activity("CONSENSUS_NEEDED")), ok(activity("CONSENSUS_NEEDED")), ok(activity()))
    client = driven(server)
    waiting = client.call(create_wallet)
    assert client.call(wait).needs_approval
    done = client.call(wait)
    assert isinstance(done, CreateWalletSubmitted)
    assert done.wallet_id == "wallet-1"
    assert json.loads(server.requests[2].content) == {
        "organizationId": waiting.activity.organization_id,
        "activityId": waiting.activity.id,
    }


def test_refresh_raises_the_failure_of_the_activity(driven: Make) -> None:
    server = StubServer(ok(activity("CONSENSUS_NEEDED")), ok(activity("REJECTED")))
    client = driven(server)
    waiting = client.call(create_wallet)
    with pytest.raises(ActivityFailed):
        client.call(lambda c: c.refresh(waiting))


@pytest.mark.parametrize(
    ("result", "says"),
    [
        ({}, "lacks `createWalletResult`; it holds nothing"),
        ({"createUsersResult": {}}, "it holds createUsersResult"),
        ({"createWalletResult": {"walletId": "w"}}, "missing required field `addresses`"),
        ({"createWalletResult": {"walletId": 7, "addresses": []}}, "Expected `str`, got `int`"),
    ],
)
def test_the_activity_stays_readable_if_its_result_is_not(driven: Make, result: dict[str, Any], says: str) -> None:
    made: Submitted[Any] = driven(StubServer(ok(activity(result=result)))).call(create_wallet)
    assert made.activity.result == result
    with pytest.raises(ProtocolError, match=says):
        _ = made.result


def test_words_of_a_newer_server_are_kept(driven: Make) -> None:
    moment = {"seconds": "1", "nanos": "0"}
    account = {
        "walletAccountId": "a",
        "organizationId": "o",
        "walletId": "w",
        "curve": "CURVE_SECP256K1",
        "pathFormat": "PATH_FORMAT_BIP32",
        "path": "m/0",
        "addressFormat": "ADDRESS_FORMAT_OF_TOMORROW",
        "address": "x",
        "createdAt": moment,
        "updatedAt": moment,
        "walletDetails": None,
    }
    (found,) = driven(StubServer(ok({"accounts": [account]}))).call(lambda c: c.list_wallet_accounts()).accounts
    assert found.address_format == "ADDRESS_FORMAT_OF_TOMORROW"
    assert isinstance(found.address_format, AddressFormat)
    assert found.address_format.value == "ADDRESS_FORMAT_OF_TOMORROW"
    assert "ADDRESS_FORMAT_OF_TOMORROW" not in AddressFormat.__members__.values()
    assert found.curve is found.curve.SECP256K1
    assert found.created_at.epoch_ms == 1000


def test_a_newer_word_excuses_nothing_else(driven: Make) -> None:
    server = StubServer(ok(activity("OF_TOMORROW", canApprove="yes")))
    with pytest.raises(ProtocolError, match="Expected `bool`"):
        driven(server).call(create_wallet)
