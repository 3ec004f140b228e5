"""One credential registered in two sub-organizations at the same instant: exactly one of the two gets it.

Here: two services on one database, in this process; each request is decided before the other is written. Not here:
one after the other (`test_credential_attacks`), the commits alone (`tests/storage/test_exclusive_credentials`).
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
from keystead.organizations.lookups import CREDENTIALS
from keystead.pipeline.store import Commit, CommitResult
from keystead.stamps.signing import generate_api_key
from keystead.storage.store import DatabaseStore
from tests.server.test_auth_proxy import ORIGIN, sign_up
from tests.support.callers import SDK_FORM, Caller, api_key_params, refusal, unique, user_params
from tests.support.hanging import PATIENCE_S
from tests.support.in_process import serving
from tests.support.passkeys import SoftPasskey
from tests.support.servers import Installation


class Crossing:
    """From `begin` on, holds back the commits that register a credential until two of them are handed in."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.held_back = 0
        self._is_on = False
        self._both = asyncio.Event()
        commit = DatabaseStore.commit

        async def later(store: DatabaseStore, asked: Commit) -> CommitResult:
            self.held_back += 1
            if self.held_back == 2:
                self._both.set()
            await self._both.wait()
            return await commit(store, asked)

        def crossing(store: DatabaseStore, asked: Commit) -> asyncio.Future[CommitResult]:
            if self._is_on and _registers(asked):
                return asyncio.ensure_future(later(store, asked))
            return commit(store, asked)

        monkeypatch.setattr(DatabaseStore, "commit", crossing)

    def begin(self) -> None:
        self._is_on = True


def _registers(commit: Commit) -> bool:
    writes = [write for write in (commit.changes, commit.new_organization) if write is not None]
    return any(lookup.kind in CREDENTIALS for write in writes for lookup in write.lookups_added)


class Credentials(NamedTuple):
    """What two registrations have in common."""

    public_key: str
    passkey: SoftPasskey


class Sibling(NamedTuple):
    """A sub-organization at one of the services, and its two root users."""

    http: httpx.AsyncClient
    root: Caller
    other_root: Caller
    proxy_id: str

    async def sent(self, who: Caller, name: str, parameters: Any) -> httpx.Response:
        body = who.submit_body(name, parameters)
        headers = {**who.stamped(body), **SDK_FORM}
        return await self.http.post(f"/public/v1/submit/{name}", content=body, headers=headers)


Registration = Callable[[Sibling, Credentials], Awaitable[httpx.Response]]


def by_api_key(sibling: Sibling, both: Credentials) -> Awaitable[httpx.Response]:
    keys = {"userId": sibling.root.user_id, "apiKeys": [api_key_params(both.public_key)]}
    return sibling.sent(sibling.root, "create_api_keys", keys)


def by_new_user(sibling: Sibling, both: Credentials) -> Awaitable[httpx.Response]:
    return sibling.sent(sibling.root, "create_users", {"users": [user_params(both.public_key)]})


def by_login(sibling: Sibling, both: Credentials) -> Awaitable[httpx.Response]:
    return sibling.sent(sibling.root, "stamp_login", {"publicKey": both.public_key})


def by_passkey(sibling: Sibling, both: Credentials) -> Awaitable[httpx.Response]:
    passkeys = {"userId": sibling.root.user_id, "authenticators": [both.passkey.params()]}
    return sibling.sent(sibling.root, "create_authenticators", passkeys)


def by_new_user_with_a_passkey(sibling: Sibling, both: Credentials) -> Awaitable[httpx.Response]:
    user = user_params("") | {"apiKeys": [], "authenticators": [both.passkey.params()]}
    return sibling.sent(sibling.root, "create_users", {"users": [user]})


def by_sign_up(sibling: Sibling, both: Credentials) -> Awaitable[httpx.Response]:
    """Somebody else signs up through the parent's authentication proxy."""
    return _signed_up(sibling, apiKeys=[api_key_params(both.public_key)])


def by_sign_up_with_a_passkey(sibling: Sibling, both: Credentials) -> Awaitable[httpx.Response]:
    return _signed_up(sibling, authenticators=[both.passkey.params()])


def _signed_up(sibling: Sibling, **credentials: Any) -> Awaitable[httpx.Response]:
    headers = {"X-Auth-Proxy-Config-ID": sibling.proxy_id, "Origin": ORIGIN}
    return sibling.http.post("/auth-proxy/v1/signup_v2", json=sign_up(**credentials), headers=headers)


class Race(NamedTuple):
    one: Registration
    other: Registration
    is_of_passkeys: bool = False


RACES = {
    "an API key twice": Race(by_api_key, by_api_key),
    "a new user and a session": Race(by_new_user, by_login),
    "two sign-ups": Race(by_sign_up, by_sign_up),
    "a sign-up and an API key": Race(by_sign_up, by_api_key),
    "a passkey and a new user": Race(by_passkey, by_new_user_with_a_passkey, is_of_passkeys=True),
    "two sign-ups with a passkey": Race(by_sign_up_with_a_passkey, by_sign_up_with_a_passkey, is_of_passkeys=True),
}


class TwoServices:
    """Two services, the root user of the parent, and a sub-organization at each service."""

    def __init__(self, here: httpx.AsyncClient, there: httpx.AsyncClient, root: Caller) -> None:
        self.here, self.there, self.root = here, there, root

    async def prepare(self, *, threshold: int = 1) -> None:
        self.proxy_id = (await self.done("enable_auth_proxy", {}))["userId"]
        await self.done("update_auth_proxy_config", {"configId": self.proxy_id, "allowedOrigins": [ORIGIN]})
        self.siblings = [await self._sibling(http, threshold) for http in (self.here, self.there)]

    async def _sibling(self, http: httpx.AsyncClient, threshold: int) -> Sibling:
        keys = [generate_api_key() for _ in range(2)]
        users = [
            {name: value for name, value in user_params(key.public_key).items() if name != "userTags"}
            for key in keys
        ]
        asked = {"subOrganizationName": unique("sub"), "rootUsers": users, "rootQuorumThreshold": threshold}
        made = await self.done("create_sub_organization", asked)
        root, other_root = [
            self.root.with_key(key, user_id, made["subOrganizationId"])
            for key, user_id in zip(keys, made["rootUserIds"], strict=True)
        ]
        return Sibling(http, root, other_root, self.proxy_id)

    async def done(self, name: str, parameters: Any) -> Any:
        """By the root user of the parent."""
        body = self.root.submit_body(name, parameters)
        headers = {**self.root.stamped(body), **SDK_FORM}
        response = await self.here.post(f"/public/v1/submit/{name}", content=body, headers=headers)
        assert response.status_code == 200, response.text
        (result,) = response.json()["activity"]["result"].values()
        return result

    async def holders(self, kind: str, value: str) -> list[str]:
        """The sub-organizations that are found by a credential."""
        body = self.root.query_body(filterType=kind, filterValue=value)
        response = await self.there.post(
            "/public/v1/query/list_suborgs", content=body, headers=self.root.stamped(body)
        )
        assert response.status_code == 200, response.text
        found: list[str] = response.json()["organizationIds"]
        return found


@asynccontextmanager
async def started_services(installation: Installation, folder: Path, *, apart: bool) -> AsyncIterator[TwoServices]:
    """`apart`: at two services, else at one."""
    key_file = folder / "master.key"
    master_key.create(key_file, installation.master_key)
    with httpx.Client() as unused:
        async with serving(installation, key_file) as here, serving(installation, key_file) as there:
            yield TwoServices(here, there if apart else here, installation.caller(unused))


@pytest.mark.parametrize("apart", [True, False], ids=["at two servers", "at one server"])
@pytest.mark.parametrize("race", RACES.values(), ids=RACES)
def test_one_of_two_gets_the_credential(
    race: Race, apart: bool, installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        crossing = Crossing(monkeypatch)
        async with started_services(installation, tmp_path, apart=apart) as services:
            await services.prepare()
            both = Credentials(generate_api_key().public_key, SoftPasskey())
            crossing.begin()
            answers = await asyncio.gather(
                race.one(services.siblings[0], both), race.other(services.siblings[1], both)
            )
            assert crossing.held_back == 2, "each was decided before the other was written"
            won, lost = sorted(answers, key=lambda answer: answer.status_code)
            assert won.status_code == 200, won.text
            status, message = refusal(lost)
            assert (status, lost.json()["details"][0]["turnkeyErrorCode"]) == (400, "CREDENTIAL_CONFLICT")
            value = both.passkey.params()["attestation"]["credentialId"] if race.is_of_passkeys else both.public_key
            assert f"credential {value} is held in another sub-organization" in message
            kind = "CREDENTIAL_ID" if race.is_of_passkeys else "PUBLIC_KEY"
            assert len(await services.holders(kind, value)) == 1

    asyncio.run(asyncio.wait_for(run(), PATIENCE_S))


def test_of_two_approved_registrations_one_fails(
    installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each waits for a second approval, and gets it at the same instant as the other."""

    async def run() -> None:
        crossing = Crossing(monkeypatch)
        async with started_services(installation, tmp_path, apart=True) as services:
            await services.prepare(threshold=2)
            both = Credentials(generate_api_key().public_key, SoftPasskey())
            waiting = [(await by_new_user(sibling, both)).json()["activity"] for sibling in services.siblings]
            assert {one["status"] for one in waiting} == {"ACTIVITY_STATUS_CONSENSUS_NEEDED"}
            crossing.begin()
            answers = await asyncio.gather(
                *[
                    sibling.sent(sibling.other_root, "approve_activity", {"fingerprint": one["fingerprint"]})
                    for sibling, one in zip(services.siblings, waiting, strict=True)
                ]
            )
            assert crossing.held_back == 2
            done, failed = sorted((answer.json()["activity"] for answer in answers), key=lambda one: one["status"])
            assert done["status"] == "ACTIVITY_STATUS_COMPLETED"
            assert failed["status"] == "ACTIVITY_STATUS_FAILED"
            assert "is held in another sub-organization" in failed["failure"]["message"]
            assert await services.holders("PUBLIC_KEY", both.public_key) == [done["organizationId"]]

    asyncio.run(asyncio.wait_for(run(), PATIENCE_S))
