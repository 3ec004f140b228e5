"""What is asked: five operations, and the bytes of requests for them, each stamped for itself.

Here: bodies and HTTP/1.1. They are built and stamped by the published client, so they carry the headers it sends.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import httpx
import msgspec

from bench.installation import Installation
from keystead.client import Client
from keystead.client.requests import Prepared
from keystead.stamps.signing import ApiKeyPair

ABI_BYTES = 5_000

Fields = Mapping[str, Any]


class Case(msgspec.Struct, frozen=True):
    """`fields` gives a request's members for an installation; those of submissions differ each time."""

    name: str
    path: str
    fields: Callable[[Installation], Fields]


def _nothing(_: Installation) -> Fields:
    return {}


def _authenticator(installation: Installation) -> Fields:
    return {"authenticatorId": installation.authenticator_id}


def _interface(_: Installation) -> Fields:
    return {
        "parameters": {
            "smartContractAddress": f"0x{secrets.token_hex(20)}",
            "smartContractInterface": _ABI,
            "type": "SMART_CONTRACT_INTERFACE_TYPE_ETHEREUM",
            "label": "A contract",
        }
    }


def _abi(size: int) -> str:
    """An ABI of about this many bytes: functions as those of a token."""
    functions: list[Mapping[str, Any]] = []
    while len(text := msgspec.json.encode(functions)) < size:
        functions.append(
            {
                "type": "function",
                "name": f"transferFrom{len(functions)}",
                "stateMutability": "nonpayable",
                "inputs": [
                    {"name": "_from", "type": "address", "internalType": "address"},
                    {"name": "_to", "type": "address", "internalType": "address"},
                    {"name": "_value", "type": "uint256", "internalType": "uint256"},
                ],
                "outputs": [{"name": "", "type": "bool", "internalType": "bool"}],
            }
        )
    return text.decode()


_ABI = _abi(ABI_BYTES)

LIST_WALLETS = Case("list_wallets", "query/list_wallets", _nothing)
CREATE_INTERFACE = Case("create_smart_contract_interface", "submit/create_smart_contract_interface", _interface)
CASES = {
    case.name: case
    for case in (
        LIST_WALLETS,
        Case("list_users", "query/list_users", _nothing),
        Case("get_authenticator", "query/get_authenticator", _authenticator),
        Case("whoami", "query/whoami", _nothing),
        CREATE_INTERFACE,
    )
}


class Stamping:
    """Makes requests of one case, to one server, as bytes to be sent."""

    def __init__(self, case: Case, installation: Installation, base_url: str) -> None:
        self._case = case
        self._installation = installation
        self._base_url = base_url
        self._http = httpx.Client()  # never used: no request leaves this way
        self._own = self._client(installation.organization_id, installation.key)

    def requests(self, count: int) -> list[bytes]:
        """Requests of the installation's own organization."""
        return [self._one(self._own) for _ in range(count)]

    def requests_of(self, members: Iterable[tuple[str, ApiKeyPair]]) -> list[bytes]:
        """One request of each of these organizations, in this order."""
        return [self._one(self._client(organization_id, key)) for organization_id, key in members]

    def _one(self, client: Client) -> bytes:
        return _on_the_wire(client.prepare(self._case.path, self._case.fields(self._installation)))

    def _client(self, organization_id: str, key: ApiKeyPair) -> Client:
        return Client(self._base_url, key.public_key, key.private_key, organization_id, http_client=self._http)


def _on_the_wire(prepared: Prepared) -> bytes:
    """The request as httpx would send it."""
    url = httpx.URL(prepared.url)
    headers = {
        "Host": f"{url.host}:{url.port}",
        "Accept-Encoding": "gzip, deflate",
        "Connection": "keep-alive",
        **prepared.headers,
        "Content-Length": str(len(prepared.body)),
    }
    lines = [f"POST {url.path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    return "\r\n".join(lines).encode() + prepared.body
