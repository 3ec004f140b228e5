"""Long policies and MFA conditions: what they are refused for, and that other organizations are answered meanwhile.

In this process and on one event loop, so that the order of the answers is the order in which the server works.
Not here: the limits one by one (`test_policy_attacks`), how much is compiled at once
(`tests/pipeline/test_policy_set_cache`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from keystead.keys import master_key
from keystead.organizations.kinds.policies import CHARACTERS_PER_POLICY
from keystead.organizations.kinds.users import MFA_POLICY_CHARACTERS
from keystead.stamps.signing import generate_api_key
from tests.conftest import MakeDatabase
from tests.support.callers import SDK_FORM, Caller, unique, user_params
from tests.support.hanging import PATIENCE_S
from tests.support.in_process import serving
from tests.support.organization_fixtures import mfa_policy_params, policy_params
from tests.support.servers import Installation, bootstrap_installation

CHARACTERS = 5 * CHARACTERS_PER_POLICY.default
"""The limit on all policies. It is lower than the default: to compile them takes a fraction of a second, in which
others are answered more than AT_LEAST times."""
USERS = 3
AT_LEAST = 3
"""How many answers another organization gets at least before the flood is answered: while the server works on the
flood, others have their turns. The exact number depends on the machine."""


class Tenants(NamedTuple):
    """An attacker and somebody else, each the root user of a sub-organization."""

    http: httpx.AsyncClient
    attacker: Caller
    somebody: Caller

    async def sent(self, who: Caller, name: str, parameters: Any) -> httpx.Response:
        body = who.submit_body(name, parameters)
        headers = {**who.stamped(body), **SDK_FORM}
        return await self.http.post(f"/public/v1/submit/{name}", content=body, headers=headers)

    async def done(self, who: Caller, name: str, parameters: Any) -> Any:
        response = await self.sent(who, name, parameters)
        assert response.status_code == 200, response.text
        (result,) = response.json()["activity"]["result"].values()
        return result

    async def asked(self, who: Caller, name: str) -> Any:
        body = who.query_body()
        response = await self.http.post(f"/public/v1/query/{name}", content=body, headers=who.stamped(body))
        assert response.status_code == 200, response.text
        return response.json()

    async def answered_meanwhile(self, flood: Awaitable[httpx.Response]) -> tuple[httpx.Response, int]:
        """The answer to the flood, and how many requests of somebody else, a query and a submission in turns, were
        answered before it."""
        attack, count = asyncio.ensure_future(flood), 0
        await asyncio.sleep(0)  # the flood is first
        while not attack.done():
            if count % 2:
                name = {"userId": self.somebody.user_id, "userName": unique("name")}
                await self.done(self.somebody, "update_user_name", name)
            else:
                await self.asked(self.somebody, "list_wallets")
            count += not attack.done()
        return await attack, count


@pytest.fixture
def sqlite_installation(make_sqlite: MakeDatabase) -> Iterator[Installation]:
    """One engine will do: the store does not know what is compiled."""
    installation = bootstrap_installation(make_sqlite())
    yield installation
    installation.database.close()


@asynccontextmanager
async def two_tenants(installation: Installation, folder: Path) -> AsyncIterator[Tenants]:
    key_file = folder / "master.key"
    master_key.create(key_file, installation.master_key)
    with httpx.Client() as unused:
        async with serving(installation, key_file, limit_policy_characters=CHARACTERS) as http:
            root = installation.caller(unused)
            yield Tenants(http, *[await _tenant(http, root) for _ in range(2)])


async def _tenant(http: httpx.AsyncClient, root: Caller) -> Caller:
    key = generate_api_key()
    user = {name: value for name, value in user_params(key.public_key).items() if name != "userTags"}
    asked = {"subOrganizationName": unique("sub"), "rootUsers": [user], "rootQuorumThreshold": 1}
    made = await Tenants(http, root, root).done(root, "create_sub_organization", asked)
    return root.with_key(key, made["rootUserIds"][0], made["subOrganizationId"])


def condition(characters: int, number: int = 0) -> str:
    """A condition of this length that no other number has, and that takes long to compile."""
    return f"{number}<1||" + "||".join(["1<1"] * ((characters - 10) // 5))


def of_length(characters: int, each: int) -> list[dict[str, Any]]:
    """Policies of `each` characters. All of them together have at most `characters`."""
    return [policy_params(condition=condition(each, n), consensus="") for n in range(characters // each)]


def accepted(tenants: Tenants) -> Awaitable[httpx.Response]:
    """As many characters as an organization may have, in policies as long as they may be."""
    policies = of_length(CHARACTERS, CHARACTERS_PER_POLICY.default)
    return tenants.sent(tenants.attacker, "create_policies", {"policies": policies})


def refused_at_the_end(tenants: Tenants) -> Awaitable[httpx.Response]:
    """The same, but for the last one, which cannot be read."""
    policies = of_length(CHARACTERS, CHARACTERS_PER_POLICY.default)
    policies[-1]["condition"] += "||"
    return tenants.sent(tenants.attacker, "create_policies", {"policies": policies})


def submitted(tenants: Tenants) -> Awaitable[httpx.Response]:
    """After a change of the policies, all of them are compiled for the next submission."""
    return tenants.sent(tenants.attacker, "create_wallet", {"walletName": "wallet", "accounts": []})


def long_mfa_conditions(tenants: Tenants) -> Awaitable[httpx.Response]:
    """Users with the longest MFA conditions, each of which then submits."""

    async def flood() -> httpx.Response:
        for number in range(USERS):
            key = generate_api_key()
            user = {"users": [user_params(key.public_key)]}
            (user_id,) = (await tenants.done(tenants.attacker, "create_users", user))["userIds"]
            policy = mfa_policy_params(user_id, [{"type": "AUTHENTICATION_TYPE_PASSKEY"}])
            policy["condition"] = condition(MFA_POLICY_CHARACTERS.default, number)
            made = await tenants.sent(tenants.attacker, "create_mfa_policy", policy)
            assert made.status_code == 200, made.text
            response = await tenants.sent(
                tenants.attacker.with_key(key, user_id), "create_wallet", {"walletName": "w", "accounts": []}
            )
        return response

    return flood()


Flood = Callable[[Tenants], Awaitable[httpx.Response]]

FLOODS: dict[str, list[tuple[Flood, int]]] = {
    "the most policies, and a submission under them": [(accepted, 200), (submitted, 200)],
    "the most policies, the last of which is wrong": [(refused_at_the_end, 400)],
    "the longest MFA conditions of three users": [(long_mfa_conditions, 403)],
}
"""One after the other, with the status of each answer."""


@pytest.mark.parametrize("floods", FLOODS.values(), ids=FLOODS)
def test_others_are_answered_before_the_flood_is(
    floods: list[tuple[Flood, int]], sqlite_installation: Installation, tmp_path: Path
) -> None:
    async def run() -> None:
        async with two_tenants(sqlite_installation, tmp_path) as tenants:
            for send, status in floods:
                response, count = await tenants.answered_meanwhile(send(tenants))
                assert response.status_code == status, response.text[:300]
                assert count >= AT_LEAST
                if status == 400:
                    assert await tenants.asked(tenants.attacker, "list_policies") == {"policies": []}

    asyncio.run(asyncio.wait_for(run(), PATIENCE_S))


def test_a_megabyte_of_policies_is_refused_before_any_is_read(
    sqlite_installation: Installation, tmp_path: Path
) -> None:
    """By their characters: the first policy cannot be read, and that is not what the answer says."""

    async def run() -> None:
        async with two_tenants(sqlite_installation, tmp_path) as tenants:
            policies = of_length(990_000, CHARACTERS_PER_POLICY.default)
            policies[0]["condition"] = "this cannot be read"
            response = await tenants.sent(tenants.attacker, "create_policies", {"policies": policies})
            assert response.status_code == 429, response.text[:300]
            assert f"characters of policies: 0 of {CHARACTERS} are in use" in response.json()["message"]
            assert await tenants.asked(tenants.attacker, "list_policies") == {"policies": []}
            assert await tenants.asked(tenants.somebody, "list_wallets") == {"wallets": []}

    asyncio.run(asyncio.wait_for(run(), PATIENCE_S))
