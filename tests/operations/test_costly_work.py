"""Which work of a request, sent over HTTP, goes through the share of the processor: of whom, of which kind, and how
much it is. Not here: what the share does with it (`tests/primitives/test_share.py`)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest

from keystead.keys import master_key
from keystead.operations.bounds import TRIED_SECONDS_MAX
from keystead.primitives.share import Share, Work
from tests.support.callers import SDK_FORM, Caller, unique, user_params
from tests.support.hanging import PATIENCE_S
from tests.support.in_process import serving
from tests.support.organization_fixtures import policy_params, private_key_params
from tests.support.passkeys import SoftPasskey
from tests.support.servers import Installation

pytestmark = pytest.mark.one_engine  # the process of the server shares its processor

T = TypeVar("T")
Done = tuple[str, Work, int]
"""Whose work it was, its kind, its size."""

CONDITION, CONSENSUS = "true".rjust(3_000), "true"


class Shared:
    """A service in this process, and the work that its requests did since `done` was cleared."""

    def __init__(self, http: httpx.AsyncClient, root: Caller, done: list[Done]) -> None:
        self.http, self.root, self.done = http, root, done

    async def of(self, path: str, body: bytes) -> tuple[Any, list[tuple[Work, int]]]:
        """The answer to a request, and the work of its organization. The work of its address is its body."""
        self.done.clear()
        response = await self.http.post(
            f"/public/v1/{path}", content=body, headers=self.root.stamped(body) | SDK_FORM
        )
        assert response.status_code == 200, response.text
        (address, *read), *done = self.done
        assert read == [Work.BODY, len(body)]
        assert {owner for owner, _, _ in done} <= {self.root.organization_id} != {address}
        return response.json(), [(kind, size) for _, kind, size in done]

    async def submitted(self, name: str, parameters: dict[str, Any]) -> tuple[Any, list[tuple[Work, int]]]:
        answer, done = await self.of(f"submit/{name}", self.root.submit_body(name, parameters))
        return answer["activity"], done


def test_work_is_shared(installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        async with noting(installation, tmp_path, monkeypatch) as shared:
            for case in (profiles, policies, passkeys, payloads):
                await case(shared, monkeypatch)

    asyncio.run(asyncio.wait_for(run(), PATIENCE_S))


@asynccontextmanager
async def noting(
    installation: Installation, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Shared]:
    done: list[Done] = []
    share_run = Share.run

    async def noted(share: Share, owner: str, kind: Work, work: Callable[[], T], size: int = 1) -> T:
        done.append((owner, kind, size))
        return await share_run(share, owner, kind, work, size)

    monkeypatch.setattr(Share, "run", noted)
    key_file = folder / "master.key"
    master_key.create(key_file, installation.master_key)
    with httpx.Client() as unused:
        root = installation.caller(unused)
    async with serving(installation, key_file) as http:
        yield Shared(http, root, done)


async def profiles(shared: Shared, _: pytest.MonkeyPatch) -> None:
    profile = {"sessionProfileName": unique("profile"), "scope": CONDITION}
    _, done = await shared.submitted("create_session_profile", profile)
    assert (Work.COMPILING, len(CONDITION)) in done
    assert (Work.DECISION, 1) in done


async def policies(shared: Shared, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = policy_params(condition=CONDITION, consensus=CONSENSUS)
    activity, done = await shared.submitted("create_policy", policy)
    assert (Work.COMPILING, len(CONDITION) + len(CONSENSUS)) in done
    policy_id = activity["result"]["createPolicyResult"]["policyId"]
    other, done = await shared.submitted("create_user_tag", {"userTagName": unique("tag"), "userIds": []})
    assert done.count((Work.DECISION, 1)) == 1
    assert {(Work.COMPILING, len(CONDITION)), (Work.COMPILING, len(CONSENSUS))} <= set(done), "the next decision"
    asked = shared.root.query_body(activityId=activity["id"], policyId=policy_id)
    answer, done = await shared.of("query/explain_policy", asked)
    assert len(answer["explainedClauses"]) == done.count((Work.EXPLANATION, 1)) == 2
    # Two activities are tried, and the second is left out if the first took all the time.
    tried = {"effect": "EFFECT_ALLOW", "condition": CONDITION, "activityIds": [activity["id"], other["id"]]}
    for seconds, expected in ((TRIED_SECONDS_MAX, 2), (-1.0, 1)):
        monkeypatch.setattr("keystead.operations.policies.policy_trials.TRIED_SECONDS_MAX", seconds)
        answer, done = await shared.of("query/try_policy", shared.root.query_body(**tried))
        assert len(answer["triedActivities"]) == expected
        assert done.count((Work.DECISION, 1)) >= expected


async def passkeys(shared: Shared, _: pytest.MonkeyPatch) -> None:
    """Those of each user are one piece of work."""
    counts = [1, 10, 3]
    users = [
        user_params("") | {"apiKeys": [], "authenticators": [SoftPasskey().params() for _ in range(count)]}
        for count in counts
    ]
    _, done = await shared.submitted("create_users", {"users": users})
    assert [size for kind, size in done if kind is Work.PASSKEYS] == counts


async def payloads(shared: Shared, _: pytest.MonkeyPatch) -> None:
    made, _done = await shared.submitted("create_private_keys", {"privateKeys": [private_key_params()]})
    (key,) = made["result"]["createPrivateKeysResultV2"]["privateKeys"]
    structures = {"types": {"A": [{"name": "v", "type": "B[]"}], "B": []}, "primaryType": "A", "domain": {}}
    asked = {
        "signWith": key["privateKeyId"],
        "payload": json.dumps(structures | {"message": {"v": [{}] * 100}}),
        "encoding": "PAYLOAD_ENCODING_EIP712",
        "hashFunction": "HASH_FUNCTION_NO_OP",
    }
    _, done = await shared.submitted("sign_raw_payload", asked)
    assert (Work.TRANSACTION, 1) in done
