"""A stub server with prepared answers, and a client of either kind (blocking or asyncio) that calls it."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

import httpx

from keystead import ApiKeyStamper, AsyncClient, Client, Retries, generate_api_key
from keystead.client import Stamper
from keystead.stamps.api_key import read_stamp, verify_stamp

BASE_URL = "http://keystead.test:8080"
ORGANIZATION = "0199a8f2-0000-7000-8000-000000000001"
KEY = generate_api_key(seed=b"a client's key")
AT_ONCE = Retries(pause_s=0)
"""Three tries without pauses."""

Answer = httpx.Response | Exception


class StubServer:
    """Gives its answers in order, and repeats the last one. Verifies the stamp of each request and records it."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        verify_stamp(read_stamp(request.headers["X-Stamp"]), request.content)
        self.requests.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)


class ClientUnderTest:
    """A client of either kind. `call` makes one call and waits for its result."""

    def __init__(
        self,
        kind: type[Client] | type[AsyncClient],
        server: StubServer,
        *,
        stamper: Stamper | None = None,
        retries: Retries = AT_ONCE,
    ) -> None:
        self._kind, self._server, self._retries = kind, server, retries
        self._stamper = stamper or ApiKeyStamper(KEY.public_key, KEY.private_key)

    def call(self, act: Callable[[Any], Any]) -> Any:
        transport = httpx.MockTransport(self._server)
        if issubclass(self._kind, Client):
            with httpx.Client(transport=transport) as http_client:
                return act(self._made(Client, http_client))
        return asyncio.run(self._awaited(act, transport))

    async def _awaited(self, act: Callable[[Any], Any], transport: httpx.MockTransport) -> Any:
        async with httpx.AsyncClient(transport=transport) as http_client:
            answer = act(self._made(AsyncClient, http_client))
            return await answer if inspect.isawaitable(answer) else answer

    def _made(self, kind: Any, http_client: Any) -> Any:
        return kind(
            BASE_URL,
            organization_id=ORGANIZATION,
            stamper=self._stamper,
            retries=self._retries,
            http_client=http_client,
        )


def ok(answer: dict[str, Any]) -> httpx.Response:
    return httpx.Response(200, json=answer)


def refused(status: int, body: dict[str, Any] | None = None, **headers: str) -> httpx.Response:
    return httpx.Response(status, json=body or {"code": 13, "message": "no"}, headers=headers)


def activity(status: str = "COMPLETED", **members: Any) -> dict[str, Any]:
    """The answer to a create_wallet submission."""
    time = {"seconds": "1763752980", "nanos": "123000000"}
    return {
        "activity": {
            "id": "0199a8f2-0000-7000-8000-0000000000ac",
            "organizationId": ORGANIZATION,
            "status": f"ACTIVITY_STATUS_{status}",
            "type": "ACTIVITY_TYPE_CREATE_WALLET",
            "intent": {"createWalletIntent": {"walletName": "w", "accounts": []}},
            "result": {"createWalletResult": {"walletId": "wallet-1", "addresses": ["0xa"]}}
            if status == "COMPLETED"
            else {},
            "votes": [],
            "fingerprint": "sha256:" + "0" * 64,
            "canApprove": False,
            "canReject": True,
            "createdAt": time,
            "updatedAt": time,
            **members,
        }
    }
