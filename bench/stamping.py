"""From a case to the bytes of its requests, each stamped for itself.

Here: HTTP/1.1. Requests are built and stamped by the published client, so they carry the headers that it sends.
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
    """Makes requests of one case, to one server, as bytes to be sent."""

    def __init__(self, case: Case, organization: Organization, base_url: str) -> None:
        self._case = case
        self._organization = organization
        self._base_url = base_url
        self._http = httpx.Client()  # never used: no request leaves this way
        self._own = self._client(organization.id, organization.key)

    def requests(self, count: int) -> list[bytes]:
        """Requests of the organization."""
        return [self._one(self._own) for _ in range(count)]

    def requests_of(self, members: Iterable[tuple[str, ApiKeyPair]]) -> list[bytes]:
        """One request of each of these organizations, in this order."""
        return [self._one(self._client(organization_id, key)) for organization_id, key in members]

    def _one(self, client: Client) -> bytes:
        return on_the_wire(client.prepare(self._case.path, self._case.fields(self._organization)))

    def _client(self, organization_id: str, key: ApiKeyPair) -> Client:
        return Client(self._base_url, key.public_key, key.private_key, organization_id, http_client=self._http)


def on_the_wire(prepared: Prepared) -> bytes:
    """The request as httpx would send it."""
    url = httpx.URL(prepared.url)
    headers = {"Accept-Encoding": "gzip, deflate", "Connection": "keep-alive", **prepared.headers}
    return posted(url.path, f"{url.host}:{url.port}", headers, prepared.body)


def posted(path: str, host: str, headers: Mapping[str, str], body: bytes) -> bytes:
    """A POST request."""
    framed = {"Host": host, **headers, "Content-Length": str(len(body))}
    lines = [f"POST {path} HTTP/1.1", *(f"{name}: {value}" for name, value in framed.items()), "", ""]
    return "\r\n".join(lines).encode() + body
