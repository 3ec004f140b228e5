"""list_email_events over HTTP, on both databases: addresses, types, pages, and whose events they are."""

from __future__ import annotations

from typing import Any

import pytest

from keystead.api.identifiers import new_id
from tests.conftest import StartServer
from tests.server.test_outbox_delivery import free_port, mail_server, wait_for_event
from tests.support.authorization_scenario import new_sub_organization
from tests.support.callers import Caller, refusal
from tests.support.example_codes import an_address, code_params
from tests.support.servers import Installation


def events(caller: Caller, address: str, **members: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = caller.asked("list_email_events", email=address, **members)["emailEvents"]
    return found


def ids(found: list[dict[str, Any]]) -> list[str]:
    return [one["id"] for one in found]


def page(**options: str) -> dict[str, Any]:
    return {"paginationOptions": options}


@pytest.fixture
def server_without_mail(installation: Installation, start: StartServer) -> tuple[Caller, int]:
    """Its caller, and the port at which it expects a mail server."""
    port = free_port()
    return start(installation, smtp_port=port).caller, port


def test_events_by_address_type_and_page(server_without_mail: tuple[Caller, int]) -> None:
    caller, port = server_without_mail
    address, other = an_address(), an_address()
    caller.result("init_otp", code_params(address))
    delayed = wait_for_event(caller, address, "DeliveryDelay")
    with mail_server(port):
        wait_for_event(caller, address, "Send")
        caller.result("init_otp", code_params(other))
        sent_to_other = wait_for_event(caller, other, "Send")

    everything = events(caller, address, **page(limit="100"))
    assert ids(everything) == sorted(ids(everything), reverse=True), "newest first"
    assert {one["messageId"] for one in everything} == {delayed["messageId"]}
    assert ids(events(caller, other)) == [sent_to_other["id"]]
    assert {len(one["details"]) for one in everything} == {6}, "strict clients need every member"
    assert everything[0]["details"]["deliverySmtpResponse"]
    assert everything[0]["details"]["diagnosticCode"] == everything[0]["senderTenant"] == ""
    assert delayed["details"]["diagnosticCode"]
    assert events(caller, address.upper(), **page(limit="100")) == everything

    by_type = {
        event_type: events(caller, address, eventType=event_type, **page(limit="100"))
        for event_type in ("Send", "DeliveryDelay", "Bounce", "Opened")
    }
    assert by_type["Send"] == everything[:1]
    assert by_type["DeliveryDelay"] == everything[1:]
    assert by_type["Bounce"] == by_type["Opened"] == []

    newest, oldest = everything[0]["id"], everything[-1]["id"]
    older, read = events(caller, address, **page(limit="1")), []
    while older:
        read += ids(older)
        older = events(caller, address, **page(limit="1", after=read[-1]))
    assert read == ids(everything)
    assert ids(events(caller, address, **page(limit="100", before=oldest))) == ids(everything)[:-1]
    assert events(caller, address, eventType="Send", **page(after=newest)) == []

    for name, cursor in (("after", new_id()), ("before", "first"), ("after", sent_to_other["id"])):
        status, message = refusal(caller.ask("list_email_events", email=address, **page(**{name: cursor})))
        assert (status, f"`paginationOptions.{name}`" in message) == (400, True), message

    inside = new_sub_organization(caller)
    assert events(inside, address) == [], "a sub-organization has events of its own"
    assert refusal(inside.ask("list_email_events", email=address, **page(after=newest)))[0] == 400
    body = caller.query_body(email=address)
    foreign = inside.http.post("/public/v1/query/list_email_events", content=body, headers=inside.stamped(body))
    assert refusal(foreign)[0] in (401, 403)
