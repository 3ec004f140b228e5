"""A user of a parent acts in a sub-organization, and loses the right to while the action is carried out: nothing
comes of it. The commit is of the sub-organization; what it was decided on is the parent's.

Here: two services on one database, in this process, with a signer that waits until it is told to go on. Not here:
the same in one organization (`test_revoked_while_signing`).
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from keystead.stamps.signing import generate_api_key
from tests.support.callers import Caller, unique, user_params
from tests.support.hanging import PATIENCE_S
from tests.support.servers import Installation
from tests.support.slow_signer import (
    REVOCATIONS,
    TARGET_KEY,
    Revocation,
    RevocationScenario,
    SlowSigner,
    revocation_scenario,
)

SESSION = "create_read_write_session"


class SubOrganization:
    """With a user, in whose name Ana of the parent begins a session, as the sub-organization allows by a feature.
    `asked`: what Ana asks for."""

    def __init__(self, scenario: RevocationScenario, made: dict[str, Any]) -> None:
        self.scenario = scenario
        organization_id, self.user_id = made["subOrganizationId"], made["rootUserIds"][0]
        self.ana = replace(scenario.ana, organization_id=organization_id)
        self.root = replace(scenario.root, organization_id=organization_id)
        self.asked = {"targetPublicKey": TARGET_KEY, "userId": self.user_id}

    async def keys(self) -> int:
        """How many the user has: a session adds one."""
        found = await self.scenario.asked("get_user", organizationId=self.ana.organization_id, userId=self.user_id)
        return len(found["user"]["apiKeys"])


async def sub_organization(scenario: RevocationScenario) -> SubOrganization:
    key = generate_api_key()
    user = user_params(key.public_key)
    del user["userTags"]
    asked = {"subOrganizationName": unique("sub"), "rootUsers": [user], "rootQuorumThreshold": 1}
    made = await scenario.revoked("create_sub_organization", asked)
    await allow_the_parent(scenario, scenario.root.with_key(key, made["rootUserIds"][0], made["subOrganizationId"]))
    return SubOrganization(scenario, made)


async def allow_the_parent(scenario: RevocationScenario, root: Caller) -> None:
    """The root user of a sub-organization lets users of its parent begin sessions."""
    feature = {"name": "FEATURE_NAME_PARENT_AUTH"}
    response = await scenario.sent(scenario.there, root, "set_organization_feature", feature)
    assert response.status_code == 200, response.text


@pytest.mark.parametrize("apart", [True, False], ids=["at another server", "at the same server"])
@pytest.mark.parametrize("revocation", REVOCATIONS, ids=[one.name for one in REVOCATIONS])
def test_an_action_of_the_parents_user_after_an_answered_revocation(
    revocation: Revocation,
    apart: bool,
    installation: Installation,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def run() -> None:
        signer = SlowSigner(monkeypatch)
        async with revocation_scenario(installation, tmp_path, apart=apart) as scenario:
            sub = await sub_organization(scenario)
            acting = asyncio.create_task(scenario.sent(scenario.here, sub.ana, SESSION, sub.asked))
            await signer.began.wait()
            await scenario.revoked(revocation.operation, revocation.parameters(scenario))
            signer.go_on.set()
            refused = await acting
            assert refused.status_code == revocation.status, refused.text
            assert await sub.keys() == 1

    asyncio.run(asyncio.wait_for(run(), PATIENCE_S))


def test_an_action_of_the_parents_user_without_a_revocation(
    installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the parent changes meanwhile takes nothing away."""

    async def run() -> None:
        signer = SlowSigner(monkeypatch)
        async with revocation_scenario(installation, tmp_path, apart=True) as scenario:
            sub = await sub_organization(scenario)
            acting = asyncio.create_task(scenario.sent(scenario.here, sub.ana, SESSION, sub.asked))
            await signer.began.wait()
            await scenario.revoked("create_user_tag", {"userTagName": unique("tag"), "userIds": []})
            signer.go_on.set()
            done = await acting
            assert done.status_code == 200, done.text
            assert await sub.keys() == 2

    asyncio.run(asyncio.wait_for(run(), PATIENCE_S))


@pytest.mark.parametrize("apart", [True, False], ids=["at another server", "at the same server"])
def test_an_action_after_the_answered_deletion_of_the_sub_organizations_user(
    apart: bool, installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other half of what the action is decided on. At the same server the deletion waits for the action."""

    async def run() -> None:
        signer = SlowSigner(monkeypatch)
        async with revocation_scenario(installation, tmp_path, apart=apart) as scenario:
            user, key = user_params(generate_api_key().public_key), generate_api_key()
            root = user_params(key.public_key)
            for each in (user, root):
                del each["userTags"]
            asked = {"subOrganizationName": unique("sub"), "rootUsers": [root, user], "rootQuorumThreshold": 1}
            made = await scenario.revoked("create_sub_organization", asked)
            sub = SubOrganization(scenario, made | {"rootUserIds": made["rootUserIds"][1:]})
            own = replace(sub.root, key=key, user_id=made["rootUserIds"][0])
            await allow_the_parent(scenario, own)
            acting = asyncio.create_task(scenario.sent(scenario.here, sub.ana, SESSION, sub.asked))
            await signer.began.wait()
            quorum = {"threshold": 1, "userIds": [own.user_id]}
            deletion = asyncio.create_task(
                _after(scenario.sent(scenario.there, own, "update_root_quorum", quorum), scenario, own, sub.user_id)
            )
            if apart:
                assert (await deletion) == 200
                signer.go_on.set()
                assert (await acting).status_code == 404
            else:
                await asyncio.sleep(0)
                assert not deletion.done()
                signer.go_on.set()
                assert ((await acting).status_code, await deletion) == (200, 200)

    asyncio.run(asyncio.wait_for(run(), PATIENCE_S))


async def _after(first: Any, scenario: RevocationScenario, own: Any, user_id: str) -> int:
    assert (await first).status_code == 200
    deleted = await scenario.sent(scenario.there, own, "delete_users", {"userIds": [user_id]})
    return deleted.status_code
