"""Recovery by the operator, who has the database and the master key, of an organization that is locked out.

Here: opening the installation, which proves the possession of the master key, and committing the activity, while
servers run or not. Not here: what a recovery may change (`operations.organizations.operator_recovery`), the
questions to the operator (`cli.operator.recovering`)."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

from keystead.api.rendering import encode
from keystead.operations import CATALOGUE
from keystead.operations.organizations.operator_recovery import RecoverOrganizationIntent
from keystead.organizations.organization import Organization
from keystead.pipeline.activity import RecordedActivity
from keystead.pipeline.decide import commit_of_operator
from keystead.pipeline.operation import ActivityOperation
from keystead.pipeline.organization_writer import commit_alone
from keystead.pipeline.store import Commit
from keystead.pipeline.submission import Envelope, read_submission
from keystead.server.callers import existing_organization
from keystead.server.opening import Opened, open_checked
from keystead.server.service import environment_of
from keystead.server.settings.settings import Settings
from keystead.server.sources import SYSTEM_SOURCES
from keystead.storage.store import FIRST_ORGANIZATION_ID

TYPE: Final = "ACTIVITY_TYPE_RECOVER_ORGANIZATION"


async def organization_to_recover(settings: Settings, organization_id: str = "") -> Organization:
    """The organization of this id, or the installation's first one. Raises NotFound, NotReady, Unavailable."""
    async with _opened(settings) as opened:
        first = await opened.store.installation.value(FIRST_ORGANIZATION_ID) or b""
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
    body = read_submission(operation, encode(envelope))
    async with _opened(settings) as opened:
        store, environment = opened.store, environment_of(settings, opened, SYSTEM_SOURCES)

        async def decide(_: Organization | None, __: Sequence[Commit]) -> Commit:
            organization = await existing_organization(store, organization_id)
            parent_id = organization.profile.parent_id
            parent = None if parent_id is None else await store.organization(parent_id)
            return await commit_of_operator(body, organization, parent, environment)

        commit = await commit_alone(store, organization_id, decide)
    assert isinstance(commit, Commit)
    assert commit.activity is not None
    return commit.activity


@asynccontextmanager
async def _opened(settings: Settings) -> AsyncIterator[Opened]:
    """The installation, whichever command made it. Raises NotReady, also if the master key is not its own."""
    opened = await open_checked(settings, of_any_mode=True)
    try:
        yield opened
    finally:
        await opened.close()
