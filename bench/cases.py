"""What is asked: seven operations, and the bytes of requests for them, each stamped for itself.

Here: bodies and HTTP/1.1. They are built and stamped by the published client, so they carry the headers it sends.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import httpx
import msgspec
from eth_hash.auto import keccak

from bench.installation import ABI, CONTRACT, Installation
from keystead.client import Client
from keystead.client.requests import Prepared
from keystead.stamps.signing import ApiKeyPair

Fields = Mapping[str, Any]


class Case(msgspec.Struct, frozen=True):
    """`fields` gives a request's members for an installation; those of submissions differ each time.

    `by_user`: stamped by a user whom policies allow it, not by the root user.
    """

    name: str
    path: str
    fields: Callable[[Installation], Fields]
    by_user: bool = False


def _nothing(_: Installation) -> Fields:
    return {}


def _authenticator(installation: Installation) -> Fields:
    return {"authenticatorId": installation.authenticator_id}


def _interface(_: Installation) -> Fields:
    return {
        "parameters": {
            "smartContractAddress": f"0x{secrets.token_hex(20)}",
            "smartContractInterface": ABI,
            "type": "SMART_CONTRACT_INTERFACE_TYPE_ETHEREUM",
            "label": "A contract",
        }
    }


def _payload(installation: Installation) -> Fields:
    return {
        "parameters": {
            "signWith": installation.sign_with,
            "payload": secrets.token_hex(32),
            "encoding": "PAYLOAD_ENCODING_HEXADECIMAL",
            "hashFunction": "HASH_FUNCTION_NO_OP",
        }
    }


def _transaction(installation: Installation) -> Fields:
    """EIP-1559, a call to the contract that has an ABI; the recipient differs each time."""
    unsigned = f"{_TRANSACTION}{secrets.token_hex(20)}{7:064x}c0"
    return {
        "parameters": {
            "signWith": installation.sign_with,
            "unsignedTransaction": unsigned,
            "type": "TRANSACTION_TYPE_ETHEREUM",
        }
    }


def _transaction_start() -> str:
    """All of the transaction in front of the recipient: chain 1, nonce 7, fees 1 and 2, gas 60000, no value."""
    selector = keccak(b"transferFrom0(address,address,uint256)")[:4].hex()
    calldata = f"b864{selector}{0:024x}{CONTRACT[2:]}{0:024x}"
    fields = f"0107010282ea6094{CONTRACT[2:]}80{calldata}"
    size = len(fields) // 2 + 20 + 32 + 1
    return f"02f8{size:02x}{fields}"


_TRANSACTION = _transaction_start()

LIST_WALLETS = Case("list_wallets", "query/list_wallets", _nothing)
CREATE_INTERFACE = Case("create_smart_contract_interface", "submit/create_smart_contract_interface", _interface)
SIGN_RAW_PAYLOAD = Case("sign_raw_payload", "submit/sign_raw_payload", _payload, by_user=True)
SIGN_TRANSACTION = Case("sign_transaction", "submit/sign_transaction", _transaction, by_user=True)
CASES = {
    case.name: case
    for case in (
        LIST_WALLETS,
        Case("list_users", "query/list_users", _nothing),
        Case("get_authenticator", "query/get_authenticator", _authenticator),
        Case("whoami", "query/whoami", _nothing),
        CREATE_INTERFACE,
        SIGN_RAW_PAYLOAD,
        SIGN_TRANSACTION,
    )
}


class Stamping:
    """Makes requests of one case, to one server, as bytes to be sent."""

    def __init__(self, case: Case, installation: Installation, base_url: str) -> None:
        self._case = case
        self._installation = installation
        self._base_url = base_url
        self._http = httpx.Client()  # never used: no request leaves this way
        key = installation.user_key if case.by_user else installation.key
        self._own = self._client(installation.organization_id, key)

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
