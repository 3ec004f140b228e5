"""Submissions and votes of every kind at the same time: each is answered, and nothing waits for ever."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx

from keystead.keys import master_key
from keystead.stamps.signing import generate_api_key
from tests.support.callers import SDK_FORM, Caller, unique, user_params
from tests.support.hanging import PATIENCE_S
from tests.support.in_process import serving
from tests.support.organization_fixtures import ETHEREUM_ACCOUNT
from tests.support.servers import Installation

ROUNDS = 5
"""All of it takes a second or two."""


class Callers:
    """Everybody who sends something."""

    def __init__(self, http: httpx.AsyncClient, root: Caller) -> None:
        self._http = http
        self._root = self._ben = root
        self._wallet_id = self._tag_id = self._address = ""

    async def sent(self, body: bytes, name: str, caller: Caller) -> httpx.Response:
        headers = {**caller.stamped(body), **SDK_FORM}
        return await self._http.post(f"/public/v1/submit/{name}", content=body, headers=headers)

    async def submitted(
        self, name: str, parameters: dict[str, Any], caller: Caller | None = None
    ) -> httpx.Response:
        caller = caller or self._root
        return await self.sent(caller.submit_body(name, parameters), name, caller)

    async def result(self, name: str, parameters: dict[str, Any]) -> Any:
        response = await self.submitted(name, parameters)
        assert response.status_code == 200, response.text
        (result,) = response.json()["activity"]["result"].values()
        return result

    async def set_up(self) -> None:
        """A wallet, a tag, and Ben, whose tags must be approved."""
        key = generate_api_key()
        made = await self.result("create_users", {"users": [user_params(key.public_key)]})
        self._ben = self._root.with_key(key, made["userIds"][0])
        either = f"u.id == '{self._root.user_id}' || u.id == '{self._ben.user_id}'"
        policy = {
            "policyName": unique("policy"),
            "effect": "EFFECT_ALLOW",
            "condition": "activity.kind == 'CREATE_USER_TAG'",
            "consensus": f"approvers.filter(u, {either}).count() >= 2",
        }
        await self.result("create_policy", policy)
        self._tag_id = (await self.result("create_user_tag", {"userTagName": unique("tag"), "userIds": []}))[
            "userTagId"
        ]
        wallet = {"walletName": unique("wallet"), "accounts": [ETHEREUM_ACCOUNT]}
        made = await self.result("create_wallet", wallet)
        self._wallet_id, self._address = made["walletId"], made["addresses"][0]

    async def everything_at_once(self, number: int) -> list[httpx.Response]:
        """What changes the organization and what does not, what loads context, votes, waits for the signer, comes
        twice, and what is refused at each of its steps."""
        open_tags = [await self.submitted("create_user_tag", tag(), self._ben) for _ in range(3)]
        fingerprints = [response.json()["activity"]["fingerprint"] for response in open_tags]
        twice = self._root.submit_body("create_user_tag", tag())
        paths = [ETHEREUM_ACCOUNT | {"path": f"m/44'/60'/{number}'/1/{one}"} for one in range(3)]
        payload = {
            "signWith": self._address,
            "payload": "hello",
            "encoding": "PAYLOAD_ENCODING_TEXT_UTF8",
            "hashFunction": "HASH_FUNCTION_KECCAK256",
        }
        wallets = {"walletId": self._wallet_id}
        renamed = {"userTagId": self._tag_id, "addUserIds": [], "removeUserIds": []}
        sent = [
            *[self.sent(twice, "create_user_tag", self._root) for _ in range(3)],
            *[self.submitted("approve_activity", {"fingerprint": one}) for one in fingerprints],
            *[self.submitted("create_wallet_accounts", wallets | {"accounts": [path]}) for path in paths],
            *[self.submitted("sign_raw_payload", payload) for _ in range(4)],
            *[self.submitted("update_user_tag", renamed | {"newUserTagName": unique("tag")}) for _ in range(4)],
            *[self.submitted("create_wallet", {"walletName": unique("w"), "accounts": []}) for _ in range(2)],
            *[self.submitted("create_user_tag", tag(), self._ben) for _ in range(2)],
        ]
        refused = [
            self.submitted("sign_raw_payload", payload, self._ben),
            self.submitted("approve_activity", {"fingerprint": "sha256:" + "0" * 64}),
            self.submitted("create_wallet_accounts", wallets | {"accounts": [ETHEREUM_ACCOUNT]}),
            self.submitted("create_user_tag", {"userTagName": ""}),
            self.sent(twice, "create_wallet", self._root),
        ]
        # Changes nothing, or comes too late.
        either = self.submitted("approve_activity", {"fingerprint": fingerprints[0]}, self._ben)
        last, *answers = await asyncio.gather(either, *sent, *refused)
        assert last.status_code in (200, 400)
        assert [answer.text for answer in answers[: len(sent)] if answer.status_code != 200] == []
        assert all(400 <= answer.status_code < 500 for answer in answers[len(sent) :])
        return answers[: len(sent)]


def tag() -> dict[str, Any]:
    return {"userTagName": unique("tag"), "userIds": []}


def test_each_is_answered(installation: Installation, tmp_path: Path) -> None:
    key_file = tmp_path / "master.key"
    master_key.create(key_file, installation.master_key)

    async def run() -> int:
        with httpx.Client() as unused:
            async with serving(installation, key_file) as http:
                callers = Callers(http, installation.caller(unused))
                await callers.set_up()
                return sum([len(await callers.everything_at_once(number)) for number in range(ROUNDS)])

    assert asyncio.run(asyncio.wait_for(run(), PATIENCE_S)) == ROUNDS * 21
