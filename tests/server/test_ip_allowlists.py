"""IP allow-lists over HTTP, on both stores: what they refuse, whose requests they leave alone, who may set them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import httpx
import pytest

from keystead.stamps.signing import generate_api_key
from tests.conftest import MakeDatabase, StartServer
from tests.server.test_auth_proxy import ORIGIN, new_proxy
from tests.support.callers import SDK_FORM, Caller, refusal, unique
from tests.support.passkeys import SoftPasskey
from tests.support.servers import Installation, Server, bootstrap_installation, running, user_with_key

OFFICE, ELSEWHERE = "192.0.2.7", "198.51.100.7"
RULE = {"cidr": "192.0.2.0/24", "label": "office"}
PROXY_SETTINGS = {"trusted_proxies": "127.0.0.0/8", "failures_per_address": 1_000}


@dataclass(frozen=True)
class Place:
    """A server behind a trusted proxy, and organizations of the test's own."""

    server: Server

    @property
    def installation(self) -> Installation:
        return self.server.installation

    def organization(self, parent_id: str | None = None) -> Caller:
        """The root user of a new organization."""
        user = user_with_key(key := generate_api_key())
        made = self.installation.add_organization(user, parent_id=parent_id)
        return replace(self.server.caller, key=key, user_id=user.user_id, organization_id=made.id)


@pytest.fixture(scope="module")
def place(make_database: MakeDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    installation = bootstrap_installation(make_database())
    with running(installation, tmp_path_factory.mktemp("allowlists") / "log", PROXY_SETTINGS) as server:
        yield Place(server)
    installation.database.close()


def via(address: str) -> dict[str, str]:
    """The header by which the trusted proxy says who calls. The caller has forged the first half."""
    return {**SDK_FORM, "X-Forwarded-For": f"{OFFICE}, {address}"}


def only_the_office(root: Caller, **members: Any) -> None:
    root.submitted("set_ip_allowlist", {"rules": [RULE], "enabled": True, **members}, via(OFFICE))


NOT_LISTED = (
    f"request not authorized: address {ELSEWHERE} is not on the IP allow-list of this organization. "
    "From an address on the list, a user who may do so replaces or removes it. "
    "If there is none, the operator of this server lifts it: keystead recover ip-allowlist"
)

Send = Callable[[Caller, dict[str, str]], httpx.Response]

REQUESTS: dict[str, Send] = {
    "a query": lambda c, headers: c.ask("list_wallets", headers),
    "a query of this version, cached": lambda c, headers: c.ask("list_users", headers),
    "whoami": lambda c, headers: c.ask("whoami", headers),
    "a submission": lambda c, headers: c.submit(
        "create_user_tag", {"userTagName": unique("tag"), "userIds": []}, headers
    ),
    "a session": lambda c, headers: c.submit("stamp_login", {"publicKey": generate_api_key().public_key}, headers),
    "the list itself": lambda c, headers: c.ask("get_ip_allowlist", headers),
    "a change of the list": lambda c, headers: c.submit(
        "set_ip_allowlist", {"rules": [RULE], "enabled": False}, headers
    ),
}


@pytest.mark.parametrize("send", REQUESTS.values(), ids=REQUESTS)
def test_every_request_is_refused_from_elsewhere(place: Place, send: Send) -> None:
    root = place.organization()
    assert send(root, via(ELSEWHERE)).status_code == 200
    only_the_office(root)
    allowed = send(root, via(OFFICE))
    assert allowed.status_code == 200, allowed.text
    only_the_office(root)
    refused = send(root, via(ELSEWHERE))
    assert refusal(refused) == (403, NOT_LISTED)
    assert (refused.json()["code"], refused.json()["details"][0]["turnkeyErrorCode"]) == (
        7,
        "REQUEST_NOT_AUTHORIZED",
    )


def test_a_vote(place: Place) -> None:
    root = place.organization()
    other = root.new_user()
    root.submitted("update_root_quorum", {"threshold": 2, "userIds": [root.user_id, other.user_id]})
    waiting = root.submit("create_user_tag", {"userTagName": "x", "userIds": []}).json()["activity"]
    enabled = root.submit("set_ip_allowlist", {"rules": [RULE], "enabled": True}, via(OFFICE)).json()["activity"]
    other.submitted("approve_activity", {"fingerprint": enabled["fingerprint"]}, via(ELSEWHERE))
    vote = other.submit("approve_activity", {"fingerprint": waiting["fingerprint"]}, via(ELSEWHERE))
    assert refusal(vote) == (403, NOT_LISTED)
    shown = root.asked("get_activity", via(OFFICE), activityId=waiting["id"])["activity"]
    assert (shown["status"], len(shown["votes"])) == ("ACTIVITY_STATUS_CONSENSUS_NEEDED", 1)
    lines = [line for line in place.server.log_lines() if line.get("organization_id") == root.organization_id]
    (locked_out,) = [line for line in lines if "own caller" in line["event"]]
    assert ELSEWHERE in locked_out["event"]


def test_a_passkey_and_a_read_only_session(place: Place) -> None:
    root = place.organization()
    passkey = SoftPasskey()
    root.submitted("create_authenticators", {"userId": root.user_id, "authenticators": [passkey.params()]})
    session = root.result("create_read_only_session", {})["session"]
    only_the_office(root)
    body = root.query_body()
    for stamp in (passkey.stamp(body), {"X-Session": session}):
        for address, expected in ((OFFICE, 200), (ELSEWHERE, 403)):
            answer = root.http.post("/public/v1/query/whoami", content=body, headers={**stamp, **via(address)})
            assert answer.status_code == expected, answer.text


def test_the_list_of_one_key(place: Place) -> None:
    root = place.organization()
    server_key = root.new_user()
    only_the_office(root)
    rules = [{"cidr": f"{ELSEWHERE}/32"}]
    root.submitted("set_ip_allowlist", {"rules": rules, "publicKey": server_key.key.public_key}, via(OFFICE))
    assert server_key.ask("whoami", via(ELSEWHERE)).status_code == 200
    status, message = refusal(server_key.ask("whoami", via(OFFICE)))
    assert (status, "is not on the IP allow-list of this API key. From" in message) == (403, True)
    assert root.ask("whoami", via(OFFICE)).status_code == 200
    root.submitted("remove_ip_allowlist", {"publicKey": server_key.key.public_key}, via(OFFICE))
    assert server_key.ask("whoami", via(OFFICE)).status_code == 200


def test_sub_organizations_have_no_lists_and_their_parents_users_keep_theirs(place: Place) -> None:
    root = place.organization()
    person = place.organization(parent_id=root.organization_id)
    only_the_office(root)
    assert person.ask("list_wallets", via(ELSEWHERE)).status_code == 200
    reading = replace(root, organization_id=person.organization_id)
    assert reading.ask("list_wallets", via(OFFICE)).status_code == 200
    assert refusal(reading.ask("list_wallets", via(ELSEWHERE))) == (403, NOT_LISTED)
    # The parent is named, and the user is found in the sub-organization.
    through_parent = replace(person, organization_id=root.organization_id)
    assert through_parent.ask("whoami", via(ELSEWHERE)).status_code == 200
    for name in ("set_ip_allowlist", "remove_ip_allowlist"):
        parameters = {"rules": [], "enabled": True} if name.startswith("set") else {}
        status, message = refusal(person.submit(name, parameters))
        assert (status, message.startswith("activity not callable by sub-organizations")) == (400, True)


def test_an_authentication_proxy_is_exempt(place: Place) -> None:
    root = place.organization()
    config_id = new_proxy(root)
    only_the_office(root)
    person = {
        "userName": unique("user"),
        "apiKeys": [],
        "authenticators": [SoftPasskey().params()],
        "oauthProviders": [],
    }
    headers = {"X-Auth-Proxy-Config-ID": config_id, "Origin": ORIGIN, **via(ELSEWHERE)}
    made = root.http.post("/auth-proxy/v1/signup_v2", json=person, headers=headers)
    assert made.status_code == 200, made.text


MALFORMED: dict[str, dict[str, str]] = {
    "no header": {},
    "malformed": {"X-Forwarded-For": "unknown"},
    "the other header": {"Forwarded": f"for={OFFICE}"},
}


@pytest.mark.parametrize("headers", MALFORMED.values(), ids=MALFORMED)
def test_a_proxy_that_does_not_say_who_calls(place: Place, headers: dict[str, str]) -> None:
    root = place.organization()
    only_the_office(root)
    status, message = refusal(root.ask("whoami", headers))
    assert (status, "cannot be determined" in message) == (403, True)
    only_the_office(root, onEvaluationError="ALLOW")
    assert root.ask("whoami", headers).status_code == 200
    assert refusal(root.ask("whoami", via(ELSEWHERE))) == (403, NOT_LISTED)


def test_what_get_ip_allowlist_shows(place: Place) -> None:
    root = place.organization()
    of_organization = {"organizationId": root.organization_id, "rules": [], "onEvaluationError": "DENY"}
    assert root.asked("get_ip_allowlist", via(OFFICE))["allowlist"] == {**of_organization, "enabled": False}
    rules = [{"cidr": "192.0.2.9/24", "label": "office"}, {"cidr": "2001:db8::/48"}, RULE]
    only_the_office(root, rules=rules)
    shown = root.asked("get_ip_allowlist", via(OFFICE))["allowlist"]
    created = [rule.pop("createdAt") for rule in shown["rules"]]
    assert all(moment.isdecimal() for moment in created)
    assert shown == {
        "organizationId": root.organization_id,
        "enabled": True,
        "onEvaluationError": "DENY",
        "rules": [{"cidr": "192.0.2.0/24", "label": "office"}, {"cidr": "2001:db8::/48", "label": ""}],
    }
    only_the_office(root, rules=[RULE], enabled=False)
    assert len(root.asked("get_ip_allowlist")["allowlist"]["rules"]) == 1
    public_key = root.key.public_key
    root.submitted("set_ip_allowlist", {"rules": [RULE], "publicKey": f"0x{public_key.upper()}"})
    shown = root.asked("get_ip_allowlist", publicKey=public_key)["allowlist"]
    assert shown.keys() == {"organizationId", "publicKey", "rules", "onEvaluationError"}
    root.submitted("remove_ip_allowlist", {})
    assert root.asked("get_ip_allowlist")["allowlist"]["rules"] == []


REFUSED: dict[str, tuple[str, dict[str, Any], int, str]] = {
    "of a key that nobody has": ("set_ip_allowlist", {"rules": [], "publicKey": "02" * 33}, 404, "find API key"),
    "without saying whether it is enforced": ("set_ip_allowlist", {"rules": [RULE]}, 400, "`parameters.enabled`"),
    "without rules": ("set_ip_allowlist", {"enabled": True}, 400, "`parameters.rules`"),
    "no network": (
        "set_ip_allowlist",
        {"enabled": True, "rules": [RULE, {"cidr": "10.0.0.1"}]},
        400,
        "field `parameters.rules[1].cidr`: '10.0.0.1' is not a CIDR block",
    ),
    "another mode": (
        "set_ip_allowlist",
        {"enabled": True, "rules": [RULE], "onEvaluationError": "MAYBE"},
        400,
        "parameters.onEvaluationError",
    ),
    "removed, but never set": ("remove_ip_allowlist", {}, 404, "has no IP allow-list"),
    "removed for a key without one": ("remove_ip_allowlist", {"publicKey": "02" * 33}, 404, "for API key"),
}


@pytest.mark.parametrize(("name", "parameters", "status", "message"), REFUSED.values(), ids=REFUSED)
def test_refused(place: Place, name: str, parameters: dict[str, Any], status: int, message: str) -> None:
    refused = refusal(place.organization().submit(name, parameters))
    assert refused[0] == status
    assert message in refused[1]


def test_a_key_has_no_list_that_is_switched_off(place: Place) -> None:
    root = place.organization()
    off = {"rules": [], "enabled": False, "publicKey": root.key.public_key}
    assert refusal(root.submit("set_ip_allowlist", off))[0] == 400


def test_the_log_names_the_caller(place: Place) -> None:
    root = place.organization()
    responses = [root.ask("whoami", via(ELSEWHERE)), root.ask("whoami", {"X-Forwarded-For": "nonsense"})]
    assert [place.server.request_line(each)["client"] for each in responses] == [ELSEWHERE, "127.0.0.1"]


def test_policies_decide_who_may_set_one(place: Place) -> None:
    root = place.organization()
    user = root.new_user()
    asked = {"rules": [RULE], "enabled": False}
    assert refusal(user.submit("set_ip_allowlist", asked))[0] == 403
    root.submitted(
        "create_policy",
        {
            "policyName": "network",
            "effect": "EFFECT_ALLOW",
            "consensus": f"approvers.any(user, user.id == '{user.user_id}')",
            "condition": "activity.resource == 'CONFIG' && activity.action == 'UPDATE'",
            "notes": "",
        },
    )
    user.submitted("set_ip_allowlist", asked)


def test_every_process_enforces_what_one_was_told(make_postgres: MakeDatabase, start: StartServer) -> None:
    installation = bootstrap_installation(make_postgres())
    first, second = (start(installation, **PROXY_SETTINGS).caller for _ in range(2))
    assert second.ask("list_wallets", via(ELSEWHERE)).status_code == 200, "the second has the organization cached"
    only_the_office(first)
    assert refusal(second.ask("list_wallets", via(ELSEWHERE))) == (403, NOT_LISTED)
    second.submitted("remove_ip_allowlist", {}, via(OFFICE))
    assert first.ask("list_wallets", via(ELSEWHERE)).status_code == 200
    installation.database.close()


def test_an_operator_lets_an_organization_in_again(make_sqlite: MakeDatabase, start: StartServer) -> None:
    installation = bootstrap_installation(make_sqlite())
    server = start(installation, **PROXY_SETTINGS)
    server.caller.submitted("set_ip_allowlist", {"rules": [], "enabled": True}, via(OFFICE))
    assert refusal(server.caller.ask("whoami", via(OFFICE)))[0] == 403
    server.stop()
    open_again = start(installation, **PROXY_SETTINGS, ip_allowlists=False).caller
    open_again.submitted("remove_ip_allowlist", {}, via(OFFICE))
    installation.database.close()


def test_without_a_trusted_proxy_no_header_is_believed(make_sqlite: MakeDatabase, start: StartServer) -> None:
    installation = bootstrap_installation(make_sqlite())
    root = start(installation).caller
    root.submitted("set_ip_allowlist", {"rules": [RULE], "enabled": True})
    status, message = refusal(root.ask("whoami", via(OFFICE)))
    assert (status, "address 127.0.0.1 is not on" in message) == (403, True)
    installation.database.close()


# Whether a change would refuse its own caller.

EVERYWHERE = [{"cidr": f"{address}/32"} for address in (OFFICE, ELSEWHERE)]
IN_THE_OFFICE = {"rules": [RULE], "enabled": True}


def a_list_of_my_key(root: Caller) -> dict[str, Any]:
    root.submitted("set_ip_allowlist", {"rules": EVERYWHERE, "enabled": True})
    return {"setIpAllowlist": {"rules": [RULE], "publicKey": root.key.public_key}}


def the_removal_of_the_list_of_my_key(root: Caller) -> dict[str, Any]:
    """Then the list of the organization applies."""
    root.submitted("set_ip_allowlist", {"rules": EVERYWHERE, "publicKey": root.key.public_key})
    root.submitted("set_ip_allowlist", IN_THE_OFFICE)
    return {"removeIpAllowlist": {"publicKey": root.key.public_key}}


def an_approval(root: Caller) -> dict[str, Any]:
    other = root.new_user()
    root.submitted("update_root_quorum", {"threshold": 2, "userIds": [root.user_id, other.user_id]})
    waiting = other.submit("set_ip_allowlist", IN_THE_OFFICE).json()["activity"]
    assert waiting["status"] == "ACTIVITY_STATUS_CONSENSUS_NEEDED"
    return {"approveActivity": {"fingerprint": waiting["fingerprint"]}}


def an_approval_of_something_else(root: Caller) -> dict[str, Any]:
    made = root.submit("create_user_tag", {"userTagName": unique("tag"), "userIds": []}).json()["activity"]
    return {"approveActivity": {"fingerprint": made["fingerprint"]}}


Question = Callable[[Caller], dict[str, Any]]
LOCKS_OUT: dict[str, Question] = {
    "a list": lambda _: {"setIpAllowlist": IN_THE_OFFICE},
    "a list of my key": a_list_of_my_key,
    "the removal of the list of my key": the_removal_of_the_list_of_my_key,
    "an approval": an_approval,
}
HARMLESS: dict[str, Question] = {
    "nothing": lambda _: {},
    "a list that is not enforced": lambda _: {"setIpAllowlist": {"rules": [RULE], "enabled": False}},
    "a list that has both": lambda _: {"setIpAllowlist": {"rules": EVERYWHERE, "enabled": True}},
    "a list of my key while there is no other": lambda root: {
        "setIpAllowlist": {"rules": [RULE], "publicKey": root.key.public_key}
    },
    "a list of another key": lambda root: {
        "setIpAllowlist": {"rules": [RULE], "publicKey": root.new_user().key.public_key}
    },
    "an approval of something else": an_approval_of_something_else,
}


@pytest.mark.parametrize("question", [*LOCKS_OUT.values(), *HARMLESS.values()], ids=[*LOCKS_OUT, *HARMLESS])
def test_who_would_be_locked_out(place: Place, question: Question) -> None:
    root = place.organization()
    asked = question(root)
    locks_out = question in LOCKS_OUT.values()
    for address, is_refused in ((OFFICE, False), (ELSEWHERE, locks_out)):
        answer = root.asked("check_ip_allowlist", via(address), **asked)
        assert answer["address"] == address
        assert ("refusal" in answer) == is_refused
        if is_refused:
            assert answer["refusal"].startswith(f"address {address} is not on the IP allow-list of this ")
    assert root.ask("whoami", via(ELSEWHERE)).status_code == 200, "nothing was changed"


def test_the_question_names_one_operation_and_is_refused_like_it(place: Place) -> None:
    root = place.organization()
    both = root.ask("check_ip_allowlist", setIpAllowlist=IN_THE_OFFICE, removeIpAllowlist={})
    assert refusal(both) == (
        400,
        "invalid request body: give the parameters of one operation",
    )
    submitted = refusal(root.submit("set_ip_allowlist", {"rules": [RULE]}))
    assert refusal(root.ask("check_ip_allowlist", setIpAllowlist={"rules": [RULE]})) == submitted
    status, message = refusal(root.ask("check_ip_allowlist", approveActivity={"fingerprint": "sha256:00"}))
    assert (status, "unable to find an activity with fingerprint" in message) == (404, True)
