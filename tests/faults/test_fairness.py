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
from msgspec.structs import replace

from keystead.api.enums import OtpType
from keystead.keys import master_key
from keystead.pipeline.lifecycle import Lifecycle
from keystead.server import concurrency_limit
from keystead.server.concurrency_limit import ConcurrencyLimit, RequestGroup
from keystead.sessions.verification_tokens import VerificationToken, verification_signing_input
from keystead.signer.local import LocalSigner
from keystead.stamps.signing import generate_api_key
from tests.conftest import MakeDatabase
from tests.support.callers import SDK_FORM, Caller, unique
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


def test_a_quiet_organization_beside_a_flooding_one(
    installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With 20 requests of another at the same time, at most two are under way."""
    monkeypatch.setattr(concurrency_limit, "INTERVAL_S", 3600)  # the limit does not move
    path = tmp_path / "master.key"
    master_key.create(path, installation.master_key)
    under_way: Counter[str] = Counter()
    most: Counter[str] = Counter()
    submit = Lifecycle.submit

    async def counted(lifecycle: Lifecycle, submission: Any, caller: Any, organization: Any, source: Any) -> Any:
        under_way[organization.id] += 1
        most[organization.id] = max(most[organization.id], under_way[organization.id])
        try:
            await asyncio.sleep(0.01)  # so that all 20 arrive meanwhile
            return await submit(lifecycle, submission, caller, organization, source)
        finally:
            under_way[organization.id] -= 1

    monkeypatch.setattr(Lifecycle, "submit", counted)

    async def make_tag(http: httpx.AsyncClient, caller: Caller) -> httpx.Response:
        return await send(http, caller, "create_user_tag", {"userTagName": unique("tag"), "userIds": []})

    async def run(flooding: Caller, quiet: Caller) -> list[httpx.Response]:
        async with serving(installation, path) as http:
            alone = await asyncio.gather(*(make_tag(http, flooding) for _ in range(20)))
            assert most[flooding.organization_id] > concurrency_limit.LIMIT_MIN, "alone, none waits"
            most.clear()
            first = await make_tag(http, quiet)
            beside = await asyncio.gather(*(make_tag(http, flooding) for _ in range(20)), make_tag(http, quiet))
            return [*alone, first, *beside]

    with httpx.Client() as unused:
        quiet = installation.caller(unused)
        made = installation.add_organization(user_with_key(key := generate_api_key()))
        answers = asyncio.run(run(quiet.with_key(key, organization_id=made.id), quiet))
    assert [answer.text for answer in answers if answer.status_code != 200] == []
    assert most == {made.id: concurrency_limit.LIMIT_MIN, quiet.organization_id: 1}


def test_an_organization_whose_answers_are_kept_counts_as_another(
    installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(concurrency_limit, "INTERVAL_S", 3600)  # the limit does not move
    path = tmp_path / "master.key"
    master_key.create(path, installation.master_key)
    waited: list[bool] = []
    submit = Lifecycle.submit
    slot = ConcurrencyLimit.slot

    async def slow(lifecycle: Lifecycle, *arguments: Any) -> Any:
        await asyncio.sleep(0.01)  # so that all arrive meanwhile
        return await submit(lifecycle, *arguments)

    @asynccontextmanager
    async def recorded(
        limit: ConcurrencyLimit, organization_id: str, group: RequestGroup = RequestGroup.DIRECT
    ) -> AsyncIterator[bool]:
        async with slot(limit, organization_id, group) as has_waited:
            waited.append(has_waited)
            yield has_waited

    monkeypatch.setattr(Lifecycle, "submit", slow)
    monkeypatch.setattr(ConcurrencyLimit, "slot", recorded)

    async def list_users(http: httpx.AsyncClient, caller: Caller) -> None:
        body = caller.query_body()
        answer = await http.post("/public/v1/query/list_users", content=body, headers=caller.stamped(body))
        assert answer.status_code == 200, answer.text

    async def make_tag(http: httpx.AsyncClient, caller: Caller) -> None:
        answer = await send(http, caller, "create_user_tag", {"userTagName": unique("tag"), "userIds": []})
        assert answer.status_code == 200, answer.text

    async def run(flooding: Caller, quiet: Caller) -> None:
        async with serving(installation, path) as http:
            monkeypatch.setattr(concurrency_limit, "SHARED_S", 0)
            await list_users(http, quiet)
            await make_tag(http, flooding)
            monkeypatch.setattr(concurrency_limit, "SHARED_S", 3600)
            waited.clear()
            await list_users(http, quiet)
            assert waited == [], "its answer is kept"
            await asyncio.gather(*(make_tag(http, flooding) for _ in range(5)))

    with httpx.Client() as unused:
        quiet = installation.caller(unused)
        made = installation.add_organization(user_with_key(key := generate_api_key()))
        asyncio.run(run(quiet.with_key(key, organization_id=made.id), quiet))
    assert waited == [False] * concurrency_limit.LIMIT_MIN + [True] * 3


def test_strangers_at_a_proxy_take_no_slots_of_its_organization(
    installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(concurrency_limit, "INTERVAL_S", 3600)  # the limit does not move
    path = tmp_path / "master.key"
    master_key.create(path, installation.master_key)
    goes_on = asyncio.Event()
    submit = Lifecycle.submit

    async def slow_for_strangers(lifecycle: Lifecycle, submission: Any, *arguments: Any) -> Any:
        if submission.operation.name == "otp_login":
            await goes_on.wait()
        return await submit(lifecycle, submission, *arguments)

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
            await asyncio.sleep(0.3)
            assert not any(each.done() for each in strangers)
            own = await asyncio.wait_for(send(http, caller, "create_user_tag", tag), 30)
            assert own.status_code == 200, own.text
            goes_on.set()
            return await asyncio.gather(*strangers)

    with httpx.Client() as unused:
        caller = installation.caller(unused)
        made = installation.add_organization(user_with_key(key := generate_api_key()))
        refused = asyncio.run(run(caller, caller.with_key(key, organization_id=made.id)))
    assert {answer.status_code for answer in refused} == {400}


def test_a_login_by_the_parent_that_waited_is_the_parents(
    installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if the sub-organization has a user with the same key: the policies of the parent decide."""
    monkeypatch.setattr(concurrency_limit, "INTERVAL_S", 3600)  # the limit does not move
    path = tmp_path / "master.key"
    master_key.create(path, installation.master_key)
    callers: list[str] = []
    submit = Lifecycle.submit

    async def slow(lifecycle: Lifecycle, submission: Any, caller: Any, *arguments: Any) -> Any:
        callers.append(caller.organization_id)
        await asyncio.sleep(0.01)  # so that all arrive meanwhile
        return await submit(lifecycle, submission, caller, *arguments)

    monkeypatch.setattr(Lifecycle, "submit", slow)

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
            body = parent.query_body()
            await http.post("/public/v1/query/whoami", content=body, headers=parent.stamped(body))
            return await asyncio.gather(*(log_in(http, parent, email) for _ in range(5)))

    with httpx.Client() as unused:
        parent = installation.caller(unused)
        email = f"{secrets.token_hex(4)}@example.com"
        user = replace(user_with_key(parent.key), user_email=email)
        made = installation.add_organization(user, parent_id=parent.organization_id)
        answers = asyncio.run(run(parent, email))
    assert {answer.status_code for answer in answers} == {400}
    assert "verification token" in answers[0].text
    assert callers == [parent.organization_id] * 5, made.id


def test_a_caller_removed_while_its_request_waits_is_refused(
    installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(concurrency_limit, "INTERVAL_S", 3600)
    path = tmp_path / "master.key"
    master_key.create(path, installation.master_key)
    goes_on = asyncio.Event()
    submit = Lifecycle.submit

    async def paused(lifecycle: Lifecycle, *arguments: Any) -> Any:
        await goes_on.wait()
        return await submit(lifecycle, *arguments)

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
            monkeypatch.setattr(Lifecycle, "submit", paused)
            tag = {"userTagName": unique("tag"), "userIds": []}
            first = [
                asyncio.create_task(send(http, *each))
                for each in (
                    (other, "create_user_tag", tag),
                    (root, "update_root_quorum", {"threshold": 1, "userIds": [root.user_id]}),
                    (root, "delete_users", {"userIds": [user_id]}),
                )
            ]
            await asyncio.sleep(0.2)
            removed = root.with_key(key)
            last = [
                asyncio.create_task(each)
                for each in (
                    send(http, removed, "create_user_tag", tag),
                    ask(http, removed, "list_activities"),
                    ask(http, removed, "list_users"),
                )
            ]
            await asyncio.sleep(0.2)
            goes_on.set()
            answers = await asyncio.gather(*first)
            assert [answer.status_code for answer in answers] == [200, 200, 200]
            return await asyncio.gather(*last)

    with httpx.Client() as unused:
        root = installation.caller(unused)
        made = installation.add_organization(user_with_key(key := generate_api_key()))
        refused = asyncio.run(run(root, root.with_key(key, organization_id=made.id)))
    assert [answer.status_code for answer in refused] == [401, 401, 401]
