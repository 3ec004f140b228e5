"""Whether somebody has an account is not told by status, text, or the look-ups that an answer takes.

A server in this process gets each question twice: about a contact that a user has, and about one that no user has.
The answers must be alike. So must the statements on the index of contacts, which take the time that depends on the
contact.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from keystead.keys import master_key
from keystead.stamps.signing import generate_api_key
from keystead.storage.postgres.database import PostgresDatabase
from keystead.storage.sqlite.database import SqliteDatabase
from keystead.storage.statements import Statement
from tests.conftest import MakeDatabase
from tests.server.test_auth_proxy import ORIGIN
from tests.support.callers import SDK_FORM, Caller, api_key_params
from tests.support.example_codes import an_address, code_params
from tests.support.in_process import serving
from tests.support.servers import Installation, bootstrap_installation

Ask = Callable[[str], Awaitable[httpx.Response]]


class Asking(NamedTuple):
    """A caller's requests, sent to a server in this process."""

    http: httpx.AsyncClient
    root: Caller
    config_id: str = ""

    async def submit(self, name: str, parameters: dict[str, Any]) -> httpx.Response:
        body = self.root.submit_body(name, parameters)
        headers = {**self.root.stamped(body), **SDK_FORM}
        return await self.http.post(f"/public/v1/submit/{name}", content=body, headers=headers)

    async def proxy(self, endpoint: str, **body: Any) -> httpx.Response:
        headers = {"X-Auth-Proxy-Config-ID": self.config_id, "Origin": ORIGIN}
        return await self.http.post(f"/auth-proxy/v1/{endpoint}", json=body, headers=headers)


QUESTIONS: dict[str, Callable[[Asking], Ask]] = {
    "init_otp": lambda it: lambda contact: it.submit("init_otp", code_params(contact)),
    "init_otp by SMS": lambda it: (
        lambda contact: it.submit("init_otp", code_params(_number(contact), otpType="OTP_TYPE_SMS"))
    ),
    "the proxy's otp_init_v2": lambda it: (
        lambda contact: it.proxy("otp_init_v2", otpType="OTP_TYPE_EMAIL", contact=contact)
    ),
    "the proxy's account": lambda it: lambda contact: it.proxy("account", filterType="EMAIL", filterValue=contact),
    "the proxy's account by number": lambda it: (
        lambda contact: it.proxy("account", filterType="PHONE_NUMBER", filterValue=_number(contact))
    ),
    "the proxy's account, with a forged token": lambda it: (
        lambda contact: it.proxy("account", filterType="EMAIL", filterValue=contact, verificationToken="a.b.c")
    ),
}


def _number(contact: str) -> str:
    """The phone number of the user that the address belongs to."""
    return f"+1415555{int(contact.partition('-')[2][:4], 16) % 10_000:04}"


@pytest.fixture
def lookups(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every statement on the index of contacts, identities and credentials, in order."""
    asked: list[str] = []
    for database in (SqliteDatabase, PostgresDatabase):
        monkeypatch.setattr(database, "rows", _recorded(database.rows, asked))
    return asked


def _recorded(rows: Any, asked: list[str]) -> Any:
    async def recorded(database: Any, statement: Statement, arguments: Sequence[Any]) -> Any:
        if "FROM lookup" in statement.sql:
            asked.append(statement.sql)
        return await rows(database, statement, arguments)

    return recorded


@pytest.fixture
def development(make_database: MakeDatabase) -> Iterator[Installation]:
    installation = bootstrap_installation(make_database(), mode="dev")
    yield installation
    installation.database.close()


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_contact_with_an_account_and_one_without_are_answered_alike(
    name: str, development: Installation, lookups: list[str], tmp_path: Path
) -> None:
    key_file = tmp_path / "master.key"
    master_key.create(key_file, development.master_key)

    async def story() -> None:
        async with serving(development, key_file) as http:
            asking = Asking(http, development.caller(httpx.Client()))
            made = _result(await asking.submit("enable_auth_proxy", {}))["userId"]
            await asking.submit("update_auth_proxy_config", {"configId": made, "allowedOrigins": [ORIGIN]})
            ask = QUESTIONS[name](asking._replace(config_id=made))
            known, unknown = an_address(), an_address()
            user = {
                "userName": "Ada",
                "userEmail": known,
                "userPhoneNumber": _number(known),
                "apiKeys": [api_key_params(generate_api_key().public_key)],
                "authenticators": [],
                "oauthProviders": [],
            }
            account = {"subOrganizationName": "Ada's", "rootUsers": [user], "rootQuorumThreshold": 1}
            assert (await asking.submit("create_sub_organization", account)).status_code == 200
            told = []
            for contact in (known, unknown):
                lookups.clear()
                answer = await ask(contact)
                told.append((answer.status_code, _shape(answer.json()), list(lookups)))
            assert told[0] == told[1]

    asyncio.run(story())


def _result(answer: httpx.Response) -> Any:
    (result,) = answer.json()["activity"]["result"].values()
    return result


def _shape(value: Any) -> Any:
    """The members and their types; of a refusal, its very text."""
    if isinstance(value, dict) and "turnkeyErrorCode" in json.dumps(value):
        return json.dumps(value)
    if isinstance(value, dict):
        return {name: _shape(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_shape(each) for each in value]
    return type(value).__name__
