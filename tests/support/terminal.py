"""A terminal for the commands: `Terminal` types a command line and tells what it printed, `FakeServer` answers,
`People` type at a real server."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx
import msgspec
import pytest

from keystead.api.enums import CredentialType, Effect
from keystead.api.records import ApiKey, Credential, Evaluation, Policy, PolicyOutcome, Timestamp, User
from keystead.cli.main import main
from keystead.client.credentials import ENVIRONMENT
from keystead.stamps.api_key import read_stamp, verify_stamp
from keystead.stamps.signing import ApiKeyPair

ORGANIZATION = "0199a8f2-0000-7000-8000-000000000001"
BORN = Timestamp.from_ms(1_788_220_800_000)
Wire = dict[str, Any]


@dataclass(frozen=True)
class Printed:
    code: int
    out: str
    err: str


class Terminal:
    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch, self._capsys = monkeypatch, capsys

    def types(self, answer: str) -> None:
        """From now on standard input is a terminal on which somebody types this line."""

        class Keyboard(io.StringIO):
            def isatty(self) -> bool:
                return True

        self._monkeypatch.setattr(sys, "stdin", Keyboard(f"{answer}\n"))

    def run(self, *arguments: str) -> Printed:
        self._monkeypatch.setattr(sys, "argv", ["keystead", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
            raise SystemExit(0)
        printed = self._capsys.readouterr()
        return Printed(int(ended.value.code or 0), printed.out, printed.err)


@dataclass
class People:
    """Types commands as the one who is named. Root is the root quorum."""

    terminal: Terminal
    monkeypatch: pytest.MonkeyPatch
    base_url: str
    organization_id: str
    keys: dict[str, ApiKeyPair]

    def run(self, name: str, *arguments: str) -> Printed:
        values = {
            "base_url": self.base_url,
            "organization_id": self.organization_id,
            "api_public_key": self.keys[name].public_key,
            "api_private_key": self.keys[name].private_key,
        }
        for name_of_setting, variable in ENVIRONMENT.items():
            self.monkeypatch.setenv(variable, values[name_of_setting])
        return self.terminal.run(*arguments)


def refused(status: int, message: str = "no", **detail: Any) -> httpx.Response:
    body = {"code": {403: 7, 404: 5}.get(status, 13), "message": message, "details": [{"@type": "x", **detail}]}
    return httpx.Response(status, json=body)


@dataclass
class FakeServer:
    """Answers by path, as in "query/list_users"; what is asked otherwise is not found."""

    answers: dict[str, Any] = field(default_factory=dict)
    asked: list[tuple[str, Wire]] = field(default_factory=list)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        verify_stamp(read_stamp(request.headers["X-Stamp"]), request.content)
        path, body = request.url.path.removeprefix("/public/v1/"), json.loads(request.content)
        self.asked.append((path, body))
        answer = self.answers.get(path, refused(404, f"nothing at {path}"))
        answer = answer(body) if isinstance(answer, Callable) else answer  # type: ignore[arg-type]
        if isinstance(answer, httpx.Response):
            return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)
        return httpx.Response(200, content=msgspec.json.encode(answer))

    def organization(self, users: list[User], policies: list[Policy], *root: str, threshold: int = 1) -> None:
        self.answers["query/list_users"] = {"users": users}
        self.answers["query/list_policies"] = {"policies": policies}
        quorum = {"threshold": threshold, "userIds": list(root)}
        self.answers["query/get_organization_configs"] = {"configs": {"features": [], "quorum": quorum}}


def user(name: str, *tags: str) -> User:
    key = Credential(public_key=f"02{name}", type=CredentialType.API_KEY_P256)
    return User(
        user_id=f"id of {name}",
        user_name=name,
        authenticators=(),
        api_keys=(
            ApiKey(
                credential=key, api_key_id=f"key of {name}", api_key_name="key", created_at=BORN, updated_at=BORN
            ),
        ),
        user_tags=tags,
        oauth_providers=(),
        mfa_policies=(),
        created_at=BORN,
        updated_at=BORN,
    )


def policy(name: str, effect: Effect, condition: str = "", consensus: str = "", *, updated_s: int = 0) -> Policy:
    return Policy(
        policy_id=f"id of {name}",
        policy_name=name,
        effect=effect,
        created_at=BORN,
        updated_at=Timestamp.from_ms(BORN.epoch_ms + updated_s * 1000),
        notes="",
        consensus=consensus,
        condition=condition,
    )


def vote(by: User, selection: str = "APPROVED", at_s: int = 10) -> Wire:
    return {
        "id": f"vote of {by.user_name}",
        "userId": by.user_id,
        "user": by,
        "selection": f"VOTE_SELECTION_{selection}",
        "createdAt": Timestamp.from_ms(BORN.epoch_ms + at_s * 1000),
    }


def activity(
    status: str, *votes: Wire, activity_id: str = "", kind: str = "CREATE_WALLET", at_s: int = 10, **members: Any
) -> Wire:
    return {
        "id": activity_id or "01a1ffce-afbf-7700-92ee-ff68bc6982e1",
        "status": f"ACTIVITY_STATUS_{status}",
        "type": f"ACTIVITY_TYPE_{kind}",
        "fingerprint": "sha256:" + "6b" * 32,
        "votes": list(votes),
        "createdAt": BORN,
        "updatedAt": Timestamp.from_ms(BORN.epoch_ms + at_s * 1000),
        **members,
    }


def evaluation(
    vote_by: str,
    verdict: str,
    rule: str,
    *outcomes: PolicyOutcome,
    decided: tuple[str, ...] = (),
) -> Evaluation:
    return Evaluation(
        id=f"evaluation of {vote_by}",
        activity_id="01a1ffce-afbf-7700-92ee-ff68bc6982e1",
        organization_id=ORGANIZATION,
        vote_id=f"vote of {vote_by}",
        policy_evaluations=outcomes,
        created_at=Timestamp.from_ms(BORN.epoch_ms + 10_000),
        verdict=verdict,
        rule=rule,
        policy_ids=decided,
    )
