"""Who chooses what a message says about its sender: the parent, its proxy and the operator; no sub-organization."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, get_type_hints

import msgspec
import pytest

from keystead.operations import CATALOGUE
from keystead.operations.logins.message_context import MessageContext
from keystead.pipeline.operation import ActivityOperation
from keystead.stamps.signing import generate_api_key
from tests.server.test_auth_proxy import ask, new_proxy, sign_up
from tests.support import bundles
from tests.support.authorization_scenario import new_sub_organization
from tests.support.callers import Caller, answered, api_key_params, refusal, unique
from tests.support.codes import Codes
from tests.support.example_codes import an_address
from tests.support.source_tree import modules

MARK = "call-the-bank"
"""What a sub-organization would like to say."""

LINK, LOGO, ADDRESS = f"https://{MARK}.example/%s", f"https://{MARK}.example/logo", f"{MARK}@example.com"
EMAIL_CHOICES: dict[str, dict[str, Any]] = {
    "emailCustomization.logoUrl": {"emailCustomization": {"logoUrl": LOGO}},
    "emailCustomization.magicLinkTemplate": {"emailCustomization": {"magicLinkTemplate": LINK}},
    "emailCustomization.templateVariables": {"emailCustomization": {"templateVariables": f'{{"a": "{MARK}"}}'}},
    "emailCustomization.templateId": {"emailCustomization": {"templateId": MARK}},
    "sendFromEmailAddress": {"sendFromEmailAddress": ADDRESS},
    "sendFromEmailSenderName": {"sendFromEmailSenderName": MARK},
    "replyToEmailAddress": {"replyToEmailAddress": ADDRESS},
}
CODE_CHOICES = EMAIL_CHOICES | {
    "smsCustomization.template": {"smsCustomization": {"template": f"{MARK} {{{{.OtpCode}}}}"}}
}
"""By the field of each choice, the members of a request."""


class Sending(NamedTuple):
    """A version of an operation that sends a message."""

    operation: str
    activity_type: str
    choices: dict[str, dict[str, Any]]
    app_name: Callable[[str], dict[str, Any]]
    """The members that name the application."""

    def asked(self, contact: str, app_name: str, choice: dict[str, Any]) -> dict[str, Any]:
        target = {"targetPublicKey": bundles.point(bundles.fresh()).hex()}
        base = {"email": contact, **target} if "email" in self.operation else {"contact": contact, **OTP_TYPE}
        return merged(base, self.app_name(app_name), choice)


OTP_TYPE = {"otpType": "OTP_TYPE_EMAIL"}


def merged(*members: dict[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for each in members:
        for name, value in each.items():
            is_object = isinstance(value, dict) and name in result
            result[name] = result[name] | value if is_object else value
    return result


def at_top(name: str) -> dict[str, Any]:
    return {"appName": name}


def in_customization(name: str) -> dict[str, Any]:
    return {"emailCustomization": {"appName": name}}


SENDINGS = [
    Sending("init_otp", "ACTIVITY_TYPE_INIT_OTP_V3", CODE_CHOICES, at_top),
    Sending("init_otp", "ACTIVITY_TYPE_INIT_OTP_V2", CODE_CHOICES, at_top),
    Sending("init_otp", "ACTIVITY_TYPE_INIT_OTP", CODE_CHOICES, in_customization),
    Sending("init_otp_auth", "ACTIVITY_TYPE_INIT_OTP_AUTH_V3", CODE_CHOICES, at_top),
    Sending("init_otp_auth", "ACTIVITY_TYPE_INIT_OTP_AUTH_V2", CODE_CHOICES, in_customization),
    Sending("init_otp_auth", "ACTIVITY_TYPE_INIT_OTP_AUTH", CODE_CHOICES, in_customization),
    Sending("email_auth", "ACTIVITY_TYPE_EMAIL_AUTH_V3", EMAIL_CHOICES, in_customization),
    Sending("email_auth", "ACTIVITY_TYPE_EMAIL_AUTH_V2", EMAIL_CHOICES, in_customization),
    Sending("email_auth", "ACTIVITY_TYPE_EMAIL_AUTH", EMAIL_CHOICES, in_customization),
    Sending(
        "init_user_email_recovery",
        "ACTIVITY_TYPE_INIT_USER_EMAIL_RECOVERY_V2",
        EMAIL_CHOICES,
        in_customization,
    ),
    Sending("init_user_email_recovery", "ACTIVITY_TYPE_INIT_USER_EMAIL_RECOVERY", EMAIL_CHOICES, in_customization),
]

HARMLESS = {
    *("contact", "email", "otp_type", "otp_length", "alphanumeric", "expiration_seconds", "user_identifier"),
    *("target_public_key", "api_key_name", "invalidate_existing"),
}
"""Fields of these requests that no message quotes, other than as its recipient. A test below checks this."""


def test_the_table_has_every_version_and_every_field_of_every_operation_that_sends() -> None:
    """An operation that sends a message looks up a MessageContext first: without it there is no message."""
    sending = {
        version.activity_type: version
        for operation in CATALOGUE
        if isinstance(operation, ActivityOperation)
        and operation.load_context is not None
        and get_type_hints(operation.load_context)["return"] is MessageContext  # invitations choose nothing
        for version in operation.versions
    }
    assert set(sending) == {one.activity_type for one in SENDINGS}
    for each in SENDINGS:
        choices = {field.partition(".")[0] for field in each.choices} | {"appName"}
        fields = msgspec.structs.fields(sending[each.activity_type].intent)
        chosen = {field.encode_name for field in fields if field.name not in HARMLESS}
        assert chosen <= choices, each.activity_type


def test_one_module_makes_each_part_of_a_message() -> None:
    """No message without its origin and its count: mypy checks that `email_to` and `sms_to` get them."""
    allowed = {
        "MessageOrigin": "keystead.operations.logins.message_origins",
        "CountedMessage": "keystead.operations.logins.message_context",
        "OutgoingMessage": "keystead.operations.logins.outgoing_messages",
        "Message": "keystead.operations.logins.outgoing_messages",
    }
    made = {
        (node.func.id, name)
        for name, module in modules().items()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in allowed
    }
    assert made == set(allowed.items())


@pytest.fixture(scope="module")
def tenant(codes: Codes) -> Iterator[Caller]:
    """The root user of a sub-organization whose names say what it wants."""
    config_id, key = new_proxy(codes.caller), generate_api_key()
    asked = sign_up(apiKeys=[api_key_params(key.public_key)], organizationName=MARK, userName=MARK)
    made = answered(ask(codes.caller, config_id, "signup_v2", **asked))
    yield codes.caller.with_key(key, made["userId"], made["organizationId"])


def raw_messages(codes: Codes, contact: str) -> list[str]:
    codes.outbox.wait_for(contact)
    host = codes.server.base_url.replace("127.0.0.1", "localhost")
    entries = codes.server.http.get("/dev/v1/outbox", headers={"Host": host.removeprefix("http://")}).json()
    texts = [msgspec.json.encode(entry["message"]).decode() for entry in entries["messages"]]
    return [text for text in texts if contact in text]


def proved_by(codes: Codes, tenant: Caller) -> str:
    """A new address that the user has proved."""
    address = an_address()
    asked = {"userId": tenant.user_id, "userEmail": address, "verificationToken": codes.proven(address)}
    tenant.submitted("update_user_email", asked)
    return address


@pytest.mark.parametrize("sending", SENDINGS, ids=lambda one: one.activity_type.removeprefix("ACTIVITY_TYPE_"))
def test_a_sub_organization_chooses_nothing(codes: Codes, tenant: Caller, sending: Sending) -> None:
    address = proved_by(codes, tenant)
    for field, choice in sending.choices.items():
        asked = sending.asked(address, "Wallets", choice)
        status, message = refusal(tenant.submit(sending.operation, asked, type=sending.activity_type))
        assert (status, message.startswith(f"field `parameters.{field}`: a sub-organization does not")) == (
            400,
            True,
        ), message
    # Newer versions must name an application. Its name is not used.
    asked = sending.asked(address, MARK, {"userIdentifier": unique(MARK)} if "otp" in sending.operation else {})
    tenant.submitted(sending.operation, asked, type=sending.activity_type)
    codes.outbox.wait_for(address, count=2)
    parent = codes.caller.asked("whoami")["organizationName"]
    own = raw_messages(codes, address)[1]
    assert MARK not in own
    assert parent in own
    assert "senderAddress" not in own, "the operator's setting"


@pytest.mark.parametrize("sending", SENDINGS, ids=lambda one: one.activity_type.removeprefix("ACTIVITY_TYPE_"))
def test_the_parent_chooses_everything(codes: Codes, sending: Sending) -> None:
    """For a user of a sub-organization, or for a contact of its own choice."""
    for field, choice in sending.choices.items():
        if field == "smsCustomization.template":
            continue
        address = an_address()
        user = new_sub_organization(codes.caller, contacts={"userEmail": address})
        at = user.organization_id if sending.operation != "init_otp" else codes.caller.organization_id
        by = codes.caller.with_key(codes.caller.key, codes.caller.user_id, at)
        asked = sending.asked(address, "Wallets of the parent", choice)
        by.submitted(sending.operation, asked, type=sending.activity_type)
        (message,) = raw_messages(codes, address)
        assert MARK in message, field
        assert "Wallets of the parent" in message


def test_a_proxy_sends_what_its_configuration_says(codes: Codes) -> None:
    address = an_address()
    config_id = new_proxy(
        codes.caller,
        sendFromEmailAddress="wallets@example.com",
        sendFromEmailSenderName="The wallets",
        replyToEmailAddress="help@example.com",
        emailCustomizationParams={
            "appName": "Proxied",
            "logoUrl": "https://example.com/logo.png",
            "magicLinkTemplate": "https://example.com/?code=%s",
        },
    )
    asked = {"otpType": "OTP_TYPE_EMAIL", "contact": address}
    for name in ("appName", "sendFromEmailAddress", "replyToEmailAddress", "smsCustomization"):
        status, message = refusal(ask(codes.caller, config_id, "otp_init_v2", **asked, **{name: MARK}))
        assert (status, f"unknown field `{name}`" in message) == (400, True), message
    customization = {"logoUrl": LOGO}
    response = ask(codes.caller, config_id, "otp_init_v2", **asked, emailCustomization=customization)
    assert refusal(response)[0] == 400
    answered(ask(codes.caller, config_id, "otp_init_v2", **asked))
    (message,) = raw_messages(codes, address)
    for said in ("Proxied", "wallets@example.com", "The wallets", "help@example.com", "https://example.com/?code="):
        assert said in message


def test_a_tenants_sms_says_the_parents_name(codes: Codes, tenant: Caller) -> None:
    number = "+14155550186"
    asked = {"otpType": "OTP_TYPE_SMS", "contact": number, "appName": MARK}
    tenant.submitted("init_otp", asked)
    message = codes.outbox.wait_for(number)
    parent = codes.caller.asked("whoami")["organizationName"]
    assert message.text == f"Your code for {parent} is: {message.secret}"


def test_a_renamed_sub_organization_changes_no_message(codes: Codes) -> None:
    address, name = an_address(), unique(MARK)
    user = new_sub_organization(codes.caller, contacts={"userEmail": address})
    user.submitted("update_organization_name", {"organizationName": name})
    by_parent = codes.caller.with_key(codes.caller.key, codes.caller.user_id, user.organization_id)
    asked = {"email": address, "targetPublicKey": bundles.point(bundles.fresh()).hex()}
    for by in (user, by_parent):
        by.submitted("email_auth", asked, type="ACTIVITY_TYPE_EMAIL_AUTH")
    codes.outbox.wait_for(address, count=2)
    assert MARK not in "".join(raw_messages(codes, address))
