"""Recovery by the operator, who has the database and the master key, of an organization that is locked out.

Here: opening the installation, which proves the possession of the master key, and committing the activity, while
servers run or not. Not here: what a recovery may change (`operations.operator_recovery`), the questions to the
operator (`cli.recovering`).
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from keystead.api.errors import Conflict
from keystead.api.rendering import encode
from keystead.operations import CATALOGUE
from keystead.operations.operator_recovery import RecoverOrganizationIntent
from keystead.organizations.organization import Organization
from keystead.pipeline.activity import RecordedActivity
from keystead.pipeline.operation import ActivityOperation
from keystead.pipeline.operator_activity import plan_of_operator
from keystead.pipeline.requests import Envelope, read_submission
from keystead.pipeline.store import CommitResult
from keystead.server.callers import existing_organization
from keystead.server.opening import Opened, open_checked
from keystead.server.service import environment_of
from keystead.server.settings import Settings
from keystead.server.sources import SYSTEM_SOURCES
from keystead.storage.base import FIRST_ORGANIZATION_ID

TYPE: Final = "ACTIVITY_TYPE_RECOVER_ORGANIZATION"

_ATTEMPTS: Final = 10


async def organization_to_recover(settings: Settings, organization_id: str = "") -> Organization:
    """The organization of this id, or the installation's first one. Raises NotFound, NotReady, Unavailable."""
    async with _opened(settings) as opened:
        first = await opened.store.instance_value(FIRST_ORGANIZATION_ID) or b""
        return await existing_organization(opened.store, organization_id or first.decode())


async def recover(settings: Settings, organization_id: str, intent: RecoverOrganizationIntent) -> RecordedActivity:
    """Carry out a recovery. Everything is written in one transaction, or nothing. Returns the activity on record.

    Raises ServiceError if it is refused, NotReady if the master key is not that of the installation, Unavailable if
    the database does not answer; then the recovery may be on record.
    """
    operation = CATALOGUE.of_type(TYPE)
    assert isinstance(operation, ActivityOperation)
    now_ms = time.time_ns() // 1_000_000
    envelope = Envelope(type=TYPE, timestamp_ms=str(now_ms), organization_id=organization_id, parameters=intent)
    submission = read_submission(operation, encode(envelope))
    async with _opened(settings) as opened:
        store, environment = opened.store, environment_of(settings, opened, SYSTEM_SOURCES)
        for attempt in range(_ATTEMPTS):
            # Servers may change the organization all the time: after a conflict it is locked.
            lock = await store.lock(organization_id) if attempt else None
            try:
                organization = await existing_organization(store, organization_id)
                parent_id = organization.profile.parent_id
                parent = None if parent_id is None else await store.organization(parent_id)
                planned = await plan_of_operator(submission, organization, parent, environment)
                assert planned.commit is not None
                assert planned.activity is not None
                committing = (lock or store).commit(planned.commit)
            finally:
                if lock is not None:
                    lock.release()
            if await committing is CommitResult.COMMITTED:
                return planned.activity
    raise Conflict(f"organization {organization_id} changed {_ATTEMPTS} times meanwhile; run this command again")


@asynccontextmanager
async def _opened(settings: Settings) -> AsyncIterator[Opened]:
    """The installation, whichever command made it. Raises NotReady, also if the master key is not its own."""
    opened = await open_checked(settings, of_any_mode=True)
    try:
        yield opened
    finally:
        await opened.close()
