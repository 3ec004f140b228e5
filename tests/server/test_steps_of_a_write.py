"""How often a submission and a vote come back to a module of `pipeline/`, against what docs/tour.md says."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import httpx
import pytest

import keystead.pipeline
from keystead.keys import master_key
from keystead.stamps.signing import generate_api_key
from tests.conftest import MakeDatabase
from tests.support.callers import SDK_FORM, Caller, unique, user_params
from tests.support.in_process import serving
from tests.support.organization_fixtures import interface_params, policy_params
from tests.support.servers import Installation, bootstrap_installation

PIPELINE = str(Path(keystead.pipeline.__path__[0]))
TOUR = Path(__file__).parents[2] / "docs" / "tour.md"
SENTENCE = re.compile(
    r"calls functions of (\d+) modules of `pipeline/` and comes back to one (\d+) times; a vote, of (\d+) and (\d+)"
)


class Visits:
    """The modules of `pipeline/` in the order of the calls. A coroutine that goes on is not a call."""

    def __init__(self) -> None:
        self.modules: list[str] = []
        self._began: set[FrameType] = set()

    @contextmanager
    def recorded(self) -> Iterator[None]:
        sys.setprofile(self._profile)
        try:
            yield
        finally:
            sys.setprofile(None)

    def _profile(self, frame: FrameType, event: str, _: Any) -> None:
        module = frame.f_code.co_filename
        if event != "call" or not module.startswith(PIPELINE) or frame in self._began:
            return
        self._began.add(frame)
        if not self.modules or self.modules[-1] != module:
            self.modules.append(module)

    @property
    def counts(self) -> tuple[int, int]:
        """The modules, and how often a call came back to one."""
        files = len(set(self.modules))
        return files, len(self.modules) - files


async def sent(http: httpx.AsyncClient, caller: Caller, name: str, parameters: Any) -> tuple[Any, Visits]:
    body, visits = caller.submit_body(name, parameters), Visits()
    headers = {**caller.stamped(body), **SDK_FORM}
    with visits.recorded():
        response = await http.post(f"/public/v1/submit/{name}", content=body, headers=headers)
    assert response.status_code == 200, response.text
    return response.json()["activity"], visits


async def measured(installation: Installation, key_file: Path) -> tuple[Visits, Visits]:
    with httpx.Client() as unused:
        async with serving(installation, key_file) as http:
            root = installation.caller(unused)
            for _ in range(2):  # the first one finds caches empty
                _, submission = await sent(http, root, "create_smart_contract_interface", interface_params())
            users = []
            for _ in range(2):
                params = {"users": [user_params((key := generate_api_key()).public_key)]}
                made, _ = await sent(http, root, "create_users", params)
                ((user_id,),) = [result["userIds"] for result in made["result"].values()]
                users.append(root.with_key(key, user_id))
            both = " && ".join(f"approvers.any(user, user.id == '{one.user_id}')" for one in users)
            await sent(http, root, "create_policy", policy_params(condition="true", consensus=both))
            tag = {"userTagName": unique("tag"), "userIds": []}
            waiting, _ = await sent(http, users[0], "create_user_tag", tag)
            parameters = {"fingerprint": waiting["fingerprint"]}
            voted, vote = await sent(http, users[1], "approve_activity", parameters)
            assert voted["status"] == "ACTIVITY_STATUS_COMPLETED"
            return submission, vote


@pytest.fixture
def installation(make_sqlite: MakeDatabase) -> Iterator[Installation]:
    """One engine will do: the pipeline does not know which it is."""
    installation = bootstrap_installation(make_sqlite())
    yield installation
    installation.database.close()


def test_a_write_comes_back_to_a_module_as_seldom_as_the_tour_says(
    installation: Installation, tmp_path: Path
) -> None:
    master_key.create(key_file := tmp_path / "master.key", installation.master_key)
    submission, vote = asyncio.run(measured(installation, key_file))
    sentence = SENTENCE.search(" ".join(TOUR.read_text().split()))
    assert sentence is not None
    documented = tuple(map(int, sentence.groups()))
    assert (*submission.counts, *vote.counts) == documented, (submission.modules, vote.modules)
