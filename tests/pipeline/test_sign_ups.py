"""Sub-organizations of one parent are created concurrently, each by the newest rules of the parent."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from keystead.api.enums import ActivityStatus
from keystead.api.errors import PermissionDenied
from keystead.pipeline.activity import RecordedActivity
from keystead.pipeline.organization_writer import UNQUEUED_MAX
from keystead.pipeline.signer_values import NewWallet
from tests.support.organization_fixtures import ETHEREUM_ACCOUNT
from tests.support.organization_harness import OrganizationHarness

ALLOWED = {"consensus": "true", "condition": "activity.kind == 'CREATE_SUB_ORGANIZATION'"}


class SlowSigner:
    """Makes no wallet before `go` is set."""

    def __init__(self, people: OrganizationHarness) -> None:
        self.asked = 0
        self.go = asyncio.Event()
        self._create = people.signers[0].create_wallet
        people.signers[0].create_wallet = self._slow  # type: ignore[method-assign]

    async def _slow(self, **arguments: Any) -> NewWallet:
        self.asked += 1
        await self.go.wait()
        return await self._create(**arguments)

    async def is_asked(self, times: int) -> None:
        """Return when the signer was asked so often, or when it is clear that it will not be."""
        for _ in range(1_000):
            if self.asked >= times:
                return
            await asyncio.sleep(0)


def sign_up(people: OrganizationHarness, who: str, name: str) -> asyncio.Future[RecordedActivity]:
    person = {"userName": name, "apiKeys": [], "authenticators": [], "oauthProviders": []}
    parameters = {
        "subOrganizationName": name,
        "rootUsers": [person | {"userEmail": f"{name}@example.com"}],
        "rootQuorumThreshold": 1,
        "wallet": {"walletName": "Savings", "accounts": [ETHEREUM_ACCOUNT]},
    }
    body = people.body("create_sub_organization", parameters)
    return asyncio.ensure_future(people.sending(people.caller(who), "create_sub_organization", body))


def children(people: OrganizationHarness) -> set[str]:
    every = people.database.organizations.values()
    return {one.profile.name for one in every if one.profile.parent_id == people.id}


@pytest.mark.parametrize("count", [2, UNQUEUED_MAX, UNQUEUED_MAX + 3])
def test_sign_ups_do_not_wait_for_each_other(count: int) -> None:
    people = OrganizationHarness("Root", root=["Root"])

    async def run() -> None:
        signer = SlowSigner(people)
        names = [f"s{number}" for number in range(count)]
        under_way = [sign_up(people, "Root", name) for name in names]
        await signer.is_asked(count)
        assert signer.asked == min(count, UNQUEUED_MAX)
        signer.go.set()
        made = await asyncio.gather(*under_way)
        assert {one.status for one in made} == {ActivityStatus.COMPLETED}
        assert children(people) == set(names)

    asyncio.run(run())
    assert people.organization is people.first_version, "the parent is as it was"


def test_changes_of_the_parent_do_not_wait_for_a_sign_up() -> None:
    people = OrganizationHarness("Root", root=["Root"])

    async def run() -> None:
        signer = SlowSigner(people)
        under_way = sign_up(people, "Root", "below")
        await signer.is_asked(1)
        tag = people.body("create_user_tag", {"userTagName": "x", "userIds": []})
        await people.sending(people.caller("Root"), "create_user_tag", tag)
        assert not under_way.done()
        signer.go.set()
        assert (await under_way).status is ActivityStatus.COMPLETED
        assert signer.asked == 2, "it was decided anew on the parent's new version"
        assert children(people) == {"below"}

    asyncio.run(run())


def test_a_sign_up_that_is_no_longer_allowed_makes_nothing() -> None:
    people = OrganizationHarness("Root", "Ana", root=["Root"])
    policy_id = people.policy(**ALLOWED)

    async def run() -> None:
        signer = SlowSigner(people)
        under_way = sign_up(people, "Ana", "below")
        await signer.is_asked(1)
        deletion = people.body("delete_policy", {"policyId": policy_id})
        await people.sending(people.caller("Root"), "delete_policy", deletion)
        signer.go.set()
        with pytest.raises(PermissionDenied):
            await under_way
        assert children(people) == set()

    asyncio.run(run())
