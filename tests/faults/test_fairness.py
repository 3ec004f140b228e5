"""Single requests beside a steady load: of one organization at two processes, none is refused for losing; of two
organizations at one process, the load has few requests under way.

The services are in this process, with their signer: nothing is left to chance but the order.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from keystead.api.enums import OtpType
from keystead.keys import master_key
from keystead.organizations.principals import Principal
from keystead.pipeline.lifecycle import Lifecycle
from keystead.pipeline.submission import Submission
from keystead.primitives import share
from keystead.server.limits import concurrency_limit
from keystead.server.limits.concurrency_limit import ConcurrencyLimit, RequestGroup
from keystead.sessions.verification_tokens import VerificationToken, verification_signing_input
from keystead.signer.local import LocalSigner
from keystead.stamps.signing import generate_api_key
from tests.conftest import MakeDatabase
from tests.support.callers import SDK_FORM, Caller, unique, user_params
from tests.support.hanging import PATIENCE_S
from tests.support.in_process import serving
from tests.support.servers import Installation, bootstrap_installation, user_with_key

DECIDING_S = 0.01
"""About what a wallet's creation takes in production. Committing is faster."""


async def send(http: httpx.AsyncClient, caller: Caller, operation: str, parameters: Any) -> httpx.Response:
    """Submit an activity."""
    body = caller.submit_body(operation, parameters)
    headers = {**caller.stamped(body), **SDK_FORM}
    return await http.post(f"/public/v1/submit/{operation}", content=body, headers=headers)


@pytest.fixture
def postgres_installation(make_postgres: MakeDatabase) -> Iterator[Installation]:
    installation = bootstrap_installation(make_postgres())
    yield installation
    installation.database.close()


@pytest.fixture
def slow_signer(monkeypatch: pytest.MonkeyPatch) -> None:
    create_wallet = LocalSigner.create_wallet

    async def slow(signer: LocalSigner, **call: Any) -> Any:
        await asyncio.sleep(DECIDING_S)
        return await create_wallet(signer, **call)

    monkeypatch.setattr(LocalSigner, "create_wallet", slow)


@pytest.mark.usefixtures("slow_signer")
def test_single_requests_beside_a_steady_load(postgres_installation: Installation, tmp_path: Path) -> None:
    installation = postgres_installation
    path = tmp_path / "master.key"
    master_key.create(path, installation.master_key)
    over = asyncio.Event()

    async def make_wallet(http: httpx.AsyncClient, caller: Caller) -> httpx.Response:
        return await send(http, caller, "create_wallet", {"walletName": unique("wallet"), "accounts": []})

    async def flood(http: httpx.AsyncClient, caller: Caller) -> list[httpx.Response]:
        answers = []
        while not over.is_set():
            answers.append(await make_wallet(http, caller))
        return answers

    async def run() -> tuple[list[httpx.Response], list[httpx.Response]]:
        async with serving(installation, path) as busy, serving(installation, path) as quiet:
            with httpx.Client() as unused:
                caller = installation.caller(unused)
                flooding = [asyncio.create_task(flood(busy, caller)) for _ in range(8)]
                try:
                    single = [await make_wallet(quiet, caller) for _ in range(5)]
                finally:
                    over.set()
                return single, [answer for answers in await asyncio.gather(*flooding) for answer in answers]

    single, flooded = asyncio.run(run())
    assert [answer.text for answer in single + flooded if answer.status_code != 200] == []
    assert len(flooded) > len(single), "the load went on meanwhile"
    counts = installation.database.counts()
    assert counts["activity"] == counts["sealed_secret"] == len(single) + len(flooded)


class Slots:
    """The slots that requests ask for. Submissions go on when all expected requests have asked for theirs.

    `callers`: who submitted. `waited`: of each request that got a slot, whether it had waited. `most`: the most
    submissions of each organization that were under way at the same time. The limit does not move.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.callers: list[Principal] = []
        self.waited: list[bool] = []
        self.most: Counter[str] = Counter()
        self._under_way: Counter[str] = Counter()
        self._missing = 0
        self._all_asked = asyncio.Event()
        self.expect(0)
        slot, submit = ConcurrencyLimit.slot, Lifecycle.submit

        @asynccontextmanager
        async def noted(
            limit: ConcurrencyLimit, organization_id: str, group: RequestGroup = RequestGroup.DIRECT
        ) -> AsyncIterator[bool]:
            self.expect(self._missing - 1)
            async with slot(limit, organization_id, group) as has_waited:
                self.waited.append(has_waited)
                yield has_waited

        async def held(lifecycle: Lifecycle, submission: Submission) -> Any:
            organization_id = submission.organization_id
            self.callers.append(submission.caller)
            self._under_way[organization_id] += 1
            self.most[organization_id] = max(self.most[organization_id], self._under_way[organization_id])
            try:
                await self._all_asked.wait()
                return await submit(lifecycle, submission)
            finally:
                self._under_way[organization_id] -= 1

        monkeypatch.setattr(concurrency_limit, "INTERVAL_S", 3600)
        monkeypatch.setattr(ConcurrencyLimit, "slot", noted)
        monkeypatch.setattr(Lifecycle, "submit", held)

    def expect(self, requests: int) -> None:
        """Hold submissions back until this many requests have asked for a slot."""
        self._missing = requests
        if requests > 0:
            self._all_asked.clear()
        else:
            self._all_asked.set()


@pytest.fixture
def slots(monkeypatch: pytest.MonkeyPatch) -> Slots:
    return Slots(monkeypatch)


def test_a_quiet_organization_beside_a_flooding_one(
    installation: Installation, tmp_path: Path, slots: Slots
) -> None:
    """With 20 requests of another at the same time, at most two are under way."""
    path = tmp_path / "master.key"
    master_key.create(path, installation.master_key)

    async def make_tag(http: httpx.AsyncClient, caller: Caller) -> httpx.Response:
        return await send(http, caller, "create_user_tag", {"userTagName": unique("tag"), "userIds": []})

    async def run(flooding: Caller, quiet: Caller) -> list[httpx.Response]:
        async with serving(installation, path) as http:
            slots.expect(20)
            alone = await asyncio.gather(*(make_tag(http, flooding) for _ in range(20)))
            assert slots.most[flooding.organization_id] == 20, "alone, none waits"
            slots.most.clear()
            first = await make_tag(http, quiet)
            slots.expect(21)
            beside = await asyncio.gather(*(make_tag(http, flooding) for _ in range(20)), make_tag(http, quiet))
            return [*alone, first, *beside]

    with httpx.Client() as unused:
        quiet = installation.caller(unused)
        made = installation.add_organization(user_with_key(key := generate_api_key()))
        answers = asyncio.run(run(quiet.with_key(key, organization_id=made.id), quiet))
    assert [answer.text for answer in answers if answer.status_code != 200] == []
    assert slots.most == {made.id: concurrency_limit.LIMIT_MIN, quiet.organization_id: 1}


def test_an_organization_whose_answers_are_kept_counts_as_another(
    installation: Installation, tmp_path: Path, slots: Slots, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "master.key"
    master_key.create(path, installation.master_key)

    async def list_users(http: httpx.AsyncClient, caller: Caller) -> None:
        body = caller.query_body()
        answer = await http.post("/public/v1/query/list_users", content=body, headers=caller.stamped(body))
        assert answer.status_code == 200, answer.text

    async def make_tag(http: httpx.AsyncClient, caller: Caller) -> None:
        answer = await send(http, caller, "create_user_tag", {"userTagName": unique("tag"), "userIds": []})
        assert answer.status_code == 200, answer.text

    async def run(flooding: Caller, quiet: Caller) -> None:
        async with serving(installation, path) as http:
            monkeypatch.setattr(share, "SHARED_S", 0)
            await list_users(http, quiet)
            await make_tag(http, flooding)
            monkeypatch.setattr(share, "SHARED_S", 3600)
            slots.waited.clear()
            await list_users(http, quiet)
            assert slots.waited == [], "its answer is kept"
            slots.expect(5)
            await asyncio.gather(*(make_tag(http, flooding) for _ in range(5)))

    with httpx.Client() as unused:
        quiet = installation.caller(unused)
        made = installation.add_organization(user_with_key(key := generate_api_key()))
        asyncio.run(run(quiet.with_key(key, organization_id=made.id), quiet))
    assert slots.waited == [False] * concurrency_limit.LIMIT_MIN + [True] * 3


def test_strangers_at_a_proxy_take_no_slots_of_its_organization(
    installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(concurrency_limit, "INTERVAL_S", 3600)  # the limit does not move
    path = tmp_path / "master.key"
    master_key.create(path, installation.master_key)
    goes_on, arrived = asyncio.Event(), asyncio.Semaphore(0)
    submit = Lifecycle.submit

    async def slow_for_strangers(lifecycle: Lifecycle, submission: Submission) -> Any:
        if submission.body.operation.name == "otp_login":
            arrived.release()
            await goes_on.wait()
        return await submit(lifecycle, submission)

    monkeypatch.setattr(Lifecycle, "submit", slow_for_strangers)

    async def run(caller: Caller, other: Caller) -> list[httpx.Response]:
        async with serving(installation, path) as http:
            made = await send(http, caller, "enable_auth_proxy", {})
            config_id = made.json()["activity"]["result"]["enableAuthProxyResult"]["userId"]
            headers = {"X-Auth-Proxy-Config-ID": config_id}
            tag = {"userTagName": unique("tag"), "userIds": []}
            assert (await send(http, other, "create_user_tag", tag)).status_code == 200
            login = {"verificationToken": "a.b.c", "publicKey": generate_api_key().public_key}
            strangers = [
                asyncio.create_task(http.post("/auth-proxy/v1/otp_login", json=login, headers=headers))
                for _ in range(5)
            ]
            for _ in range(concurrency_limit.LIMIT_MIN):
                await arrived.acquire()
            assert not any(each.done() for each in strangers)
            own = await asyncio.wait_for(send(http, caller, "create_user_tag", tag), PATIENCE_S)
            assert own.status_code == 200, own.text
            goes_on.set()
            return await asyncio.gather(*strangers)

    with httpx.Client() as unused:
        caller = installation.caller(unused)
        made = installation.add_organization(user_with_key(key := generate_api_key()))
        refused = asyncio.run(run(caller, caller.with_key(key, organization_id=made.id)))
    assert {answer.status_code for answer in refused} == {400}


def test_a_login_by_the_parent_that_waited_is_the_parents(
    installation: Installation, tmp_path: Path, slots: Slots
) -> None:
    """Also if the sub-organization has a user with the same key: the policies of the parent decide."""
    path = tmp_path / "master.key"
    master_key.create(path, installation.master_key)

    async def log_in(http: httpx.AsyncClient, parent: Caller, email: str) -> httpx.Response:
        claimed = VerificationToken(
            id=unique("token"),
            organization_id=parent.organization_id,
            otp_type=OtpType.EMAIL,
            contact=email,
            expires_at_ms=0,
            public_key=None,
        )
        token = f"{verification_signing_input(claimed).decode()}.{'A' * 86}"
        login = {"verificationToken": token, "publicKey": generate_api_key().public_key}
        body = parent.submit_body("otp_login", login, type="ACTIVITY_TYPE_OTP_LOGIN")
        return await http.post(
            "/public/v1/submit/otp_login", content=body, headers={**parent.stamped(body), **SDK_FORM}
        )

    async def run(parent: Caller, email: str) -> list[httpx.Response]:
        async with serving(installation, path) as http:
            user = user_params(parent.key.public_key) | {"userEmail": email}
            user.pop("userTags", None)
            asked = {"subOrganizationName": "Another", "rootUsers": [user], "rootQuorumThreshold": 1}
            made = await send(http, parent, "create_sub_organization", asked)
            assert made.status_code == 200, made.text
            slots.callers.clear()
            slots.expect(5)
            return await asyncio.gather(*(log_in(http, parent, email) for _ in range(5)))

    with httpx.Client() as unused:
        parent = installation.caller(unused)
        email = f"{secrets.token_hex(4)}@example.com"
        answers = asyncio.run(run(parent, email))
    assert {answer.status_code for answer in answers} == {400}
    assert "verification token" in answers[0].text
    assert True in slots.waited
    assert [caller.organization_id for caller in slots.callers] == [parent.organization_id] * 5


def test_a_caller_removed_while_its_request_waits_is_refused(
    installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(concurrency_limit, "INTERVAL_S", 3600)
    path = tmp_path / "master.key"
    master_key.create(path, installation.master_key)
    goes_on, paused, waiting = asyncio.Event(), asyncio.Semaphore(0), asyncio.Semaphore(0)
    submit, wait_for_start = Lifecycle.submit, ConcurrencyLimit._wait_for_start

    async def submit_later(lifecycle: Lifecycle, submission: Submission) -> Any:
        paused.release()
        await goes_on.wait()
        return await submit(lifecycle, submission)

    async def noted(limit: ConcurrencyLimit, *group: Any) -> None:
        waiting.release()
        await wait_for_start(limit, *group)

    async def ask(http: httpx.AsyncClient, caller: Caller, operation: str) -> httpx.Response:
        body = caller.query_body()
        return await http.post(f"/public/v1/query/{operation}", content=body, headers=caller.stamped(body))

    async def run(root: Caller, other: Caller) -> list[httpx.Response]:
        async with serving(installation, path) as http:
            user = {"userName": unique("user"), "apiKeys": [], "authenticators": [], "oauthProviders": []}
            public_key = (key := generate_api_key()).public_key
            api_key = {"apiKeyName": "k", "publicKey": public_key, "curveType": "API_KEY_CURVE_P256"}
            goes_on.set()
            made = await send(
                http, root, "create_users", {"users": [{**user, "apiKeys": [api_key], "userTags": []}]}
            )
            user_id = made.json()["activity"]["result"]["createUsersResult"]["userIds"][0]
            quorum = {"threshold": 1, "userIds": [root.user_id, user_id]}
            assert (await send(http, root, "update_root_quorum", quorum)).status_code == 200
            goes_on.clear()
            monkeypatch.setattr(Lifecycle, "submit", submit_later)
            monkeypatch.setattr(ConcurrencyLimit, "_wait_for_start", noted)
            tag = {"userTagName": unique("tag"), "userIds": []}
            first = [
                asyncio.create_task(send(http, *each))
                for each in (
                    (other, "create_user_tag", tag),
                    (root, "update_root_quorum", {"threshold": 1, "userIds": [root.user_id]}),
                    (root, "delete_users", {"userIds": [user_id]}),
                )
            ]
            for _ in first:
                await paused.acquire()
            removed = root.with_key(key)
            last = [
                asyncio.create_task(each)
                for each in (
                    send(http, removed, "create_user_tag", tag),
                    ask(http, removed, "list_activities"),
                    ask(http, removed, "list_users"),
                )
            ]
            for _ in last:
                await waiting.acquire()
            goes_on.set()
            answers = await asyncio.gather(*first)
            assert [answer.status_code for answer in answers] == [200, 200, 200]
            return await asyncio.gather(*last)

    with httpx.Client() as unused:
        root = installation.caller(unused)
        made = installation.add_organization(user_with_key(key := generate_api_key()))
        refused = asyncio.run(run(root, root.with_key(key, organization_id=made.id)))
    assert [answer.status_code for answer in refused] == [401, 401, 401]
