"""From an activity to its receiver, on both databases: who gets which events, in which order, after kills too."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

from keystead.delivery.webhooks.dispatcher import LEASE_MS
from keystead.pipeline.bounds import EVENT_BYTES_MAX
from keystead.stamps.signing import generate_api_key
from tests.conftest import StartServer
from tests.support.authorization_scenario import new_sub_organization
from tests.support.callers import SDK_FORM, Caller, answered, now_ms, refusal, unique
from tests.support.hanging import PATIENCE_S
from tests.support.moved_clock import MovedClock
from tests.support.organization_fixtures import private_key_params, webhook_endpoint_params
from tests.support.servers import Installation, Server, running, user_with_key
from tests.support.webhook_receiver import (
    ReceivedWebhook,
    WebhookReceiver,
    is_genuine,
    published_keys,
    receiving,
)

ALLOWED = {"webhook_networks": "127.0.0.0/8"}
UPDATES = {"eventType": "ACTIVITY_UPDATES"}
CONSENSUS, COMPLETED = "ACTIVITY_STATUS_CONSENSUS_NEEDED", "ACTIVITY_STATUS_COMPLETED"


def register(caller: Caller, receiver: WebhookReceiver, **members: Any) -> str:
    endpoint = {"url": receiver.url, "name": unique("endpoint"), "subscriptions": [UPDATES], **members}
    return str(caller.result("create_webhook_endpoint", endpoint)["endpointId"])


def tag(caller: Caller) -> str:
    return str(caller.submitted("create_user_tag", {"userTagName": unique("tag"), "userIds": []})["id"])


def wait_until_recorded(installation: Installation, endpoint_ids: Collection[str]) -> None:
    """Nothing waits for these endpoints any more."""
    deadline = time.monotonic() + PATIENCE_S
    waiting = "SELECT endpoint_id FROM webhook_delivery WHERE due_ms IS NOT NULL"
    while {endpoint_id for (endpoint_id,) in installation.database.rows(waiting)} & set(endpoint_ids):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def an_organization(server: Server, users: int = 1) -> list[Caller]:
    """The root users of an organization of the test's own; all of them must approve."""
    keys = [generate_api_key() for _ in range(users)]
    records = [user_with_key(key) for key in keys]
    organization = server.installation.add_organization(*records, threshold=users)
    http = server.http
    return [Caller(http, organization.id, one.user_id, key) for one, key in zip(records, keys, strict=True)]


@pytest.fixture
def root(server: Server) -> Caller:
    (root,) = an_organization(server)
    return root


def test_an_event_is_the_whole_activity_and_signed(server: Server, root: Caller) -> None:
    with receiving() as receiver:
        register(root, receiver)
        activity_id = tag(root)
        (webhook,) = receiver.wait_for(1)
    keys = published_keys(server.base_url)
    assert is_genuine(webhook.headers, webhook.body, keys, now_ms()) == ""
    assert webhook.headers["x-turnkey-organization-id"] == root.organization_id
    assert webhook.headers["x-turnkey-event-type"] == "ACTIVITY_UPDATES"
    seen = root.asked("get_activity", SDK_FORM, activityId=activity_id)["activity"]
    assert webhook.activity == seen | {"canApprove": False, "canReject": False}


@pytest.mark.parametrize(("characters", "is_whole"), [(400_000, True), (520_000, False)])
def test_what_voters_signed_is_left_out_of_a_long_event(
    characters: int, is_whole: bool, server: Server, root: Caller
) -> None:
    """The text is of quotes, which take two bytes each in the activity, and four in what the voter signed."""
    key_id = root.result("create_private_keys", {"privateKeys": [private_key_params()]})["privateKeys"][0]
    asked = {
        "signWith": key_id["privateKeyId"],
        "payload": '"' * characters,
        "encoding": "PAYLOAD_ENCODING_TEXT_UTF8",
        "hashFunction": "HASH_FUNCTION_SHA256",
    }
    with receiving() as receiver:
        register(root, receiver)
        root.submitted("sign_raw_payload", asked)
        (webhook,) = receiver.wait_for(1)
    assert is_genuine(webhook.headers, webhook.body, published_keys(server.base_url), now_ms()) == ""
    (vote,) = webhook.activity["votes"]
    assert (vote["message"] != "") is is_whole
    assert len(webhook.body) <= EVENT_BYTES_MAX


def test_the_changes_of_an_activity_arrive_in_order(server: Server) -> None:
    ada, ben = an_organization(server, users=2)
    statuses = [500, 200, 200, 200]
    with receiving(lambda _: statuses.pop(0)) as receiver:
        asked = {"url": receiver.url, "name": "endpoint", "subscriptions": [UPDATES]}
        waiting = answered(ada.submit("create_webhook_endpoint", asked))["activity"]
        answered(ben.submit("approve_activity", {"fingerprint": waiting["fingerprint"]}))
        waiting = answered(ada.submit("create_user_tag", {"userTagName": unique("tag"), "userIds": []}))["activity"]
        receiver.wait_for(1)  # refused, so the second must wait for the first
        answered(ben.submit("approve_activity", {"fingerprint": waiting["fingerprint"]}))
        arrived = receiver.wait_for(3)
    assert [one.activity["status"] for one in arrived] == [CONSENSUS, CONSENSUS, COMPLETED]
    assert {one.activity["id"] for one in arrived} == {waiting["id"]}
    assert arrived[0].event_id == arrived[1].event_id != arrived[2].event_id
    assert arrived[0].body == arrived[1].body
    first, second = (one.headers["x-turnkey-signature"] for one in arrived[:2])
    assert first != second, "a retry has a signature of its own"
    keys = published_keys(server.base_url)
    assert [is_genuine(one.headers, one.body, keys, now_ms()) for one in arrived] == ["", "", ""]
    assert len(arrived[2].activity["votes"]) == 2


def test_a_parent_gets_the_events_of_its_sub_organizations(root: Caller) -> None:
    with receiving() as of_parent, receiving() as of_one:
        one, other = new_sub_organization(root), new_sub_organization(root)
        register(one, of_one)
        register(root, of_parent)
        expected = {tag(caller) for caller in (root, one, other)}
        assert {webhook.activity["id"] for webhook in of_parent.wait_for(3)} == expected
        last = root.submitted("create_user_tag", {"userTagName": unique("tag"), "userIds": []})["id"]
        of_parent.wait_for(4)
        (webhook,) = of_one.wait_for(1)
        assert webhook.activity["organizationId"] == one.organization_id
        assert {each.headers["x-turnkey-organization-id"] for each in of_parent.received} == {root.organization_id}
        deleted = one.submitted("delete_sub_organization", {"deleteWithoutExport": True})["id"]
        assert [each.activity["id"] for each in of_parent.wait_for(5)[-2:]] == [last, deleted]


def test_what_endpoints_do_not_want_is_not_sent(server: Server, root: Caller) -> None:
    filters = '{"activityTypes": ["ACTIVITY_TYPE_CREATE_USER_TAG"], "statuses": ["ACTIVITY_STATUS_COMPLETED"]}'
    with receiving() as receiver:
        unwanted: dict[str, dict[str, Any]] = {
            "filtered": {"subscriptions": [UPDATES | {"filtersJson": '{"activityTypes": ["X"]}'}]},
            "inactive": {"subscriptions": [UPDATES | {"isActive": False}]},
            "no-subscription": {"subscriptions": []},
            "paused": {},
            "deleted": {},
            "moved": {},
        }
        ids = {
            name: register(root, receiver, url=f"{receiver.url}/{name}", **one) for name, one in unwanted.items()
        }
        root.result("update_webhook_endpoint", {"endpointId": ids["moved"], "url": f"{receiver.url}/here"})
        root.result("update_webhook_endpoint", {"endpointId": ids["paused"], "isActive": False})
        root.result("delete_webhook_endpoint", {"endpointId": ids["deleted"]})
        ids["last"] = register(
            root, receiver, url=f"{receiver.url}/last", subscriptions=[UPDATES | {"filtersJson": filters}]
        )
        activity_id = tag(root)
        wait_until_recorded(server.installation, ids.values())
        last = [one.activity["id"] for one in receiver.received if one.path == "/hook/last"]
        assert last == [activity_id]
        later = sorted(one.path for one in receiver.received if one.activity["id"] == activity_id)
    assert later == ["/hook/here", "/hook/last"]
    assert not [one for one in receiver.received if one.path in ("/hook/filtered", "/hook/inactive")]


def test_the_older_feature(root: Caller) -> None:
    with receiving() as receiver:
        feature = {"name": "FEATURE_NAME_WEBHOOK", "value": receiver.url}
        root.result("set_organization_feature", feature)
        sub = new_sub_organization(root)
        expected = tag(sub)
        _, webhook = receiver.wait_for(2)
        assert webhook.activity["id"] == expected
        assert webhook.headers["x-turnkey-event-type"] == "ACTIVITY_UPDATES"
    status, message = refusal(root.submit("set_organization_feature", feature | {"value": "http://example.com/"}))
    assert (status, "invalid webhook url: field `parameters.value`" in message) == (400, True)


REFUSED: dict[str, tuple[dict[str, Any], int, str]] = {
    "an address inside": ({"url": "https://10.0.0.1/"}, 400, "field `parameters.url`: 10.0.0.1 is not a public"),
    "plain http": ({"url": "http://example.com/"}, 400, "field `parameters.url`: expected an address that begins"),
    "a user": ({"url": "https://a:b@example.com/"}, 400, "field `parameters.url`: it must hold no user"),
    "no name": ({"name": ""}, 400, "parameters.name"),
    "an unknown event": (
        {"subscriptions": [{"eventType": "X"}]},
        400,
        "field `parameters.subscriptions[0].eventType`: expected ACTIVITY_UPDATES",
    ),
    "an event of chains": (
        {"subscriptions": [UPDATES, {"eventType": "BALANCE_CONFIRMED_UPDATES"}]},
        501,
        "this server watches no chain",
    ),
    "malformed filters": (
        {"subscriptions": [UPDATES | {"filtersJson": "{"}]},
        400,
        "field `parameters.subscriptions[0].filtersJson`",
    ),
    "too many subscriptions": ({"subscriptions": [UPDATES] * 11}, 429, "subscriptions of one webhook endpoint"),
}


@pytest.mark.parametrize("members", REFUSED, ids=REFUSED)
def test_refused(root: Caller, members: str) -> None:
    changed, expected, words = REFUSED[members]
    endpoint = {"url": "https://hooks.example/", "name": "endpoint", "subscriptions": [UPDATES]}
    status, message = refusal(root.submit("create_webhook_endpoint", endpoint | changed))
    assert (status, words in message) == (expected, True), message
    assert root.asked("list_webhook_endpoints")["webhookEndpoints"] == []


def test_the_limit_and_the_list(installation: Installation, start: StartServer) -> None:
    """The server of this test has the default limits. The shared server has other limits."""
    root = start(installation).caller
    made = [root.result("create_webhook_endpoint", webhook_endpoint_params()) for _ in range(10)]
    assert refusal(root.submit("create_webhook_endpoint", webhook_endpoint_params()))[0] == 429
    listed = root.asked("list_webhook_endpoints", SDK_FORM)["webhookEndpoints"]
    assert listed == [one["webhookEndpoint"] for one in made]
    changed = root.result("update_webhook_endpoint", {"endpointId": made[0]["endpointId"], "name": "other"})
    assert changed["webhookEndpoint"] == listed[0] | {"name": "other"}
    assert root.result("delete_webhook_endpoint", {"endpointId": made[0]["endpointId"]}) == {
        "endpointId": made[0]["endpointId"]
    }
    for operation in ("update_webhook_endpoint", "delete_webhook_endpoint"):
        assert refusal(root.submit(operation, {"endpointId": made[0]["endpointId"]}))[0] == 404


def test_policies_speak_of_endpoints(root: Caller) -> None:
    user = root.new_user()
    mine, other = (
        root.result("create_webhook_endpoint", webhook_endpoint_params())["endpointId"] for _ in range(2)
    )
    for name, condition in {
        "may add": "activity.resource == 'WEBHOOK_ENDPOINT' && activity.action == 'CREATE'",
        "may change one": "activity.type == 'ACTIVITY_TYPE_UPDATE_WEBHOOK_ENDPOINT' && "
        f"activity.params.endpoint_id == '{mine}'",
    }.items():
        policy = {
            "policyName": name,
            "effect": "EFFECT_ALLOW",
            "consensus": f"approvers.any(user, user.id == '{user.user_id}')",
            "condition": condition,
            "notes": "",
        }
        root.result("create_policy", policy)
    user.result("create_webhook_endpoint", webhook_endpoint_params())
    user.result("update_webhook_endpoint", {"endpointId": mine, "isActive": False})
    assert refusal(user.submit("update_webhook_endpoint", {"endpointId": other, "isActive": False}))[0] == 403
    assert refusal(user.submit("delete_webhook_endpoint", {"endpointId": mine}))[0] == 403


def test_secrets_of_an_answer_are_not_in_its_event(root: Caller) -> None:
    with receiving() as receiver:
        register(root, receiver)
        session = root.result("create_read_only_session", {})["session"]
        (webhook,) = receiver.wait_for(1)
    assert webhook.activity["status"] == COMPLETED
    assert session.encode() not in webhook.body


def test_an_event_outlives_the_process_that_wrote_it(installation: Installation, tmp_path: Path) -> None:
    """Killed between the delivery and its record: another process delivers again, with the same event id, once the
    lease is over; and nobody delivers what is on record."""
    clock, hangs = MovedClock(tmp_path / "clock"), threading.Event()

    def respond(webhook: ReceivedWebhook) -> int:
        if not hangs.is_set():
            hangs.wait(PATIENCE_S)
        return 200

    with (
        receiving(respond) as receiver,
        running(installation, tmp_path / "killed", ALLOWED, clock) as killed,
        running(installation, tmp_path / "other", ALLOWED, clock) as other,
    ):
        endpoint_id = register(killed.caller, receiver)
        activity_id = tag(killed.caller)
        receiver.wait_for(1)
        killed.kill()
        hangs.set()
        clock.advance(LEASE_MS // 1000)
        first, second = receiver.wait_for(2)
        assert first.event_id == second.event_id
        assert first.activity["id"] == second.activity["id"] == activity_id
        last = tag(other.caller)
        assert [one.activity["id"] for one in receiver.wait_for(3)] == [activity_id, activity_id, last]
        wait_until_recorded(installation, [endpoint_id])
        other.kill()
        clock.advance(2 * LEASE_MS // 1000)
        other.start()
        third = tag(other.caller)
        assert [one.activity["id"] for one in receiver.wait_for(4)][-2:] == [last, third]
        keys = published_keys(other.base_url)
        assert {is_genuine(one.headers, one.body, keys, clock.now_ms(), 10**9) for one in receiver.received} == {""}
        assert {one["endpointId"] for one in other.caller.asked("list_webhook_endpoints")["webhookEndpoints"]} == {
            endpoint_id
        }


def test_two_processes_deliver_once(installation: Installation, tmp_path: Path) -> None:
    """What either of them commits, to endpoints that either of them may serve."""
    clock = MovedClock(tmp_path / "clock")
    with (
        receiving() as receiver,
        running(installation, tmp_path / "one", ALLOWED, clock) as one,
        running(installation, tmp_path / "other", ALLOWED, clock) as other,
    ):
        for number in range(3):
            register(one.caller, receiver, url=f"{receiver.url}/{number}")
        before = len(receiver.received)
        made = {tag((one, other)[number % 2].caller) for number in range(10)}
        expected = 3 * len(made) + 3  # the first endpoint saw the second made, and so on
        arrived = receiver.wait_for(expected)
        assert len({(each.path, each.event_id) for each in arrived}) == len(arrived)
        assert {each.activity["id"] for each in arrived[before:]} >= made
        one.stop()
        last = tag(other.caller)
        assert [each.activity["id"] for each in receiver.wait_for(expected + 3)[-3:]] == [last] * 3


def test_a_stopping_process_records_what_it_is_delivering(installation: Installation, tmp_path: Path) -> None:
    """The receiver answers while the process stops. No other process delivers that event again."""
    answers = threading.Event()

    def respond(_: ReceivedWebhook) -> int:
        answers.wait(PATIENCE_S)
        return 200

    with (
        receiving(respond) as receiver,
        running(installation, tmp_path / "stopping", ALLOWED) as stopping,
        running(installation, tmp_path / "other", ALLOWED) as other,
    ):
        endpoint_id = register(stopping.caller, receiver)
        first = tag(stopping.caller)
        receiver.wait_for(1)
        answering = threading.Timer(0.5, answers.set)
        answering.start()
        assert stopping.stop() == 0
        answering.join()
        last = tag(other.caller)
        receiver.wait_for(2)
        wait_until_recorded(installation, [endpoint_id])
    assert [webhook.activity["id"] for webhook in receiver.received] == [first, last]


def test_an_installation_of_an_earlier_version_gets_its_key(installation: Installation, start: StartServer) -> None:
    installation.database.rows("DELETE FROM instance WHERE name = 'webhook_key'")
    server = start(installation, **ALLOWED)
    keys = published_keys(server.base_url)
    assert len(keys) == 1
    server.stop()
    server.start()
    assert published_keys(server.base_url) == keys
    with receiving() as receiver:
        register(server.caller, receiver)
        tag(server.caller)
        (webhook,) = receiver.wait_for(1)
    assert is_genuine(webhook.headers, webhook.body, keys, now_ms()) == ""


def test_a_slow_receiver_delays_neither_commits_nor_others(root: Caller) -> None:
    done = threading.Event()

    def slow(_: ReceivedWebhook) -> int:
        done.wait(PATIENCE_S)
        return 200

    with receiving(slow) as slow_one, receiving() as quick:
        register(root, slow_one)
        tag(root)
        slow_one.wait_for(1)
        register(root, quick)
        made = [tag(root) for _ in range(20)]
        assert {one.activity["id"] for one in quick.wait_for(20)} == set(made)
        done.set()
