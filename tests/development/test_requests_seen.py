"""The requests that a development server remembers, each with its stamp taken apart."""

from __future__ import annotations

import json

import pytest

from keystead import Client, generate_api_key
from keystead.client.errors import KeysteadError
from keystead.server.bounds import REQUEST_SEEN_BYTES_MAX, REQUESTS_SEEN_MAX
from keystead.stamps.signing import ApiKeyStamper
from keystead.testing import DevelopmentServer, TestOrganization
from tests.support.passkeys import SoftPasskey


def test_a_request_that_is_answered(server: DevelopmentServer, organization: TestOrganization) -> None:
    organization.client.create_user_tag(user_tag_name="Operators", user_ids=[])
    (seen,) = server.controls.requests()
    keys = organization.credentials
    assert (seen.method, seen.path) == ("POST", "/public/v1/submit/create_user_tag")
    assert (seen.operation, seen.status, seen.reason) == ("create_user_tag", 200, "")
    assert seen.organization_id == keys.organization_id
    assert json.loads(seen.body)["parameters"]["userTagName"] == "Operators"
    assert json.loads(seen.answer)["activity"]["status"] == "ACTIVITY_STATUS_COMPLETED"
    assert seen.request_id
    (stamp,) = seen.stamps
    assert (stamp.header, stamp.public_key) == ("x-stamp", keys.api_public_key)
    assert stamp.scheme == "SIGNATURE_SCHEME_TK_API_P256"
    assert stamp.signature
    assert keys.api_private_key not in repr(seen)


@pytest.mark.parametrize(
    ("headers", "path", "form"),
    [
        ({}, "/public/v1/query/whoami", "documented"),
        ({"X-Client-Version": "@turnkey/http@3.0.0"}, "/public/v1/query/whoami", "sdk"),
        ({"User-Agent": "Go-http-client/1.1"}, "/public/v1/query/whoami", "sdk"),
        ({}, "/public/v1/query/get_wallet", ""),
    ],
)
def test_the_form_of_the_answer(
    headers: dict[str, str], path: str, form: str, server: DevelopmentServer, organization: TestOrganization
) -> None:
    keys = organization.credentials
    body = json.dumps({"organizationId": keys.organization_id}).encode()
    name, stamp = ApiKeyStamper(keys.api_public_key, keys.api_private_key).stamp(body)
    stamped = {"User-Agent": "a test", name: stamp, **headers}
    server.http.post(f"{server.base_url}{path}", content=body, headers=stamped)
    (seen,) = server.controls.requests()
    assert seen.form == form


def test_a_request_that_is_refused(server: DevelopmentServer, organization: TestOrganization) -> None:
    stranger = generate_api_key()
    client = Client(
        server.base_url,
        stranger.public_key,
        stranger.private_key,
        organization.organization_id,
        http_client=server.http,
    )
    with pytest.raises(KeysteadError):
        client.whoami()
    (seen,) = server.controls.requests()
    assert seen.status == 401
    assert "could not find public key" in seen.reason
    assert seen.stamps[0].public_key == stranger.public_key


@pytest.mark.parametrize(
    ("headers", "problem"),
    [
        ({}, None),
        ({"X-Stamp": "!"}, "not base64url"),
        ({"X-Stamp": "e30"}, "publicKey"),
        ({"X-Stamp-WebAuthn": "[]"}, "could not extract webauthn stamp"),
        ({"X-Stamp-Attested": "!"}, "X-Stamp-Attested is neither"),
        ({"X-Session": "a token"}, ""),
    ],
)
def test_stamps_that_cannot_be_read(
    server: DevelopmentServer, headers: dict[str, str], problem: str | None
) -> None:
    answer = server.http.post(f"{server.base_url}/public/v1/query/whoami", content=b"{}", headers=headers)
    (seen,) = server.controls.requests()
    assert seen.status == answer.status_code
    assert seen.reason == answer.json()["message"]
    if problem is None:
        assert seen.stamps == ()
    else:
        assert problem in seen.stamps[0].problem
        assert "a token" not in repr(seen.stamps)


def test_a_passkey_taken_apart(server: DevelopmentServer) -> None:
    stamp = SoftPasskey(credential_id=b"\1" * 32).stamp(b"{}")
    server.http.post(f"{server.base_url}/public/v1/query/whoami", content=b"{}", headers=stamp)
    (seen,) = server.controls.requests()
    assert seen.stamps[0].credential_id == "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE"
    assert json.loads(seen.stamps[0].client_data)["type"] == "webauthn.get"


@pytest.mark.parametrize("body", [b"", b"\xff\xfe", b"[" * 100_000, b'{"organizationId":1}', b"x" * 100_000])
def test_bodies_of_any_kind(server: DevelopmentServer, body: bytes) -> None:
    server.http.post(f"{server.base_url}/public/v1/query/whoami", content=body)
    (seen,) = server.controls.requests()
    assert seen.organization_id == ""
    assert len(seen.body) <= REQUEST_SEEN_BYTES_MAX


def test_they_are_bounded_and_can_be_forgotten(server: DevelopmentServer) -> None:
    for number in range(REQUESTS_SEEN_MAX + 5):
        server.http.post(f"{server.base_url}/public/v1/query/{number}", content=b"{}")
    seen = server.controls.requests()
    assert [one.path.rpartition("/")[2] for one in seen] == [str(each) for each in range(5, REQUESTS_SEEN_MAX + 5)]
    assert [one.number for one in seen] == sorted({one.number for one in seen})
    server.controls.forget_requests()
    assert server.controls.requests() == []


def test_answered_requests_push_no_refusal_out(server: DevelopmentServer, organization: TestOrganization) -> None:
    server.http.post(f"{server.base_url}/public/v1/query/refused", content=b"{}")
    for _ in range(REQUESTS_SEEN_MAX + 1):
        organization.client.whoami()
    seen = server.controls.requests()
    assert len(seen) == REQUESTS_SEEN_MAX + 1
    assert seen[0].path.endswith("/refused")


def test_a_client_whose_base_address_ends_in_a_slash(server: DevelopmentServer) -> None:
    server.controls.faults.fail(503)
    answer = server.http.post(f"{server.base_url}//public/v1/query/whoami", content=b"{}")
    assert answer.status_code == 503
    assert [one.operation for one in server.controls.requests()] == ["whoami"]
