"""A lifecycle over a fake store, submissions to it, and the users who make them."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from keystead.activities.activity import Activity, ActivityOperation
from keystead.activities.lifecycle import Lifecycle
from keystead.activities.requests import Liveness, Submission, read_submission
from keystead.api.enums import CredentialType, TagType
from keystead.api.identifiers import new_id
from keystead.api.records import AppProof, Tag, User
from keystead.operations import CATALOGUE
from keystead.organizations.limits import Limits
from keystead.organizations.organization import Organization, Put, Version, apply
from keystead.organizations.principals import Principal, ProvenKey
from tests.activities.fake_store import FakeStore
from tests.organizations.records import NOW, NOW_MS, a_user, an_api_key, an_organization

ORGANIZATION_ID = "0197b0a6-2b8b-7a52-8e2f-8a4b6e1f2c3d"
CREATE_USER_TAG = CATALOGUE.at("/public/v1/submit/create_user_tag")
assert isinstance(CREATE_USER_TAG, ActivityOperation)
ROOT = a_user(user_id=new_id(), api_keys=(an_api_key(),))
OTHER = a_user(user_id=new_id(), api_keys=(an_api_key(),))
ResultT = TypeVar("ResultT")


class FakeSigner:
    async def prove(self, payloads: Sequence[str]) -> tuple[AppProof, ...]:
        return tuple(AppProof(scheme="s", public_key="p", proof_payload=text, signature="") for text in payloads)


class Road:
    """A lifecycle over a fake store; its clock stands still."""

    def __init__(self, organization: Organization | None = None) -> None:
        self.store = FakeStore(organization or an_organization(ROOT, organization_id=ORGANIZATION_ID))
        store: Any = self.store
        signer: Any = FakeSigner()
        self.lifecycle = Lifecycle(
            store=store, signer=signer, clock=self, new_id=new_id, limits=Limits(), liveness=Liveness()
        )

    def now_ms(self) -> int:
        return NOW_MS

    def submit(self, submission: Submission, user: User = ROOT) -> asyncio.Future[Activity]:
        """Begin; the future tells how it ended."""
        return asyncio.ensure_future(self.lifecycle.submit(submission, caller(user)))


def caller(user: User) -> Principal:
    key = user.api_keys[0]
    proven = ProvenKey(
        public_key=key.credential.public_key,
        signature="3045",
        scheme="SIGNATURE_SCHEME_TK_API_P256",
        credential_types=frozenset({CredentialType.API_KEY_P256}),
    )
    return Principal(organization_id=ORGANIZATION_ID, user=user, record_id=key.api_key_id, proven=proven)


_names = itertools.count()


def a_submission(name: str = "", **envelope: Any) -> Submission:
    """A new tag; no two have the same bytes."""
    body = {
        "type": "ACTIVITY_TYPE_CREATE_USER_TAG",
        "timestampMs": str(NOW_MS),
        "organizationId": ORGANIZATION_ID,
        "parameters": {"userTagName": name or f"tag {next(_names)}", "userIds": []},
    }
    assert isinstance(CREATE_USER_TAG, ActivityOperation)
    return read_submission(CREATE_USER_TAG, json.dumps(body | envelope).encode() + b" " * next(_names))


def run(test: Callable[[], Awaitable[ResultT]]) -> ResultT:
    async def running() -> ResultT:
        return await test()

    return asyncio.run(running())


def by_another_process(store: FakeStore) -> None:
    """The organization moves on to a version that this process knows nothing of."""
    tag = Tag(tag_id=new_id(), tag_name=new_id(), tag_type=TagType.USER, created_at=NOW, updated_at=NOW)
    store.current = apply(store.current, [Put(tag)], Version(store.current.version.number + 1, new_id()))
