"""Something is taken away, and answered, while the signer is slow: what the signer makes then reaches nobody.

Here: two services on one database, in this process, with a signer that waits until it is told to go on. Not here:
what was taken away before a request came (`test_revocation`).
"""

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
from tests.support.organization_fixtures import ETHEREUM_ACCOUNT
from tests.support.servers import Installation

LIMIT_S = 60.0
SIGN, EXPORT = "ACTIVITY_TYPE_SIGN_RAW_PAYLOAD_V2", "ACTIVITY_TYPE_EXPORT_WALLET"
EXPORT_TARGET = (
    "04"
    "6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"
    "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5"
)
"""The generator of P-256: a point whose private half is 1."""


class SlowSigner:
    """`began` is set when a call arrives, which then waits for `go_on`. `calls`: how many arrived."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.began, self.go_on, self.calls = asyncio.Event(), asyncio.Event(), 0
        for name in ("sign", "export_wallet"):
            monkeypatch.setattr(LocalSigner, name, self._slow(getattr(LocalSigner, name)))

    def _slow(self, method: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def slow(signer: LocalSigner, **call: Any) -> Any:
            self.calls += 1
            self.began.set()
            await self.go_on.wait()
            return await method(signer, **call)

        return slow


class Scene:
    """Two services; a wallet; Ana, who may sign and export by a policy, with two keys; Ben, whose approval a
    signature by Cy needs. Requests of `root` go to the service `there`, those of the others to the one `here`."""

    def __init__(self, here: httpx.AsyncClient, there: httpx.AsyncClient, root: Caller) -> None:
        self.here, self.there, self.root = here, there, root

    async def sent(self, http: httpx.AsyncClient, who: Caller, name: str, parameters: Any) -> httpx.Response:
        body = who.submit_body(name, parameters)
        headers = {**who.stamped(body), **SDK_FORM}
        return await http.post(f"/public/v1/submit/{name}", content=body, headers=headers)

    async def revoked(self, name: str, parameters: Any) -> Any:
        """By the root user, at the other service."""
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
        alone = f"approvers.any(u, u.id == '{self.ana_id}')"
        self.policy_id = await self._policy(consensus=alone)
        both = f"u.id == '{self.ben_id}' || u.id == '{self.cy_id}'"
        await self._policy(consensus=f"approvers.filter(u, {both}).count() >= 2")

    async def _user(self) -> tuple[Caller, str, list[str]]:
        """With two keys, of which the second is the caller's."""
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
async def scene_of(installation: Installation, folder: Path, *, apart: bool) -> AsyncIterator[Scene]:
    """`apart`: at two services, else at one."""
    key_file = folder / "master.key"
    master_key.create(key_file, installation.master_key)
    with httpx.Client() as unused:
        async with serving(installation, key_file) as here, serving(installation, key_file) as there:
            scene = Scene(here, there if apart else here, installation.caller(unused))
            await scene.prepare()
            yield scene


class Revocation(NamedTuple):
    """What the root user submits meanwhile, and the status code with which the signature is then refused."""

    name: str
    operation: str
    parameters: Callable[[Scene], dict[str, Any]]
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
            "condition": "activity.kind in ['SIGN_RAW_PAYLOAD', 'EXPORT_WALLET']",
        },
        403,
    ),
    Revocation(
        "the wallet is deleted",
        "delete_wallets",
        lambda s: {"walletIds": [s.wallet_id], "deleteWithoutExport": True},
        404,
    ),
]


@pytest.mark.parametrize("apart", [True, False], ids=["at another server", "at the same server"])
@pytest.mark.parametrize("revocation", REVOCATIONS, ids=[one.name for one in REVOCATIONS])
def test_a_signature_after_an_answered_revocation(
    revocation: Revocation,
    apart: bool,
    installation: Installation,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def run() -> None:
        signer = SlowSigner(monkeypatch)
        async with scene_of(installation, tmp_path, apart=apart) as scene:
            signing = asyncio.create_task(scene.sent(scene.here, scene.ana, "sign_raw_payload", scene.signing))
            await signer.began.wait()
            await scene.revoked(revocation.operation, revocation.parameters(scene))
            signer.go_on.set()
            refused = await signing
            assert refused.status_code == revocation.status, refused.text
            assert await scene.of_type(SIGN) == []
            assert signer.calls == 1

    asyncio.run(asyncio.wait_for(run(), LIMIT_S))


@pytest.mark.parametrize("revocation", REVOCATIONS, ids=[one.name for one in REVOCATIONS])
def test_an_export_after_an_answered_revocation(
    revocation: Revocation, installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At another server. At the same one the revocation waits for the export, and is answered after it."""

    async def run() -> None:
        signer = SlowSigner(monkeypatch)
        async with scene_of(installation, tmp_path, apart=True) as scene:
            asked = {"walletId": scene.wallet_id, "targetPublicKey": EXPORT_TARGET}
            exporting = asyncio.create_task(scene.sent(scene.here, scene.ana, "export_wallet", asked))
            await signer.began.wait()
            await scene.revoked(revocation.operation, revocation.parameters(scene))
            signer.go_on.set()
            refused = await exporting
            assert refused.status_code == revocation.status, refused.text
            assert await scene.of_type(EXPORT) == []

    asyncio.run(asyncio.wait_for(run(), LIMIT_S))


@pytest.mark.parametrize("apart", [True, False], ids=["at another server", "at the same server"])
def test_a_change_that_takes_nothing_away_costs_no_second_signature(
    apart: bool, installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        signer = SlowSigner(monkeypatch)
        async with scene_of(installation, tmp_path, apart=apart) as scene:
            signing = asyncio.create_task(scene.sent(scene.here, scene.ana, "sign_raw_payload", scene.signing))
            await signer.began.wait()
            for _ in range(3):
                await scene.revoked("create_user_tag", {"userTagName": unique("tag"), "userIds": []})
            signer.go_on.set()
            signed = await signing
            assert signed.status_code == 200, signed.text
            assert await scene.of_type(SIGN) == ["ACTIVITY_STATUS_COMPLETED"]
            assert signer.calls == 1

    asyncio.run(asyncio.wait_for(run(), LIMIT_S))


@pytest.mark.parametrize(
    ("operation", "status", "on_record"),
    [
        ("delete_wallets", 200, "ACTIVITY_STATUS_FAILED"),
        ("delete_users", 401, "ACTIVITY_STATUS_CONSENSUS_NEEDED"),
    ],
    ids=["the wallet is deleted", "the approver is deleted"],
)
def test_an_approved_signature_after_an_answered_revocation(
    operation: str,
    status: int,
    on_record: str,
    installation: Installation,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def run() -> None:
        signer = SlowSigner(monkeypatch)
        async with scene_of(installation, tmp_path, apart=True) as scene:
            waiting = await scene.sent(scene.here, scene.cy, "sign_raw_payload", scene.signing)
            assert waiting.json()["activity"]["status"] == "ACTIVITY_STATUS_CONSENSUS_NEEDED"
            approval = {"fingerprint": waiting.json()["activity"]["fingerprint"]}
            approving = asyncio.create_task(scene.sent(scene.here, scene.ben, "approve_activity", approval))
            await signer.began.wait()
            parameters = {
                "delete_wallets": {"walletIds": [scene.wallet_id], "deleteWithoutExport": True},
                "delete_users": {"userIds": [scene.ben_id]},
            }
            await scene.revoked(operation, parameters[operation])
            signer.go_on.set()
            answer = await approving
            assert answer.status_code == status, answer.text
            assert await scene.of_type(SIGN) == [on_record]

    asyncio.run(asyncio.wait_for(run(), LIMIT_S))
