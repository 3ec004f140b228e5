"""Queries and submissions that take long, over HTTP: they take turns (`pipeline.long_work`)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from fuzz.costly_decisions import loops
from keystead.keys import master_key
from keystead.operations.policy_trials import TRIED_SECONDS_MAX
from keystead.pipeline.long_work import CHARACTERS_WITHOUT_TURN_MAX, LongWork
from keystead.stamps.signing import generate_api_key
from tests.support.callers import SDK_FORM, Caller, unique, user_params
from tests.support.in_process import serving
from tests.support.organization_fixtures import policy_params, private_key_params
from tests.support.passkeys import SoftPasskey
from tests.support.servers import Installation

pytestmark = pytest.mark.one_engine  # the process of the server gives the turns

LIMIT_S = 60.0
LONG = "true".rjust(CHARACTERS_WITHOUT_TURN_MAX + 1)


class Turns:
    """A service in this process, and the organizations that took a turn since `taken` was cleared."""

    def __init__(self, http: httpx.AsyncClient, root: Caller, taken: list[str]) -> None:
        self.http, self.root, self.taken = http, root, taken

    async def sent(self, path: str, body: bytes, who: Caller | None = None) -> httpx.Response:
        headers = (who or self.root).stamped(body) | SDK_FORM
        return await self.http.post(f"/public/v1/{path}", content=body, headers=headers)

    async def of(self, path: str, body: bytes) -> tuple[Any, int]:
        """The answer to a request, and how many turns it took."""
        self.taken.clear()
        response = await self.sent(path, body)
        assert response.status_code == 200, response.text
        assert set(self.taken) <= {self.root.organization_id}
        return response.json(), len(self.taken)

    async def submitted(self, name: str, parameters: dict[str, Any]) -> tuple[Any, int]:
        answer, turns = await self.of(f"submit/{name}", self.root.submit_body(name, parameters))
        return answer["activity"], turns


@asynccontextmanager
async def counting(
    installation: Installation, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Turns]:
    taken: list[str] = []
    turn = LongWork.turn

    @asynccontextmanager
    async def counted(work: LongWork, organization_id: str) -> AsyncIterator[None]:
        async with turn(work, organization_id):
            taken.append(organization_id)
            yield

    monkeypatch.setattr(LongWork, "turn", counted)
    monkeypatch.setattr("keystead.server.activity_warnings._POLICY_KINDS", frozenset())  # warnings take turns, too
    key_file = folder / "master.key"
    master_key.create(key_file, installation.master_key)
    with httpx.Client() as unused:
        root = installation.caller(unused)
    async with serving(installation, key_file) as http:
        yield Turns(http, root, taken)


def test_who_takes_a_turn(installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        async with counting(installation, tmp_path, monkeypatch) as turns:
            profile = {"sessionProfileName": "short", "scope": "true"}
            assert (await turns.submitted("create_session_profile", profile))[1] == 0
            profile = {"sessionProfileName": "long", "scope": LONG}
            assert (await turns.submitted("create_session_profile", profile))[1] == 1
            policy = policy_params(condition=LONG, consensus="true")
            activity, count = await turns.submitted("create_policy", policy)
            assert count == 1
            policy_id = activity["result"]["createPolicyResult"]["policyId"]
            asked = turns.root.query_body(activityId=activity["id"], policyId=policy_id)
            answer, count = await turns.of("query/explain_policy", asked)
            assert (len(answer["explainedClauses"]), count >= 2) == (2, True)
            # Two activities are tried, and the second is left out if the first took all the time.
            other, _ = await turns.submitted("create_user_tag", {"userTagName": "x", "userIds": []})
            tried = {"effect": "EFFECT_ALLOW", "condition": LONG, "activityIds": [activity["id"], other["id"]]}
            for seconds, expected in ((TRIED_SECONDS_MAX, 2), (-1.0, 1)):
                monkeypatch.setattr("keystead.operations.policy_trials.TRIED_SECONDS_MAX", seconds)
                answer, count = await turns.of("query/try_policy", turns.root.query_body(**tried))
                assert (len(answer["triedActivities"]), count >= 1) == (expected, True)

    asyncio.run(asyncio.wait_for(run(), LIMIT_S))


@pytest.mark.parametrize(
    ("passkeys", "turns_taken"), [((10,), 0), ((5, 5), 0), ((10, 1), 2), ((1, 10, 10), 3)], ids=str
)
def test_passkeys_of_new_users(
    passkeys: tuple[int, ...],
    turns_taken: int,
    installation: Installation,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A request that adds many takes a turn for each user."""
    users = [
        user_params("") | {"apiKeys": [], "authenticators": [SoftPasskey().params() for _ in range(count)]}
        for count in passkeys
    ]

    async def run() -> None:
        async with counting(installation, tmp_path, monkeypatch) as turns:
            assert (await turns.submitted("create_users", {"users": users}))[1] == turns_taken

    asyncio.run(asyncio.wait_for(run(), LIMIT_S))


CONNECTIONS, OF_EACH = 4, 2


def test_costly_decisions_over_several_connections(
    installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first of each connection may begin before any has been found to be costly."""

    async def run() -> None:
        async with counting(installation, tmp_path, monkeypatch) as turns:
            nobody = "!(" + loops("abc", "approvers.count() == 0 || a != 0") + ")"
            denial = policy_params(effect="EFFECT_DENY", condition="", consensus=" || ".join([nobody] * 30))
            policies = [denial | {"policyName": str(number)} for number in range(4)]
            await turns.submitted("create_policies", {"policies": policies})
            key = generate_api_key()
            made, _ = await turns.submitted("create_users", {"users": [user_params(key.public_key)]})
            user = turns.root.with_key(key, made["result"]["createUsersResult"]["userIds"][0])

            async def connection() -> None:
                for _ in range(OF_EACH):
                    body = user.submit_body("create_user_tag", {"userTagName": unique("tag"), "userIds": []})
                    assert (await turns.sent("submit/create_user_tag", body, user)).status_code == 403

            await connection()
            turns.taken.clear()
            await asyncio.gather(*[connection() for _ in range(CONNECTIONS)])
            assert len(turns.taken) >= CONNECTIONS * OF_EACH

    asyncio.run(asyncio.wait_for(run(), LIMIT_S))


def test_large_payloads_over_several_connections(
    installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    structures = {"types": {"A": [{"name": "v", "type": "B[]"}], "B": []}, "primaryType": "A", "domain": {}}
    typed_data = json.dumps(structures | {"message": {"v": [{}] * 16_000}}, separators=(",", ":"))

    async def run() -> None:
        async with counting(installation, tmp_path, monkeypatch) as turns:
            made, _ = await turns.submitted("create_private_keys", {"privateKeys": [private_key_params()]})
            (key,) = made["result"]["createPrivateKeysResultV2"]["privateKeys"]
            asked = {
                "signWith": key["privateKeyId"],
                "payload": typed_data,
                "encoding": "PAYLOAD_ENCODING_EIP712",
                "hashFunction": "HASH_FUNCTION_NO_OP",
            }

            async def connection() -> None:
                body = turns.root.submit_body("sign_raw_payload", asked)
                assert (await turns.sent("submit/sign_raw_payload", body)).status_code == 200

            await connection()
            turns.taken.clear()
            for _ in range(OF_EACH):
                await asyncio.sleep(0.002)  # the next time stamp, so that the bytes differ
                await connection()
            assert len(turns.taken) >= OF_EACH

    asyncio.run(asyncio.wait_for(run(), LIMIT_S))
