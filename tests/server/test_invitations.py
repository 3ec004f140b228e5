"""Invitations over HTTP: a link by e-mail or to hand over, which makes one passkey and does nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from keystead.client.dev_outbox import DevelopmentOutbox
from keystead.operations.bounds import INVITATION_LASTS_MAX_S
from keystead.operations.users.invitations import LASTS_DEFAULT_S
from keystead.stamps.base64url import decode_base64url
from keystead.stamps.signing import ApiKeyPair, generate_api_key
from tests.conftest import MakeDatabase
from tests.support.authorization_scenario import new_sub_organization
from tests.support.callers import SDK_FORM, Caller, answered, refusal, unique
from tests.support.codes import outbox_of
from tests.support.example_codes import an_address
from tests.support.moved_clock import MovedClock
from tests.support.organization_fixtures import invitation_params
from tests.support.passkeys import SoftPasskey
from tests.support.servers import bootstrap_installation, running

CONSOLE = "https://keystead.example/console/"


class Inviting(NamedTuple):
    """A server that keeps its messages and knows its console, and its root user."""

    root: Caller
    outbox: DevelopmentOutbox
    clock: MovedClock

    def invited(self, by: Caller | None = None, **members: Any) -> dict[str, Any]:
        """A new invitation, as the list shows it."""
        by = by or self.root
        asked = {"invitations": [invitation_params(by.user_id, receiverUserEmail=an_address(), **members)]}
        (invitation_id,) = by.result("create_invitations", asked)["invitationIds"]
        return next(one for one in listed(by) if one["invitationId"] == invitation_id)

    def link(self, invitation: dict[str, Any]) -> str:
        return self.outbox.wait_for(invitation["receiverEmail"]).secret

    def holder(self, link: str) -> Caller:
        """Who opens the link."""
        address, _, text = link.partition("#invitation=")
        assert address == CONSOLE
        secret = decode_base64url(text)
        id_ = secret[:16].hex()
        organization_id = "-".join((id_[:8], id_[8:12], id_[12:16], id_[16:20], id_[20:]))
        holder = self.root.with_key(ApiKeyPair(secret[16:49].hex(), secret[49:].hex()), "", organization_id)
        return holder.with_key(holder.key, holder.asked("whoami")["userId"], organization_id)


@pytest.fixture(scope="module")
def inviting(make_database: MakeDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inviting]:
    folder: Path = tmp_path_factory.mktemp("invitations")
    clock = MovedClock(folder / "clock")
    installation = bootstrap_installation(make_database(), mode="dev")  # it keeps its messages
    with running(installation, folder / "log", {"console_url": CONSOLE}, clock) as server:
        yield Inviting(server.caller, outbox_of(server), clock)
    installation.database.close()


def listed(caller: Caller) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = caller.asked("list_invitations")["invitations"]
    return found


def accept(holder: Caller, passkey: SoftPasskey) -> Any:
    return holder.submit("recover_user", {"userId": holder.user_id, "authenticator": passkey.params()}, SDK_FORM)


def test_a_link_by_email_makes_a_passkey_once(inviting: Inviting) -> None:
    name = unique("guest")
    invitation = inviting.invited(receiverUserName=name)
    message = inviting.outbox.wait_for(invitation["receiverEmail"])
    assert message.subject == "Your invitation to Keystead GmbH"
    assert "Root user invites you to Keystead GmbH." in message.text
    assert "works once, and is valid for 7 days" in message.text
    holder = inviting.holder(inviting.link(invitation))
    assert holder.asked("whoami")["username"] == name
    assert holder.user_id == invitation["userId"]
    passkey = SoftPasskey()
    answered(accept(holder, passkey))
    assert invitation not in listed(inviting.root)
    for response in (holder.ask("whoami"), accept(holder, SoftPasskey())):
        status, text = refusal(response)
        assert (status, "could not find public key" in text) == (401, True), text
    body = inviting.root.query_body()
    whoami = inviting.root.http.post("/public/v1/query/whoami", content=body, headers=passkey.stamp(body))
    assert answered(whoami)["userId"] == holder.user_id
    user = inviting.root.asked("get_user", userId=holder.user_id)["user"]
    assert (user["apiKeys"], len(user["authenticators"])) == ([], 1)


def test_a_link_opens_nothing_else(inviting: Inviting) -> None:
    holder = inviting.holder(inviting.link(inviting.invited()))
    for response in (
        holder.ask("list_users"),
        holder.submit("create_user_tag", {"userTagName": unique("tag"), "userIds": []}),
        holder.submit("stamp_login", {"publicKey": generate_api_key().public_key}),
    ):
        status, text = refusal(response)
        assert (status, "opens nothing else" in text) == (403, True), text


def test_a_link_to_hand_over_is_known_to_its_maker_alone(inviting: Inviting) -> None:
    key = generate_api_key()
    invitation = inviting.invited(publicKey=key.public_key)
    assert inviting.outbox.messages(invitation["receiverEmail"]) == []
    holder = inviting.root.with_key(key, invitation["userId"])
    answered(accept(holder, SoftPasskey()))


def test_a_link_expires(inviting: Inviting) -> None:
    usual, short = inviting.invited(), inviting.invited(expirationSeconds="60")
    holders = [inviting.holder(inviting.link(one)) for one in (usual, short)]
    inviting.clock.advance(61)
    assert holders[0].ask("whoami").status_code == 200
    assert "expired api key" in refusal(accept(holders[1], SoftPasskey()))[1]
    inviting.clock.advance(LASTS_DEFAULT_S - 61 + 5)
    assert "expired api key" in refusal(accept(holders[0], SoftPasskey()))[1]
    inviting.root.submitted("delete_invitation", {"invitationId": usual["invitationId"]})


def test_a_withdrawn_invitation_leaves_no_user(inviting: Inviting) -> None:
    invitation = inviting.invited()
    holder = inviting.holder(inviting.link(invitation))
    inviting.root.submitted("delete_invitation", {"invitationId": invitation["invitationId"]})
    assert refusal(accept(holder, SoftPasskey()))[0] == 401
    assert refusal(inviting.root.ask("get_user", userId=holder.user_id))[0] == 404
    assert invitation not in listed(inviting.root)


def test_a_deleted_user_has_no_invitation(inviting: Inviting) -> None:
    invitation = inviting.invited()
    inviting.root.submitted("delete_users", {"userIds": [invitation["userId"]]})
    assert invitation not in listed(inviting.root)


def test_an_invited_user_who_got_a_key_otherwise_stays(inviting: Inviting) -> None:
    invitation = inviting.invited()
    key = {"apiKeyName": "key", "publicKey": generate_api_key().public_key, "curveType": "API_KEY_CURVE_P256"}
    inviting.root.submitted("create_api_keys", {"userId": invitation["userId"], "apiKeys": [key]})
    inviting.root.submitted("delete_invitation", {"invitationId": invitation["invitationId"]})
    user = inviting.root.asked("get_user", userId=invitation["userId"])["user"]
    assert [one["apiKeyName"] for one in user["apiKeys"]] == ["key"]


def test_a_sub_organization_says_nothing_in_its_email(inviting: Inviting) -> None:
    tenant = new_sub_organization(inviting.root)
    invitation = inviting.invited(tenant, receiverUserName="call-the-bank")
    message = inviting.outbox.wait_for(invitation["receiverEmail"])
    assert "You are invited to Keystead GmbH." in message.text
    assert "call-the-bank" not in message.text
    holder = inviting.holder(message.secret)
    assert holder.organization_id == tenant.organization_id
    answered(accept(holder, SoftPasskey()))


REFUSED = {
    "no seconds": ({"expirationSeconds": "0"}, 400, "invitations[0].expirationSeconds"),
    "too long": ({"expirationSeconds": str(INVITATION_LASTS_MAX_S + 1)}, 400, f"at most {INVITATION_LASTS_MAX_S}"),
    "no key": ({"publicKey": "02"}, 400, "invitations[0].publicKey"),
}


@pytest.mark.parametrize(("members", "status", "why"), REFUSED.values(), ids=REFUSED)
def test_refused(inviting: Inviting, members: dict[str, Any], status: int, why: str) -> None:
    before = listed(inviting.root)
    asked = {"invitations": [invitation_params(inviting.root.user_id, **members)]}
    found, text = refusal(inviting.root.submit("create_invitations", asked))
    assert (found, why in text) == (status, True), text
    assert listed(inviting.root) == before


def test_the_same_key_or_address_twice_is_refused(inviting: Inviting) -> None:
    key, address = generate_api_key().public_key, an_address()
    for members, why in (
        ({"publicKey": key}, "is already an API key"),
        ({"receiverUserEmail": address}, "two invitations to"),
    ):
        params = [invitation_params(inviting.root.user_id, **members) for _ in range(2)]
        assert why in refusal(inviting.root.submit("create_invitations", {"invitations": params}))[1]


def test_a_server_without_a_console_only_records(caller: Caller) -> None:
    """As published clients expect: an invitation of the documented form is recorded."""
    before = caller.asked("list_users")["users"]
    asked = {"invitations": [invitation_params(caller.user_id)]}
    (invitation_id,) = caller.result("create_invitations", asked)["invitationIds"]
    (found,) = [one for one in listed(caller) if one["invitationId"] == invitation_id]
    assert not (found.get("userId") or found.get("expiresAt"))
    assert caller.asked("list_users")["users"] == before
    caller.submitted("delete_invitation", {"invitationId": invitation_id})
