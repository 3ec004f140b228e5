"""Passkeys whose attestation or assertion costs the server more than its bytes: refused, and others do not wait."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from typing import Any, NamedTuple

import cbor2
import pytest

from keystead.stamps.base64url import encode_base64url
from tests.stamps.test_cbor import pattern, shared_pairs
from tests.support.authorization_scenario import new_sub_organization
from tests.support.callers import encoded, user_params
from tests.support.passkeys import SoftPasskey
from tests.support.servers import Server

AUTHENTICATOR_DATA = sha256(b"example.com").digest() + b"\x81" + bytes(4)
"""Says that extensions follow."""


def with_object(attestation_object: bytes) -> dict[str, Any]:
    params = SoftPasskey().params()
    params["attestation"]["attestationObject"] = encode_base64url(attestation_object)
    return params


def in_the_object(item: bytes) -> Callable[[], dict[str, Any]]:
    """Beside the members that an attestation object has; `item` is a map of one entry, or a value."""
    return lambda: with_object(b"\xa1\x61x" + item)


def in_the_extensions(item: bytes) -> Callable[[], dict[str, Any]]:
    data = AUTHENTICATOR_DATA + item
    return lambda: with_object(cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": data}))


def long_host() -> dict[str, Any]:
    """Each parent domain of the origin was hashed: 1,500 of 3,000 characters."""
    return SoftPasskey(origin="https://" + "a." * 1_500 + "example.com").params()


def many_transports() -> dict[str, Any]:
    params = SoftPasskey().params()
    params["attestation"]["transports"] *= 10_000
    return params


class Attack(NamedTuple):
    name: str
    passkey: Callable[[], dict[str, Any]]


ATTACKS = [
    Attack("shared values, which take days to hash", in_the_object(shared_pairs(60))),
    Attack("shared values in the extensions", in_the_extensions(shared_pairs(60))),
    Attack("a regular expression", in_the_object(pattern(5_000))),
    Attack("a regular expression in the extensions", in_the_extensions(pattern(5_000))),
    Attack("an origin of 1,500 labels", long_host),
    Attack("10,000 transports", many_transports),
]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_a_passkey_that_costs_more_than_its_bytes(attack: Attack, sqlite_server: Server) -> None:
    tenant = new_sub_organization(sqlite_server.caller)
    asked = {"userId": tenant.user_id, "authenticators": [attack.passkey()]}
    response = tenant.submit("create_authenticators", asked)
    assert response.status_code == 400, response.text[:300]
    assert tenant.asked("get_authenticators", userId=tenant.user_id)["authenticators"] == []


@pytest.mark.parametrize("item", [shared_pairs(60), pattern(200)], ids=["shared values", "a regular expression"])
def test_an_assertion_that_costs_more_than_its_bytes(item: bytes, sqlite_server: Server) -> None:
    """Its authenticator data is read before its signature is verified: knowing a credential id was enough."""
    tenant, passkey = new_sub_organization(sqlite_server.caller), SoftPasskey()
    tenant.submitted("create_authenticators", {"userId": tenant.user_id, "authenticators": [passkey.params()]})
    body = encoded({"organizationId": tenant.organization_id})
    stamp = json.loads(passkey.stamp(body)["X-Stamp-WebAuthn"])
    stamp["authenticatorData"] = encode_base64url(AUTHENTICATOR_DATA + item)
    response = sqlite_server.http.post(
        "/public/v1/query/whoami", content=body, headers={"X-Stamp-WebAuthn": json.dumps(stamp)}
    )
    assert response.status_code == 401, response.text[:300]
    assert "CBOR" in response.text


def test_more_passkeys_than_a_user_may_have_are_not_verified(sqlite_server: Server) -> None:
    tenant, passkey = new_sub_organization(sqlite_server.caller), SoftPasskey().params()
    passkey["attestation"]["attestationObject"] = "AAAA"
    user = user_params(tenant.key.public_key) | {"apiKeys": [], "authenticators": [passkey] * 1_000}
    response = tenant.submit("create_users", {"users": [user]})
    assert response.status_code == 429, response.text[:300]
    assert "maximum authenticators" in response.text
