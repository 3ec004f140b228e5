"""No secret of a login in the log, an error, a record or the database: each is planted, then looked for.

People log in by every way with a real mail server, and every request is also sent damaged. Not here: wallets, keys
and master keys (`test_secrets_stay_in`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes
from email.policy import default
from pathlib import Path
from typing import Any

import httpx
import msgspec
from aiosmtpd.smtp import AuthResult, LoginPassword

from keystead.keys.one_time_codes import message_context
from keystead.keys.sealing import Purpose, SealContext
from keystead.organizations.contacts.outgoing_messages import OutgoingMessage
from keystead.stamps.signing import generate_api_key
from keystead.testing import DevelopmentOutbox, SentMessage
from tests.delivery.test_smtp import Certificates
from tests.faults.test_secrets_stay_in import data_key_of, forms
from tests.operations.test_oauth2_credentials import authentication, encrypted, new_credential
from tests.server.test_auth_proxy import ask, new_proxy
from tests.server.test_outbox_delivery import Mailbox, free_port, mail_server
from tests.support import bundles
from tests.support.callers import SDK_FORM, Caller, answered, unique
from tests.support.codes import Codes
from tests.support.databases import SqliteDatabase
from tests.support.example_codes import code_params
from tests.support.issuers import taking_tokens
from tests.support.oauth2_provider import SECRET
from tests.support.people import Person, attested_login, new_person, otp_login_params
from tests.support.servers import Installation, Server, running

PASSWORD = "planted-password-of-the-mail-server"
_CODE = re.compile(r"is: ([0-9A-Z]{6,9})\b")
_BUNDLE = re.compile(r"\b[1-9A-HJ-NP-Za-km-z]{100,}\b")


class ReceivedMail(DevelopmentOutbox):
    """What a mail server took, with the code or the bundle in each message."""

    def __init__(self, mailbox: Mailbox) -> None:
        self._mailbox = mailbox

    def messages(self, recipient: str | None = None) -> list[SentMessage]:
        return [one for one in map(_sent, self._mailbox.taken) if recipient in (None, one.recipient)]


def _sent(raw: bytes) -> SentMessage:
    message = message_from_bytes(raw, policy=default)
    body = message.get_body(("plain",))
    assert body is not None
    text = body.get_content()
    code, bundle = _CODE.search(text), _BUNDLE.search(text)
    secret = code[1] if code else bundle[0] if bundle else ""
    return SentMessage("", "email", str(message["To"]), str(message["Subject"]), text, secret)


class Secrets:
    """What must not be found. `hidden`: nowhere. `told`: in no error and no line of the log; the owner may read it
    in an answer or a record, and older clients send codes in the clear, which stay in the recorded request."""

    def __init__(self) -> None:
        self.hidden: dict[str, bytes] = {}
        self.told: dict[str, bytes] = {}

    def hide(self, name: str, secret: str | bytes) -> None:
        self.hidden[name] = secret.encode() if isinstance(secret, str) else secret

    def tell(self, name: str, secret: str) -> None:
        self.told[name] = secret.encode()


def test_secrets_of_logins_stay_in(installation: Installation, tmp_path: Path) -> None:
    port, secrets, certificates = free_port(), Secrets(), Certificates(tmp_path)
    settings = {
        "log_level": "debug",
        **taking_tokens(tmp_path),
        **sending_settings(tmp_path, secrets, port, certificates.ca_file),
    }
    options: dict[str, Any] = {
        "tls_context": certificates.context,
        "require_starttls": True,
        "auth_required": True,
        "authenticator": authenticated,
    }
    with mail_server(port, **options) as mailbox, running(installation, tmp_path / "log", settings) as server:
        codes = Codes(server, server.caller, ReceivedMail(mailbox))
        with refusals(server) as errors:
            log_in_by_every_way(codes, secrets)
            code_by_sms(codes, secrets)
            record = records(server)
        assert server.stop() == 0
        log = server.log.read_bytes()
    places = {"a record": record, "the database": b"\n".join(installation.database.values())}
    if isinstance(installation.database, SqliteDatabase):
        places["the file"] = installation.database.path.read_bytes()
    everywhere = {"an error": b"\n".join(errors), "the log": log}
    for key in keys_of_proxies(installation):
        secrets.hide("an authentication proxy's key", key)
    assert len(secrets.hidden) > 15
    assert len(errors) > 40
    found = {
        f"{name} as {form} in {place}"
        for some, where in ((secrets.hidden, {**places, **everywhere}), (secrets.told, everywhere))
        for name, secret in some.items()
        for form, text in forms(secret).items()
        for place, content in where.items()
        if text in content
    }
    assert found == set()
    told_but_recorded = [name for name, secret in secrets.told.items() if secret in record]
    assert told_but_recorded, "what is looked for would be found"


@contextmanager
def refusals(server: Server) -> Iterator[list[bytes]]:
    """The bodies of all errors that are answered meanwhile. Every request is sent damaged, too."""
    errors: list[bytes] = []

    def look(response: httpx.Response) -> None:
        if response.status_code >= 400:
            errors.append(response.read())

    def damage(request: httpx.Request) -> None:
        if request.method != "POST":
            return
        body, headers = request.read(), {**request.headers, **SDK_FORM}
        headers.pop("content-length", None)
        for changed in (body[:-1], body.replace(b'"', b"'", 2), body[:-1] + b',"no":1}'):
            look(damaged.post(request.url, content=changed, headers=headers))
        stranger = {name: value for name, value in headers.items() if not name.startswith("x-")}
        look(damaged.post(request.url, content=body, headers=stranger))

    with httpx.Client() as damaged:
        server.http.event_hooks = {"request": [damage], "response": [look]}
        yield errors
        server.http.event_hooks = {}


def records(server: Server) -> bytes:
    """Every activity of every organization, as its owner reads it."""
    root, pages = server.caller, []
    found = root.asked("list_suborgs", paginationOptions={"limit": "100"})["organizationIds"]
    for organization_id in [root.organization_id, *found]:
        caller = root.with_key(root.key, root.user_id, organization_id)
        activities = caller.asked("list_activities", SDK_FORM, paginationOptions={"limit": "100"})["activities"]
        pages.append(json.dumps(activities).encode())
    return b"\n".join(pages)


def log_in_by_every_way(codes: Codes, secrets: Secrets) -> None:
    person = new_person(codes)
    one_time_codes(codes, person, secrets)
    tokens(codes, person, secrets)
    sealed_sessions(new_person(codes), secrets)
    read_only_session(person.caller, secrets)
    oauth2_credentials(codes, secrets)
    proxied(codes, new_person(codes), secrets)


def one_time_codes(codes: Codes, person: Person, secrets: Secrets) -> None:
    """A code that is not used, and a code that is used after a wrong attempt."""
    unused = new_person(codes).email
    codes.started(unused)
    secrets.hide("a code that waits", codes.outbox.code(unused))
    begun = codes.started(person.email)
    used = codes.outbox.code(person.email)
    secrets.hide("a code that was used", used)
    guess = used[::-1] if used != used[::-1] else "ABCDEFGHJ"
    secrets.hide("a guess", guess)
    assert "Invalid OTP code" in codes.verify(begun, guess).text
    assert answered(codes.verify(begun, used))
    older = codes.caller.result("init_otp", code_params(unused), type="ACTIVITY_TYPE_INIT_OTP_V2")
    typed = codes.outbox.code(unused, count=2)
    secrets.tell("a code that was sent in the clear", typed)
    for code in ("WRONG-ONE", typed):
        asked = {"otpId": older["otpId"], "otpCode": code}
        codes.caller.submit("verify_otp", asked, SDK_FORM, type="ACTIVITY_TYPE_VERIFY_OTP")


def sending_settings(folder: Path, secrets: Secrets, port: int, ca_file: str) -> dict[str, Any]:
    """A mail server with a password; a hook with a secret, which nobody answers, for SMS."""
    password, hook_secret = folder / "password", folder / "hook-secret"
    password.write_text(PASSWORD)
    hook_secret.write_text("planted-secret-of-the-operators-hook")
    secrets.hide("the mail server's password", PASSWORD)
    secrets.hide("the hook's secret", hook_secret.read_text())
    return {
        "smtp_host": "localhost",
        "smtp_port": port,
        "smtp_security": "starttls",
        "smtp_username": "keystead",
        "smtp_password_file": str(password),
        "smtp_ca_file": ca_file,
        "message_hook_url": f"https://127.0.0.1:{free_port()}/messages",
        "message_hook_secret_file": str(hook_secret),
    }


def authenticated(server: Any, session: Any, envelope: Any, mechanism: str, given: Any) -> AuthResult:
    return AuthResult(success=isinstance(given, LoginPassword) and given.password == PASSWORD.encode())


def code_by_sms(codes: Codes, secrets: Secrets) -> None:
    """The hook does not take it, so the message waits, sealed."""
    codes.started("+14155550142", otpType="OTP_TYPE_SMS")
    installation = codes.server.installation
    rows = installation.database.rows("SELECT body FROM outgoing_message")
    messages = [msgspec.json.decode(body, type=OutgoingMessage) for (body,) in rows]
    (message,) = [one for one in messages if one.channel == "sms"]
    assert message.sealed is not None
    context = message_context(message.organization_id, message.id)
    text = data_key_of(installation, message.organization_id).open(message.sealed, context).decode()
    found = _CODE.search(text)
    assert found is not None
    secrets.hide("a code by SMS", found[1])


def tokens(codes: Codes, person: Person, secrets: Secrets) -> None:
    """Those that their owners read and present: in no error and no line of the log."""
    begun = codes.started(person.email)
    response = codes.verify(begun, codes.outbox.code(person.email, count=2))
    token = answered(response)["activity"]["result"]["verifyOtpResult"]["verificationToken"]
    key = generate_api_key()
    login = otp_login_params(token, key.public_key)
    session = codes.caller.result("otp_login", login)["session"]
    codes.caller.submit("otp_login", {**login, "publicKey": generate_api_key().public_key})
    codes.caller.submit("otp_login", {**login, "verificationToken": token[:-4] + "AAAA"})
    attested_login(codes, generate_api_key(), "VERIFICATION_TOKEN", token)
    identity = person.id_token(key.public_key)
    codes.caller.submit("oauth_login", {"oidcToken": identity, "publicKey": generate_api_key().public_key})
    attested_login(codes, generate_api_key(), "OIDC", identity)
    attested_login(codes, key, "OIDC", identity)
    for name, text in (("a verification token", token), ("a session's JWT", session), ("an ID token", identity)):
        secrets.tell(name, text)
        secrets.tell(f"the signature of {name}", text.rpartition(".")[2])
    secrets.hide("the private half of a session's key", bytes.fromhex(key.private_key))


def sealed_sessions(person: Person, secrets: Secrets) -> None:
    """Sessions whose key the server makes: the key is in the bundle, which is its receiver's."""
    target, user = bundles.fresh(), person.caller
    named = bundles.point(target).hex()
    begun = user.result("init_otp_auth", code_params(person.email))
    code = person.codes.outbox.code(person.email)
    secrets.tell("a code of otp_auth", code)
    asked = {"otpId": begun["otpId"], "targetPublicKey": named}
    user.submit("otp_auth", {**asked, "otpCode": "WRONG-ONE"})
    made = {
        "otp_auth": user.result("otp_auth", {**asked, "otpCode": code}),
        "create_read_write_session": user.result("create_read_write_session", {"targetPublicKey": named}),
        "oauth": person.codes.caller.result(
            "oauth", {"oidcToken": person.id_token(named), "targetPublicKey": named}
        ),
    }
    for name, result in made.items():
        session = bundles.credential(result["credentialBundle"], target)
        secrets.hide(f"the session's key of {name}", bundles.scalar(session))
        secrets.tell(f"the bundle of {name}", result["credentialBundle"])
    mailed = {"email": person.email, "targetPublicKey": named, "emailCustomization": {"appName": "Wallets"}}
    user.submitted("email_auth", mailed)
    bundle = person.codes.outbox.wait_for(person.email, count=2).secret
    secrets.hide("the bundle that went by e-mail", bundle)
    secrets.hide("the session's key of email_auth", bundles.scalar(bundles.credential(bundle, target)))
    secrets.hide("the receiver's key", bundles.scalar(target))


def read_only_session(user: Caller, secrets: Secrets) -> None:
    text = user.result("create_read_only_session", {})["session"]
    secrets.hide("a read-only session", text)
    for organization_id in (user.organization_id, "00000000-0000-7000-8000-000000000000"):
        body = user.with_key(user.key, user.user_id, organization_id).query_body()
        for path in ("query/whoami", "submit/stamp_login", "query/nothing"):
            user.http.post(f"/public/v1/{path}", content=body, headers={"X-Session": text})


def oauth2_credentials(codes: Codes, secrets: Secrets) -> None:
    """The provider of the tests tells bearer tokens that begin with this word."""
    credential_id, client_id = new_credential(codes.caller)
    secrets.hide("an OAuth 2.0 client secret", SECRET)
    code = unique("account").replace(" ", "-")
    secrets.hide("a provider's bearer token", f"bearer {code}")
    target = {"bearerTokenTargetPublicKey": bundles.point(bundles.fresh()).hex()}
    codes.caller.submitted("oauth2_authenticate", authentication(credential_id, authCode=code, **target))
    planted = "planted-client-secret"
    secrets.hide("a changed client secret", planted)
    changed = {
        "oauth2CredentialId": credential_id,
        "provider": "OAUTH2_PROVIDER_X",
        "clientId": client_id,
        "encryptedClientSecret": encrypted(codes.caller, planted),
    }
    codes.caller.submitted("update_oauth2_credential", changed)
    codes.caller.submit("oauth2_authenticate", authentication(credential_id))
    codes.caller.asked("list_oauth2_credentials")


def proxied(codes: Codes, person: Person, secrets: Secrets) -> None:
    """Through an authentication proxy, whose own key is sealed in the database."""
    config_id = new_proxy(codes.caller, otpLength=9, otpAlphanumeric=True)
    begun = answered(ask(codes.caller, config_id, "otp_init_v2", otpType="OTP_TYPE_EMAIL", contact=person.email))
    code = codes.outbox.code(person.email)
    secrets.hide("a code through the proxy", code)
    ask(codes.caller, config_id, "otp_verify", otpId=begun["otpId"], otpCode="WRONG-ONE")
    response = codes.verify(begun, code)
    token = answered(response)["activity"]["result"]["verifyOtpResult"]["verificationToken"]
    secrets.tell("a verification token at the proxy", token)
    ask(codes.caller, config_id, "account", filterType="EMAIL", filterValue="x@y.z", verificationToken=token)
    login = otp_login_params(token, generate_api_key().public_key)
    elsewhere = "00000000-0000-7000-8000-000000000000"
    assert ask(codes.caller, config_id, "otp_login_v2", **login, organizationId=elsewhere).status_code >= 400
    answered(ask(codes.caller, config_id, "otp_login_v2", **login))


def keys_of_proxies(installation: Installation) -> Iterator[bytes]:
    """The private halves that only the signer opens."""
    organization = installation.database.organization(installation.organization_id)
    for proxy in organization.auth_proxies.values():
        context = SealContext(Purpose.AUTH_PROXY_KEY, organization_id=organization.id, record_id=proxy.user_id)
        yield data_key_of(installation, organization.id).open(proxy.sealed_key, context)
