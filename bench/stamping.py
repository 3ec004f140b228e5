"""From a case to the bytes of its requests, each with its own stamp.

Here: HTTP/1.1. The Python client builds and stamps the requests, so they have its headers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import httpx

from bench.cases import Case
from bench.organizations import Organization
from keystead.client import Client
from keystead.client.requests import Prepared
from keystead.stamps.signing import ApiKeyPair


class Stamping:
    """Makes the requests of one case to one server, as bytes."""

    def __init__(self, case: Case, organization: Organization, base_url: str) -> None:
        self._case = case
        self._organization = organization
        self._base_url = base_url
        self._http = httpx.Client()  # required by the client, and never used
        self._own = self._client(organization.id, organization.key)

    def requests(self, count: int) -> list[bytes]:
        """Requests of the organization."""
        return [self._one(self._own) for _ in range(count)]

    def requests_of(self, tenants: Iterable[tuple[str, ApiKeyPair]]) -> list[bytes]:
        """One request of each of these organizations, in this order."""
        return [self._one(self._client(organization_id, key)) for organization_id, key in tenants]

    def _one(self, client: Client) -> bytes:
        return on_the_wire(client.prepare(self._case.path, self._case.fields(self._organization)))

    def _client(self, organization_id: str, key: ApiKeyPair) -> Client:
        return Client(self._base_url, key.public_key, key.private_key, organization_id, http_client=self._http)


def on_the_wire(prepared: Prepared) -> bytes:
    """The bytes that httpx would send."""
    url = httpx.URL(prepared.url)
    headers = {"Accept-Encoding": "gzip, deflate", "Connection": "keep-alive", **prepared.headers}
    return posted(url.path, f"{url.host}:{url.port}", headers, prepared.body)


def posted(path: str, host: str, headers: Mapping[str, str], body: bytes) -> bytes:
    """A POST request."""
    framed = {"Host": host, **headers, "Content-Length": str(len(body))}
    lines = [f"POST {path} HTTP/1.1", *(f"{name}: {value}" for name, value in framed.items()), "", ""]
    return "\r\n".join(lines).encode() + body
