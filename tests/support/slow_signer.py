"""Tests of revocations while the signer works: two services on one database in this process, a signer that waits
until the test lets it continue, and the revocations that the test submits in that time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from keystead.keys import master_key
from keystead.signer.local import LocalSigner
from keystead.stamps.signing import generate_api_key
from tests.support.callers import SDK_FORM, Caller, api_key_params, unique, user_params
from tests.support.in_process import serving
from tests.support.organization_fixtures import ETHEREUM_ACCOUNT, private_key_params
from tests.support.servers import Installation

TARGET_KEY = (
    "04"
    "6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"
    "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5"
)
"""The generator of P-256: a point whose private half is 1."""


class SlowSigner:
    """Makes calls of the signer wait. `began` is set when a call arrives; the call then waits for `go_on`. `calls`
    counts the calls."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.began, self.go_on, self.calls = asyncio.Event(), asyncio.Event(), 0
        for name in ("sign", "export_wallet", "new_credential_bundle"):
            monkeypatch.setattr(LocalSigner, name, self._slow(getattr(LocalSigner, name)))

    def _slow(self, method: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def slow(signer: LocalSigner, *values: Any, **call: Any) -> Any:
            self.calls += 1
            self.began.set()
            await self.go_on.wait()
            return await method(signer, *values, **call)

        return slow


class RevocationScenario:
    """Two services and the records of an organization. There is a wallet. Ana has two keys, and a policy lets her
    sign and export. A signature by Cy needs Ben's approval. Requests of `root` go to the service `there`, requests
    of the others to the service `here`."""

    def __init__(self, here: httpx.AsyncClient, there: httpx.AsyncClient, root: Caller) -> None:
        self.here, self.there, self.root = here, there, root

    async def sent(self, http: httpx.AsyncClient, who: Caller, name: str, parameters: Any) -> httpx.Response:
        body = who.submit_body(name, parameters)
        headers = {**who.stamped(body), **SDK_FORM}
        return await http.post(f"/public/v1/submit/{name}", content=body, headers=headers)

    async def revoked(self, name: str, parameters: Any) -> Any:
        """The result of a submission by the root user, at the other service."""
        response = await self.sent(self.there, self.root, name, parameters)
        assert response.status_code == 200, response.text
        assert response.json()["activity"]["status"] == "ACTIVITY_STATUS_COMPLETED"
        (result,) = response.json()["activity"]["result"].values()
        return result

    async def asked(self, name: str, **fields: Any) -> Any:
        body = self.root.query_body(**fields)
        headers = {**self.root.stamped(body), **SDK_FORM}
        response = await self.there.post(f"/public/v1/query/{name}", content=body, headers=headers)
        assert response.status_code == 200, response.text
        return response.json()

    async def of_type(self, activity_type: str) -> list[str]:
        """The statuses of the activities of this type that are on record."""
        found = await self.asked("list_activities", filterByType=[activity_type])
        return [one["status"] for one in found["activities"]]

    async def prepare(self) -> None:
        wallet = {"walletName": unique("wallet"), "accounts": [ETHEREUM_ACCOUNT]}
        made = await self.revoked("create_wallet", wallet)
        self.wallet_id, self.address = made["walletId"], made["addresses"][0]
        self.ana, self.ana_id, (_, self.key_id) = await self._user()
        self.ben, self.ben_id, _ = await self._user()
        self.cy, self.cy_id, _ = await self._user()
        key = {"privateKeys": [private_key_params()]}
        self.private_key_id = (await self.revoked("create_private_keys", key))["privateKeys"][0]["privateKeyId"]
        alone = f"approvers.any(u, u.id == '{self.ana_id}')"
        self.policy_id = await self._policy(consensus=alone)
        both = f"u.id == '{self.ben_id}' || u.id == '{self.cy_id}'"
        await self._policy(consensus=f"approvers.filter(u, {both}).count() >= 2")
        # The requests here come from no address, so the list refuses nobody.
        every = {"rules": [], "enabled": True, "onEvaluationError": "ALLOW"}
        await self.revoked("set_ip_allowlist", every)

    async def _user(self) -> tuple[Caller, str, list[str]]:
        """A new user with two keys. The returned caller uses the second key."""
        first, second = generate_api_key(), generate_api_key()
        (user_id,) = (await self.revoked("create_users", {"users": [user_params(first.public_key)]}))["userIds"]
        keys = {"userId": user_id, "apiKeys": [api_key_params(second.public_key)]}
        made = await self.revoked("create_api_keys", keys)
        return self.root.with_key(second, user_id), user_id, ["", *made["apiKeyIds"]]

    async def _policy(self, **expressions: str) -> str:
        policy = {"policyName": unique("policy"), "effect": "EFFECT_ALLOW"} | expressions
        policy_id: str = (await self.revoked("create_policy", policy))["policyId"]
        return policy_id

    @property
    def signing(self) -> dict[str, str]:
        return {
            "signWith": self.address,
            "payload": "hello",
            "encoding": "PAYLOAD_ENCODING_TEXT_UTF8",
            "hashFunction": "HASH_FUNCTION_KECCAK256",
        }


@asynccontextmanager
async def revocation_scenario(
    installation: Installation, folder: Path, *, apart: bool
) -> AsyncIterator[RevocationScenario]:
    """The scenario over a new service. `apart`: over two services."""
    key_file = folder / "master.key"
    master_key.create(key_file, installation.master_key)
    with httpx.Client() as unused:
        async with serving(installation, key_file) as here, serving(installation, key_file) as there:
            scenario = RevocationScenario(here, there if apart else here, installation.caller(unused))
            await scenario.prepare()
            yield scenario


class Revocation(NamedTuple):
    """What the root user submits while the signer works, and the status code that then refuses the signature."""

    name: str
    operation: str
    parameters: Callable[[RevocationScenario], dict[str, Any]]
    status: int


REVOCATIONS = [
    Revocation("the user is deleted", "delete_users", lambda s: {"userIds": [s.ana_id]}, 401),
    Revocation(
        "the key is deleted", "delete_api_keys", lambda s: {"userId": s.ana_id, "apiKeyIds": [s.key_id]}, 401
    ),
    Revocation("the policy is deleted", "delete_policy", lambda s: {"policyId": s.policy_id}, 403),
    Revocation(
        "a policy denies",
        "create_policy",
        lambda s: {
            "policyName": "no",
            "effect": "EFFECT_DENY",
            "condition": "activity.kind in ['SIGN_RAW_PAYLOAD', 'EXPORT_WALLET', 'CREATE_READ_WRITE_SESSION']",
        },
        403,
    ),
    Revocation(
        "the key's allow-list has another address",
        "set_ip_allowlist",
        lambda s: {"publicKey": s.ana.key.public_key, "rules": [{"cidr": "192.0.2.7/32"}]},
        403,
    ),
]
"""Revocations in Ana's organization."""

OF_WALLETS = Revocation(
    "the wallet is deleted",
    "delete_wallets",
    lambda s: {"walletIds": [s.wallet_id], "deleteWithoutExport": True},
    404,
)
