"""A caller of the server: a key, and requests stamped with it, byte for byte as the test gives them."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import httpx

from keystead.operations import CATALOGUE
from keystead.stamps.signing import ApiKeyPair, ApiKeyStamper, generate_api_key

Headers = Mapping[str, str]
SDK_FORM = {"X-Client-Version": "test"}


_stamper = lru_cache(maxsize=1000)(ApiKeyStamper)
"""A stamper keeps its key in the form that signs, which takes as long to make as a signature."""


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def unique(name: str) -> str:
    return f"{name} {secrets.token_hex(4)}"


def encoded(value: Any) -> bytes:
    """JSON in the form of published clients: compact, with characters not escaped."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


@dataclass(frozen=True)
class Caller:
    """A user with a key, and the server that the user calls. Safe to share among threads.

    `clock`: the time in `timestampMs`, in milliseconds since the epoch.
    """

    http: httpx.Client = field(repr=False)
    organization_id: str
    user_id: str
    key: ApiKeyPair
    clock: Callable[[], int] = field(default=now_ms, repr=False)

    def with_key(self, key: ApiKeyPair, user_id: str = "", organization_id: str = "") -> Caller:
        return replace(self, key=key, user_id=user_id, organization_id=organization_id or self.organization_id)

    def stamped(self, body: bytes) -> dict[str, str]:
        return dict([_stamper(self.key.public_key, self.key.private_key, self.key.curve).stamp(body)])

    def post(self, path: str, body: bytes, headers: Headers | None = None) -> httpx.Response:
        """Send exactly these bytes with a stamp and these `headers`."""
        return self.http.post(path, content=body, headers={**self.stamped(body), **(headers or {})})

    def query_body(self, **fields: Any) -> bytes:
        return encoded({"organizationId": self.organization_id, **fields})

    def submit_body(self, name: str, parameters: Mapping[str, Any], **envelope: Any) -> bytes:
        """A submission of the current type; `envelope` replaces members or adds some."""
        operation = CATALOGUE.at(f"/public/v1/submit/{name}")
        assert operation is not None, name
        members = {
            "type": operation.activity_types[0],
            "timestampMs": str(self.clock()),
            "organizationId": self.organization_id,
            "parameters": parameters,
        }
        return encoded(members | envelope)

    def ask(self, name: str, headers: Headers | None = None, **fields: Any) -> httpx.Response:
        return self.post(f"/public/v1/query/{name}", self.query_body(**fields), headers)

    def submit(
        self, name: str, parameters: Mapping[str, Any], headers: Headers | None = None, **envelope: Any
    ) -> httpx.Response:
        return self.post(f"/public/v1/submit/{name}", self.submit_body(name, parameters, **envelope), headers)

    def asked(self, name: str, headers: Headers | None = None, **fields: Any) -> Any:
        """The answer of a query that must succeed."""
        return answered(self.ask(name, headers, **fields))

    def submitted(
        self, name: str, parameters: Mapping[str, Any], headers: Headers | None = None, **envelope: Any
    ) -> Any:
        """The activity of a submission that must be completed."""
        activity = answered(self.submit(name, parameters, headers, **envelope))["activity"]
        assert activity["status"] == "ACTIVITY_STATUS_COMPLETED", activity
        return activity

    def result(self, name: str, parameters: Mapping[str, Any], **envelope: Any) -> Any:
        """The one result of a submission that must be completed."""
        (result,) = self.submitted(name, parameters, SDK_FORM, **envelope)["result"].values()
        return result

    def new_user(self, **members: Any) -> Caller:
        """Create a user with its own key."""
        key = generate_api_key()
        made = self.result("create_users", {"users": [user_params(key.public_key) | members]})
        return self.with_key(key, made["userIds"][0])


def answered(response: httpx.Response) -> Any:
    assert response.status_code == 200, response.text[:1000]
    return response.json()


def api_key_params(public_key: str, **members: Any) -> dict[str, Any]:
    named = {"apiKeyName": unique("key"), "publicKey": public_key, "curveType": "API_KEY_CURVE_P256"}
    return named | members


def user_params(public_key: str) -> dict[str, Any]:
    return {
        "userName": unique("user"),
        "apiKeys": [api_key_params(public_key)],
        "authenticators": [],
        "oauthProviders": [],
        "userTags": [],
    }


def refusal(response: httpx.Response) -> tuple[int, str]:
    """Status and message of an answer that must be an error in the documented shape."""
    assert response.headers["content-type"] == "application/json"
    error = response.json()
    assert response.status_code >= 400, response.text[:300]
    assert isinstance(error["code"], int)
    assert isinstance(error["message"], str)
    assert error["message"]
    assert all(isinstance(detail, dict) and "@type" in detail for detail in error["details"])
    return response.status_code, error["message"]
