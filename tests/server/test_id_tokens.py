"""ID tokens over HTTP, on both stores: attached, waiting for approval, looked up; and an issuer that is asked."""

from __future__ import annotations

import datetime
import ipaddress
import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from tests.conftest import MakeDatabase, StartServer
from tests.support.authorization_scenario import new_sub_organization
from tests.support.callers import Caller, answered, now_ms, refusal, unique
from tests.support.issuer_server import issuer_on_this_machine
from tests.support.issuers import AUDIENCE, ISSUER, Issuer
from tests.support.organization_fixtures import mfa_policy_params
from tests.support.passkeys import SoftPasskey
from tests.support.servers import Server, bootstrap_installation

pytestmark = pytest.mark.one_engine


def token(issuer: Issuer = ISSUER, **claims: Any) -> str:
    return issuer.token(now_ms() // 1000, **claims)


def asked(user_id: str, *tokens: str) -> dict[str, Any]:
    providers = [{"providerName": unique("provider"), "oidcToken": one} for one in tokens]
    return {"userId": user_id, "oauthProviders": providers}


def held(caller: Caller, user_id: str) -> list[dict[str, Any]]:
    providers: list[dict[str, Any]] = caller.asked("get_oauth_providers", userId=user_id)["oauthProviders"]
    return providers


@pytest.mark.parametrize("version", ["_V2", ""])
def test_attached(version: str, caller: Caller) -> None:
    user_id, subject = caller.new_user().user_id, unique("subject")
    made = caller.result(
        "create_oauth_providers",
        asked(user_id, token(sub=subject, aud=[AUDIENCE])),
        type=f"ACTIVITY_TYPE_CREATE_OAUTH_PROVIDERS{version}",
    )
    (provider,) = held(caller, user_id)
    assert made["providerIds"] == [provider["providerId"]]
    assert (provider["issuer"], provider["subject"], provider["audience"]) == (ISSUER.url, subject, AUDIENCE)
    twice = caller.submit("create_oauth_providers", asked(caller.new_user().user_id, token(sub=subject)))
    assert (twice.status_code, machine_code(twice.json())) == (409, "OAUTH_PROVIDER_ALREADY_EXISTS")


def machine_code(answer: dict[str, Any]) -> str:
    (detail,) = answer["details"]
    return str(detail["turnkeyErrorCode"])


def test_refused(caller: Caller, server: Server) -> None:
    user_id, bad = caller.new_user().user_id, token(header={"kid": "nobody's"})
    response = caller.submit("create_oauth_providers", asked(user_id, token(sub=unique("subject")), bad))
    assert (response.status_code, machine_code(response.json())) == (400, "INVALID_OIDC_TOKEN")
    assert 'field `parameters.oauthProviders[1].oidcToken`: key "nobody\'s"' in response.json()["message"]
    assert held(caller, user_id) == []
    log = server.log.read_text()
    assert not any(part in response.text or part in log for part in bad.split("."))


def test_attached_after_an_approval(caller: Caller) -> None:
    """What the token proved travels with the activity through the store. An MFA policy makes it wait."""
    user, passkey = caller.new_user(), SoftPasskey()
    caller.result("create_authenticators", {"userId": user.user_id, "authenticators": [passkey.params()]})
    policy = mfa_policy_params(user.user_id, [{"type": "AUTHENTICATION_TYPE_PASSKEY"}])
    caller.result("create_mfa_policy", policy | {"condition": "activity.action == 'CREATE'"})
    body = asked(user.user_id, token(sub=unique("subject")))
    activity = answered(user.submit("create_oauth_providers", body))["activity"]
    assert activity["status"] == "ACTIVITY_STATUS_AUTHENTICATORS_NEEDED"
    assert held(caller, user.user_id) == []
    vote = user.submit_body("approve_activity", {"fingerprint": activity["fingerprint"]})
    answer = user.http.post("/public/v1/submit/approve_activity", content=vote, headers=passkey.stamp(vote))
    assert answered(answer)["activity"]["status"] == "ACTIVITY_STATUS_COMPLETED"
    assert [provider["issuer"] for provider in held(caller, user.user_id)] == [ISSUER.url]


def test_sub_organizations_are_found_by_a_token_and_by_its_claims(caller: Caller) -> None:
    first, second = new_sub_organization(caller), new_sub_organization(caller)
    subject = unique("subject")
    for sub, audience in ((first, "app"), (second, "another")):
        sub.result("create_oauth_providers", asked(sub.user_id, token(sub=subject, aud=audience)))

    def listed(filter_type: str, value: str) -> list[str]:
        fields: dict[str, Any] = {"filterType": filter_type, "filterValue": value}
        ids: list[str] = caller.asked("list_suborgs", **fields)["organizationIds"]
        return ids

    def found(**claims: Any) -> list[str]:
        by_token = listed("OIDC_TOKEN", token(**claims))
        if isinstance(claims.get("aud", "app"), str):
            claim = {"issuer": ISSUER.url, "subject": claims["sub"], "audience": claims.get("aud", "")}
            assert listed("OAUTH_CLAIM", json.dumps(claim)) == by_token
        return by_token

    assert found(sub=subject, aud="app") == [first.organization_id]
    assert found(sub=subject, aud=["another"]) == [second.organization_id]
    assert found(sub=subject) == found(sub=subject[:-1], aud="app") == []
    expired = caller.ask("list_suborgs", filterType="OIDC_TOKEN", filterValue=token(sub=subject, aud="app", exp=1))
    assert (expired.status_code, machine_code(expired.json())) == (400, "INVALID_OIDC_TOKEN")
    assert "field `filterValue`: expired" in expired.json()["message"]
    (provider,) = held(first, first.user_id)
    first.result("delete_oauth_providers", {"userId": first.user_id, "providerIds": [provider["providerId"]]})
    assert found(sub=subject, aud="app") == []


def test_a_server_that_knows_no_issuer(make_sqlite: MakeDatabase, start: StartServer) -> None:
    installation = bootstrap_installation(make_sqlite())
    root = start(installation).caller
    status, message = refusal(root.submit("create_oauth_providers", asked(root.user_id, token())))
    assert (status, "KEYSTEAD_OIDC_KEYS_FILE" in message) == (400, True), message
    installation.database.close()


@contextmanager
def asked_over_https(folder: Path) -> Iterator[tuple[Issuer, Path]]:
    """An issuer on a loopback port, and the certificate that it is known by."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), True)
        .sign(key, SHA256())
    )
    file = folder / "certificate.pem"
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (folder / "key.pem").write_bytes(private)
    file.write_bytes(certificate.public_bytes(Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file, folder / "key.pem")
    with issuer_on_this_machine(context) as issuer:
        yield issuer, file


def test_an_issuer_that_is_asked(
    make_sqlite: MakeDatabase, start: StartServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over real TLS: a server that does not know its certificate cannot reach it, and changes nothing."""
    installation = bootstrap_installation(make_sqlite())
    with asked_over_https(tmp_path) as (issuer, certificate):
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        distrusting = start(installation, oidc_issuers=issuer.url)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        trusting = start(installation, oidc_issuers=f"https://nobody.example, {issuer.url}")
        root = distrusting.caller
        status, message = refusal(root.submit("create_oauth_providers", asked(root.user_id, token(issuer))))
        assert (status, "it cannot be reached; nothing was changed" in message) == (503, True), message
        assert held(root, root.user_id) == []
        root = trusting.caller
        root.result("create_oauth_providers", asked(root.user_id, token(issuer, sub="first")))
    root.result("create_oauth_providers", asked(root.user_id, token(issuer, sub="second")))
    assert [one["subject"] for one in held(root, root.user_id)] == ["first", "second"]
    installation.database.close()
