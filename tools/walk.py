"""The walk of a request: how many calls, files and frames one request takes on its way through the package.

Here: one development server in this process, five requests, and a table. `python -m tools.walk --calls REQUEST`
lists the calls of one request instead. Not here: how long a request takes (`bench`)."""

from __future__ import annotations

import argparse
import functools
import os
import signal
import statistics
import sys
import tempfile
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec

from keystead.cli.development.folder import DevelopmentFolder
from keystead.client.client import Client
from keystead.client.credentials import Credentials
from keystead.client.shapes import (
    AddressFormat,
    ApiKeyCurve,
    ApiKeyParamsV2,
    Curve,
    Effect,
    HashFunction,
    PathFormat,
    PayloadEncoding,
    UserParamsV4,
    WalletAccountParams,
)
from keystead.server.development.development import Development
from keystead.server.http.connection import AnswerRequest
from keystead.server.http.listening import bind
from keystead.server.run import serve_service
from keystead.server.service import Service
from keystead.stamps.signing import ApiKeyStamper, generate_api_key

PACKAGE = str(Path(__file__).resolve().parent.parent / "src" / "keystead")
REPEATS = 15
"""How often each request is sent. The numbers are medians."""


SETTLED_S = 0.05
"""After an answer, the server ends what the request began, such as the tasks of its commit."""


class Walk(msgspec.Struct, frozen=True):
    """The walk of one request.

    `calls`: calls of Python functions of the package, and resumptions of its coroutines. `files`: the files that
    they are in. `depth`: the most of them that are active at once. `returns`: how often a call leads to a file
    that was left before.
    """

    calls: int
    files: int
    depth: int
    returns: int


class Recorder:
    """Records the calls of one thread while it is on. `calls`: file and function of each, in order."""

    def __init__(self) -> None:
        self.is_on = False
        self.clear()

    def clear(self) -> None:
        self.calls: list[tuple[str, str]] = []
        self._depth = self._deepest = 0

    def profile(self, frame: FrameType, event: str, _: object) -> None:
        if not self.is_on or not frame.f_code.co_filename.startswith(PACKAGE):
            return
        if event == "call":
            self.calls.append((frame.f_code.co_filename[len(PACKAGE) + 1 :], frame.f_code.co_qualname))
            self._deepest = max(self._deepest, _depth(frame))

    def walk(self) -> Walk:
        returns, last, left = 0, "", set[str]()
        for file, _ in self.calls:
            if file != last:
                returns += file in left
                left.add(last)
                last = file
        return Walk(len(self.calls), len({file for file, _ in self.calls}), self._deepest, returns)


def _depth(frame: FrameType | None) -> int:
    depth = 0
    while frame is not None:
        depth += frame.f_code.co_filename.startswith(PACKAGE)
        frame = frame.f_back
    return depth


class Requests:
    """The requests of the table, against a server in this process. `recorder` records its event loop."""

    def __init__(self, recorder: Recorder, credentials: Credentials) -> None:
        self._recorder = recorder
        self._root = Client(
            credentials.base_url,
            organization_id=credentials.organization_id,
            stamper=ApiKeyStamper(credentials.api_public_key, credentials.api_private_key),
        )
        self._people = [self._person(credentials), self._person(credentials)]
        self._root.create_policy(
            policy_name="Two people make private key tags",
            effect=Effect.ALLOW,
            consensus="approvers.count() >= 2",
            condition="activity.kind == 'CREATE_PRIVATE_KEY_TAG'",
        )
        wallet = self._root.create_wallet(
            wallet_name="Walk",
            accounts=[
                WalletAccountParams(
                    curve=Curve.SECP256K1,
                    path_format=PathFormat.BIP32,
                    path="m/44'/60'/0'/0/0",
                    address_format=AddressFormat.ETHEREUM,
                )
            ],
        )
        self._address = wallet.addresses[0]

    def _person(self, credentials: Credentials) -> Client:
        key = generate_api_key()
        api_key = ApiKeyParamsV2(api_key_name="key", public_key=key.public_key, curve_type=ApiKeyCurve.P256)
        user = UserParamsV4(
            user_name=str(uuid.uuid4()), api_keys=(api_key,), authenticators=(), oauth_providers=(), user_tags=()
        )
        self._root.create_users(users=[user])
        stamper = ApiKeyStamper(key.public_key, key.private_key)
        return Client(credentials.base_url, organization_id=credentials.organization_id, stamper=stamper)

    @contextmanager
    def _recorded(self, name: str, walks: dict[str, list[Walk]]) -> Iterator[None]:
        self._recorder.clear()
        self._recorder.is_on = True
        try:
            yield
        finally:
            self._recorder.is_on = False
            walks.setdefault(name, []).append(self._recorder.walk())

    def measure(self, ended: Callable[[str], None]) -> dict[str, list[Walk]]:
        """The walks by request. `ended` is called after each request with its name."""
        walks: dict[str, list[Walk]] = {}
        ana, ben = self._people

        def recorded(name: str, call: Callable[[], Any]) -> Any:
            with self._recorded(name, walks):
                answer = call()
                time.sleep(SETTLED_S)
            ended(name)
            return answer

        for _ in range(REPEATS):
            recorded("list_wallets", self._root.list_wallets)
            recorded(
                "create_user_tag", lambda: self._root.create_user_tag(user_tag_name=str(uuid.uuid4()), user_ids=[])
            )
            recorded(
                "sign_raw_payload",
                lambda: self._root.sign_raw_payload(
                    sign_with=self._address,
                    payload=os.urandom(32).hex(),
                    encoding=PayloadEncoding.HEXADECIMAL,
                    hash_function=HashFunction.NO_OP,
                ),
            )
            waiting = recorded(
                "a submission that waits",
                lambda: ana.create_private_key_tag(private_key_tag_name=str(uuid.uuid4()), private_key_ids=[]),
            )
            recorded(
                "a vote that executes",
                functools.partial(ben.approve_activity, fingerprint=waiting.activity.fingerprint),
            )
        return walks


def measured(listed: str | None) -> tuple[dict[str, Walk], list[tuple[str, str]]]:
    """The median walk of each request, and the calls of the last request of the name `listed`."""
    recorder, walks, calls = Recorder(), dict[str, list[Walk]](), list[tuple[str, str]]()

    def ended(name: str) -> None:
        if name == listed:
            calls[:] = recorder.calls

    with tempfile.TemporaryDirectory() as folder, DevelopmentFolder(Path(folder) / "data") as data:
        credentials = data.prepare("")
        (socket_,) = bind(["127.0.0.1"], 0)
        base_url = f"http://127.0.0.1:{socket_.getsockname()[1]}"

        def send() -> None:
            try:
                requests = Requests(recorder, msgspec.structs.replace(credentials, base_url=base_url))
                walks.update(requests.measure(ended))
            finally:
                os.kill(os.getpid(), signal.SIGTERM)

        development = Development(data.settings())

        async def application(_: Service) -> AnswerRequest:
            answer = await development.application()
            threading.Thread(target=send).start()
            sys.setprofile(recorder.profile)
            return answer

        serve_service(development.service, [socket_], application)
        sys.setprofile(None)
    return {name: _median(each) for name, each in walks.items()}, calls


def _median(walks: list[Walk]) -> Walk:
    columns = zip(*[msgspec.structs.astuple(walk) for walk in walks], strict=True)
    return Walk(*[int(statistics.median(column)) for column in columns])


def main() -> None:
    parser = argparse.ArgumentParser(description="The walk of five requests through the package.")
    parser.add_argument("--calls", metavar="REQUEST", help="list the calls of this request, and the calls by file")
    listed = parser.parse_args().calls
    walks, calls = measured(listed)
    if listed is None:
        print("| request | calls | files | depth | returns |\n|---|---|---|---|---|")
        for name, walk in walks.items():
            print(f"| {name} | {walk.calls:,} | {walk.files} | {walk.depth} | {walk.returns} |")
        return
    for file, function in calls:
        print(file, function)
    for file, count in Counter(file for file, _ in calls).most_common():
        print(f"{count:5} {file}")


if __name__ == "__main__":
    main()
